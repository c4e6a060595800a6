module parcel

go 1.25

require paths v0.0.0

replace paths => ./paths
