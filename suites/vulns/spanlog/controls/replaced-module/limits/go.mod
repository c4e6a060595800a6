module limits

go 1.24
