module exports

go 1.24
