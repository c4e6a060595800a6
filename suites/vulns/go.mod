// The tasks are data. A module of their own keeps ./... of the repository away from them: their overlays build only on
// their seeds, and some are wrong on purpose.
module vulns

go 1.24
