module metering

go 1.24
