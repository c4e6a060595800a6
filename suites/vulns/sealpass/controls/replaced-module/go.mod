module sealpass

go 1.24

require sealpass/inner v0.0.0

replace sealpass/inner => ./inner
