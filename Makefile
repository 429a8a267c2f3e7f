# kaja: every target that has a "## help" text is for people; .ci/run uses the same ones.
# Needed: Go, make and git. What more a target needs stands in its help text.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The modules are built one by one: what compat-tests requires never influences the versions that kaja is built with.
export GOWORK := off
export CGO_ENABLED ?= 0

GOFLAGS_BUILD := -trimpath -ldflags "-s -w"
PKG ?= ./...
RUN ?=
FUZZTIME ?= 30s
ARGS ?=

.PHONY: help build run test race lint fuzz sim bench bench-main bench-versus costs bench-groups compat compat-kafka eos nightly check cover dist clean tidy

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build ./kaja
	go build $(GOFLAGS_BUILD) -o kaja .

run: ## build and serve on localhost:9092, data in ./kaja-data (ARGS="--ephemeral" and so on)
	go build $(GOFLAGS_BUILD) -o kaja .
	./kaja serve $(ARGS)

test: ## run the unit tests of every package (PKG=./storage/... RUN=Name narrow it)
	go vet $(PKG)
	go test -shuffle=on -timeout 300s $(if $(RUN),-run '$(RUN)') $(PKG)

race: ## the same tests under the race detector, with costly invariants on (needs a C compiler)
	CGO_ENABLED=1 go test -race -shuffle=on -timeout 600s $(if $(RUN),-run '$(RUN)') $(PKG)

lint: ## gofmt, go vet, staticcheck and the house rules (tidy_test.go)
	@out=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -s -l); if [ -n "$$out" ]; then echo "gofmt -s -w these files:"; echo "$$out"; exit 1; fi
	go vet ./...
	go tool -modfile=scripts/tools.mod staticcheck ./...
	go test -count=1 -run '^TestTidy' .

fuzz: ## fuzz every target for FUZZTIME each (RUN=regex of package/FuzzName narrows it)
	scripts/fuzz "$(FUZZTIME)" "$(RUN)"

sim: ## the simulator's longer runs (SEED=n repeats one)
	SIM_LONG=1 go test -count=1 -timeout 1200s ./internal/sim/...
	scripts/histories 10m $(SEED)

bench: ## benchmarks of the hot paths (PKG, RUN narrow it)
	go test -run '^$$' -bench '$(or $(RUN),.)' -benchmem $(PKG)

bench-main: ## the same benchmarks beside those of main, by benchstat (ARGS=a-commit; COUNT=6 BENCHTIME=200ms)
	scripts/bench-compare $(ARGS)

costs: ## what a request may cost: allocations, system calls, bytes copied, CPU beside the kernel's; a minute
	scripts/costs

bench-versus: ## cost beside Apache Kafka 4.4.0, written to docs/performance.md; about twenty minutes (ARGS="-rounds 6 -only fetch"; KAFKA_HOME or ../shared names Kafka)
	go run ./scripts/versus -out docs/performance.md $(ARGS)

bench-groups: ## 200 members at once, idle groups, 100,000 committed offsets, the price of a heartbeat, against their limits; a minute (../shared names Kafka)
	scripts/groups

compat: ## foreign clients and tools against kaja (ARGS="sarama java" picks some; needs a C compiler, Java, Python, Node, kcat)
	scripts/compat kaja $(ARGS)

compat-kafka: ## the same tests against Apache Kafka 4.4.0
	scripts/compat kafka $(ARGS)

eos: ## exactly once through Kafka's copier, Kafka Streams and franz-go while broker and clients are killed (ARGS="SECONDS SEED"; needs Java)
	scripts/eos $(ARGS)

nightly: ## everything that .ci/run rotates through, at full length
	NIGHTLY=1 CI=true bash .ci/run

check: lint test ## what to run before a commit: lint, tests, race of changed packages
	scripts/race-changed

cover: ## coverage by package, profile in dist/cover.out
	@mkdir -p dist
	go test -coverprofile=dist/cover.out ./...
	go tool cover -func=dist/cover.out | tail -1

dist: ## static binaries for Linux and macOS, amd64 and arm64, with checksums and bills of materials, in dist/
	scripts/dist

clean: ## remove what the targets above made (not ./kaja-data)
	rm -rf kaja dist
	go clean -testcache
