# Tenon. The two commands that matter: "make run" and "make test".
#
#   make run                        start a server on ./tenon-data (ARGS="--http 127.0.0.1:0")
#   make test                       every test, race detector on, SQLite and PostgreSQL
#   make test PKG=./internal/base/... RUN=TestSeal   (installs nothing)
#   make flaky PKG=./test/clients N=10   every test ten times beside busy loops: what only fails sometimes
#   make lint fmt gen fixture bench e2e build setup
#   make package                    a Debian package in dist (ARCH=arm64)
#   make release                    stamped binaries, packages, checksums and SBOMs in dist

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

GO          ?= go
PKG         ?= ./...
RUN         ?=
TESTFLAGS   ?=
TIMEOUT     ?= 25m
PARALLEL    ?= 3

# "make flaky": runs of each test, and busy loops beside them.
N           ?= 10
LOOPS       ?= 3

# "make bench AUDIT=1000000": figures of the audit trail alone, with so many events.
AUDIT       ?=

# "make bench HOOKS=1000": figures of hooks alone, with so many commits that 20 hooks are notified of.
HOOKS       ?=

# "make bench DORA=1000": figures of DORA metrics alone, of a group with so many projects.
DORA        ?=

DIST        ?= dist
ARCH        ?= $(shell $(GO) env GOARCH)

# What a release is stamped with. The same commit, version and Go make the same bytes. Before the first tag the time of the
# commit stands before its id, so that versions of packages grow.
VERSION  ?= $(or $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' 2>/dev/null)),0.0.1-$(shell TZ=UTC git log -1 --format=%cd-g%h --abbrev=11 --date=format-local:%Y%m%d%H%M%S 2>/dev/null))
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
BINARY   ?= $(DIST)/tenon_$(VERSION)_linux_$(ARCH)
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

NFPM_VERSION := v2.43.4
NFPM         := .tools/nfpm-$(NFPM_VERSION)/nfpm

LINT_VERSION := v2.15.0
LINT         := .tools/golangci-lint-$(LINT_VERSION)/golangci-lint

# Starts one private PostgreSQL for all packages, or says "PostgreSQL: skipped", and has temporary
# files in shared memory where it has room.
WITH := $(GO) run ./internal/base/db/dbtest/withpostgres

# The race detector needs a C compiler; without one the tests run without it and say so.
HAVE_CC := $(shell command -v gcc >/dev/null 2>&1 && echo yes)

# SQLite is C that was translated to Go; it locks its own memory, and the detector cannot see
# that. Watching every access of it takes more than half of the time of most tests.
# The driver and all that calls it are watched. Hashing a password shares nothing either. Without the
# tables for debuggers, which are not linked anyway, compiling takes an eighth less.
UNWATCHED := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b
RACE := -race -gcflags='all=-dwarf=false' $(foreach p,$(UNWATCHED),-gcflags='$(p)=-race=false -d=checkptr=0 -dwarf=false')

# Tests that make one request after the other show the race detector nothing, and it makes them take
# more than twice as long. Where all tests run, these run apart, without it: the walkers of
# internal/app, internal/transport/rest but for its tests named _together, which have goroutines,
# and all of test, whose servers are built without it.
WALKERS := Test(Addresses|Addresses_fields|Arguments|Parameters|AnswerSizes|FormerMember|Backup_engines|Departure|Doubling|Fields|Fields_postgres|OpenIssuesCount|Processes|Reactions_proved|Unmodified|Unmodified_others|Uploads_traversal|Web_content|Web_favicons|Web_jobs|Web_preferences|Web_statements|Matrix|Matrix_postgres|Mutations|Mutations_postgres|Lists|Lists_stable|Statements|Queries_statements|ByIDs|Contract|Foreign|Foreign_places|Hidden|HostileTargets|Import_targets|Plans|Nulls|Secrets|Suffix_writes|Suffix_reads|Texts|TimeBounds|Unseen|Update_pairs_all|Web_artifacts|Web_badges|Web_goGet|Web_hooks|Web_lists|Web_moved|Web_notes|Web_references|Subject)

# Where all tests run, the server that many of them start is built once.
ALL := $(if $(RUN)$(filter-out ./...,$(PKG)),,yes)

# "make lint" runs vet. Without the tables for debuggers, linking takes half as long. Trimmed paths
# let a clone use what another one has compiled.
GOTEST = $(GO) test -vet=off -trimpath -ldflags=-w -timeout $(TIMEOUT) -p $(PARALLEL) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS)

.PHONY: build run test every flaky lint fmt gen fixture bench e2e setup clean package release

build: ## the static binary bin/tenon
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/tenon ./cmd/tenon

run: build ## start a server on ./tenon-data
	./bin/tenon serve $(ARGS)

setup: ## install what the tests and the linter need, where that is allowed
	@bash test/setup.sh
	@$(MAKE) --no-print-directory $(LINT)

test: $(if $(ALL),build) ## every test; installs what is missing where it may, else says what it skips
	@$(if $(ALL),bash test/setup.sh,true)
ifeq ($(HAVE_CC),yes)
	$(WITH) $(if $(ALL),$(MAKE) --no-print-directory every,$(GOTEST) $(RACE) $(PKG)) | bash test/slowest.sh
else
	@if command -v gcc >/dev/null; then $(MAKE) --no-print-directory test HAVE_CC=yes; else \
	  echo "race detector: skipped (no C compiler)"; \
	  $(if $(ALL),TENON_BIN="$(CURDIR)/bin/tenon") CGO_ENABLED=0 $(WITH) $(GOTEST) $(PKG) | bash test/slowest.sh; fi
endif

# All tests, on the PostgreSQL that "make test" has started.
every: export TENON_BIN = $(CURDIR)/bin/tenon
every:
	r=0; \
	TENON_TEST_WALKERS=apart $(GOTEST) $(RACE) $$($(GO) list ./... | grep -Ev '/internal/transport/rest$$|^tenon/test/') || r=$$?; \
	$(GOTEST) $(RACE) -run '_together$$' ./internal/transport/rest & together=$$!; \
	CGO_ENABLED=0 $(GOTEST) -run '^$(WALKERS)$$' ./internal/app & walkers=$$!; \
	CGO_ENABLED=0 $(GOTEST) ./internal/transport/rest ./test/... || r=$$?; \
	wait $$together || r=$$?; wait $$walkers || r=$$?; exit $$r

# Without the race detector, which takes more than twice as long. TIMEOUT is that of all runs of a package.
flaky: TIMEOUT := 10h
flaky: $(if $(ALL),build) ## every test ten times beside busy loops, and a table of those that failed; takes hours for all packages
	@$(if $(ALL),bash test/setup.sh,true)
	$(if $(ALL),TENON_BIN="$(CURDIR)/bin/tenon") CGO_ENABLED=0 $(WITH) $(GO) run -trimpath ./internal/tools/flaky -loops $(LOOPS) $(GOTEST) -json -count=$(N) $(PKG)

e2e: build ## the built binary driven by real clients
	@bash test/setup.sh
	TENON_BIN="$(CURDIR)/bin/tenon" $(WITH) $(GO) test -count=1 -timeout $(TIMEOUT) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) ./test/...

bench: build ## figures, printed; nothing is asserted
ifneq ($(AUDIT),)
	@echo "audit: lists of 20 among $(AUDIT) events, sealing and verifying them; a project, a member and a token with and without their event:"
	@TENON_BENCH_AUDIT=$(AUDIT) CGO_ENABLED=0 $(WITH) $(GO) test -run '^$$' -bench '^BenchmarkService_(large|cost)$$' -benchtime 1x -timeout 60m ./internal/core/audit | grep '^Benchmark'
else ifneq ($(HOOKS),)
	@echo "hooks: what they cost a change; $(HOOKS) commits with 20 hooks each, of which 15 are healthy; a log of a million attempts; 10,000 hooks at rest:"
	@TENON_BENCH_HOOKS=$(HOOKS) CGO_ENABLED=0 $(WITH) $(GO) test -vet=off -trimpath -ldflags=-w -run '^$$' -bench '^BenchmarkHooks$$' -benchtime 1x -timeout 60m ./internal/app | grep '^Benchmark'
else ifneq ($(DORA),)
	@echo "DORA metrics of 180 days of a group with $(DORA) projects that have deployed daily for three years:"
	@TENON_BENCH_DORA=$(DORA) CGO_ENABLED=0 $(WITH) $(GO) test -vet=off -trimpath -ldflags=-w -run '^$$' -bench '^BenchmarkService_DORA$$' -benchtime 1x -timeout 60m ./internal/core/stats | grep '^Benchmark'
else
	TENON_BIN="$(CURDIR)/bin/tenon" $(GO) run ./test/bench $(ARGS)
	@echo "longest transactions:"
	@CGO_ENABLED=0 $(GO) test -run '^$$' -bench '^BenchmarkTransactions$$' -benchtime 1x ./internal/app | grep 'ms/longest'
	@CGO_ENABLED=0 $(GO) test -count=1 -v -run '^TestService_manyJobs$$/sqlite' ./internal/core/ci | grep 'longest transaction'
	@echo "audit: a page of 20 among 300,000 events, and what an event costs a transaction:"
	@CGO_ENABLED=0 $(GO) test -run '^$$' -bench '^BenchmarkService_(List|record)$$' -benchtime 200x ./internal/core/audit | grep '^Benchmark'
	$(if $(ARGS),,TENON_TEST_ANSWERS=all CGO_ENABLED=0 $(GO) test -vet=off -trimpath -count=1 -v -run '^TestAnswerSizes$$' ./internal/app)
endif

lint: $(LINT) ## house rules and the usual suspects
	$(LINT) run $(PKG)

fmt: $(LINT) ## gofumpt
	$(LINT) fmt $(PKG)

gen: ## generated files and golden files that come from code
	$(GO) generate ./...

fixture: build ## a data folder and a dump of the schema of today, for each release (needs pg_dump)
	TENON_BIN="$(CURDIR)/bin/tenon" $(WITH) $(GO) test -count=1 -run '^TestMake$$' ./test/fixtures -make

# A binary of a release: static, and without anything of the machine that builds it.
$(DIST)/tenon_$(VERSION)_linux_%: FORCE
	@mkdir -p "$(DIST)"
	CGO_ENABLED=0 GOOS=linux GOARCH=$* GOFLAGS= $(GO) build -trimpath -buildvcs=false \
	  -ldflags "-s -w -buildid= -X main.version=$(VERSION) -X main.revision=$(REVISION)" -o $@ ./cmd/tenon

.PHONY: FORCE
FORCE:

package: $(NFPM) $(BINARY) ## a Debian package
	@mkdir -p "$(DIST)"
	ARCH=$(ARCH) BINARY="$(BINARY)" PACKAGE_VERSION="$(subst -,+,$(VERSION))" $(NFPM) package --config deploy/nfpm.yaml --packager deb --target "$(DIST)"

release: ## stamped static binaries, packages, SBOMs and checksums
	rm -rf "$(DIST)"
	$(MAKE) --no-print-directory package ARCH=amd64
	$(MAKE) --no-print-directory package ARCH=arm64
	$(GO) run ./internal/tools/sbom -version "$(VERSION)" "$(DIST)"/tenon_$(VERSION)_linux_amd64 "$(DIST)"/tenon_$(VERSION)_linux_arm64
	cd "$(DIST)" && sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS

.PHONY: nfpm
nfpm: $(NFPM) ## the program that makes packages

$(NFPM):
	GOBIN="$(CURDIR)/$(dir $(NFPM))" GOFLAGS= $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)

# Compiled once, in about a minute on two cores, and kept in .tools.
$(LINT):
	GOBIN="$(CURDIR)/$(dir $(LINT))" GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

clean: ## remove what was built, not the data
	rm -rf bin dist .tools
