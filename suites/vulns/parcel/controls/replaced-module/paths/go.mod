module paths

go 1.25
