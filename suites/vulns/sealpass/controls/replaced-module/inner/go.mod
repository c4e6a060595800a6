module sealpass/inner

go 1.24
