set -e
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOWORK=off
go build -ldflags='-s -w' -o pathdriver ./cmd/pathdriver
