module spanlog

go 1.24
