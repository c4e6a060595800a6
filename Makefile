# tare: `make demo` to see it work, `make test` to test it, `make help` for the rest.

GO       ?= go
FUZZTIME ?= 20s
SOAK     ?= 2000

# Pure Go everywhere, so that binaries and tests share one build cache and nothing depends on the machine's libc.
export CGO_ENABLED := 0
export GO

.PHONY: help demo test build build-tare generate check bench fuzz soak cves npm clean need need-demo clients
.NOTPARALLEL:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: need-demo build-tare ## prove a ticket, play four agents, explain a verdict; writes report.html
	bin/tare demo

# One package more at once than there are processors: what the tests start waits for the kernel, for others and for time limits.
test: ## run every test
	@scripts/need clients & need=$$!; $(MAKE) --no-print-directory build; built=$$?; wait $$need && exit $$built
	@scripts/clients/install >/dev/null & $(GO) test -p $$(($$(nproc) + 1)) -timeout 60m ./...; tests=$$?; wait; exit $$tests

build: build-tare ## build bin/tare and the helpers beside it
	$(GO) build -buildvcs=false -o bin/ ./cmd/tare-bucket

# The drivers of buckets take longer to build than all else, and a first run has no use for them.
build-tare:
	$(GO) build -buildvcs=false -o bin/ ./cmd/tare ./cmd/tare-bridge

generate: ## remake the generated files, the embedded suites among them
	$(GO) generate ./...

check: ## gofmt, vet, staticcheck, import policy, generated files
	@scripts/check-format
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -run '^TestImportPolicy' .
	@scripts/check-generated

bench: need build ## print the table of figures (docs/performance.md); BENCH=all runs every benchmark as well
	@scripts/figures
	@scripts/scale
	@if [ "$(BENCH)" = all ]; then $(GO) test -run '^$$' -bench . -benchmem ./...; fi

fuzz: need build ## run every fuzz target for FUZZTIME (20s) each
	@scripts/fuzz $(FUZZTIME)

soak: need build ## make SOAK (2000) gradings on a machine at its worst, and look for what they left
	$(GO) test -run '^(TestSoak|TestEdits)$$' -count=1 -timeout=0 -v ./internal/cli -soak=$(SOAK) -edits=$$(( $(SOAK) / 50 ))
	TARE_TEST_ALL=1 $(GO) test -run '^(TestScripts|TestSickHarnesses)$$/^(prove|adversaries)$$' -count=1 -timeout=0 -v ./internal/cli
	$(GO) test -run '^TestRandomFaults$$' -count=1 -timeout=0 -v ./internal/queue -faults=$$(( $(SOAK) / 4 ))s

cves: need build ## prove the vulnerabilities in public Go modules, which are fetched; needs the module proxy the first time
	bin/tare prove cves

npm: build ## have a client from npm operate a simulated platform, over stdio and HTTP; needs node and npx
	@scripts/npm-client

clients: ## install agents and MCP clients of others' making, for tests, from npm
	@scripts/need clients
	@scripts/clients/install >/dev/null

clean: ## remove what build and demo leave in this folder
	rm -rf bin report.html

need:
	@scripts/need

need-demo:
	@scripts/need demo
