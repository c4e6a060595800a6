module parcel

go 1.25
