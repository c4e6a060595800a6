module sealpass

go 1.24
