module cut

go 1.16
