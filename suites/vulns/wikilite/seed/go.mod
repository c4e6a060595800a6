module wikilite

go 1.24
