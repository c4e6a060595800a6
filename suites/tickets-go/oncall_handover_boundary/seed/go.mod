module oncall

go 1.24
