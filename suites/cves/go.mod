// The tasks are data. A module of their own keeps ./... of the repository away from them: their drivers build only with
// modules that are fetched.
module cves

go 1.24
