module spanlog

go 1.24

require limits v0.0.0

replace limits => ./limits
