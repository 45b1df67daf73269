# Tenon. The two commands that matter: "make run" and "make test".
#
#   make run                        start a server on ./tenon-data (ARGS="--http 127.0.0.1:0")
#   make test                       every test, race detector on, SQLite and PostgreSQL
#   make test PKG=./internal/base/... RUN=TestSeal
#   make lint fmt gen fixture bench e2e build setup

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

GO          ?= go
PKG         ?= ./...
RUN         ?=
TESTFLAGS   ?=
TIMEOUT     ?= 12m
PARALLEL    ?= 2

LINT_VERSION := v2.15.0
LINT         := .tools/golangci-lint-$(LINT_VERSION)/golangci-lint

# Starts one private PostgreSQL for all packages, or says "PostgreSQL: skipped".
WITH := $(GO) run ./internal/base/db/dbtest/withpostgres

# The race detector needs a C compiler; without one the tests run without it and say so.
HAVE_CC := $(shell command -v gcc >/dev/null 2>&1 && echo yes)

# SQLite is C that was translated to Go; it locks its own memory, of which the detector knows
# nothing. Watching every access of it takes more than half of the time of most tests.
# The driver and all that calls it are watched.
RACE := -race $(foreach p,modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory,-gcflags='$(p)=-race=false -d=checkptr=0')

.PHONY: build run test lint fmt gen fixture bench e2e setup clean

build: ## the static binary bin/tenon
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/tenon ./cmd/tenon

run: build ## start a server on ./tenon-data
	./bin/tenon serve $(ARGS)

setup: ## install what the tests and the linter need, where that is allowed
	@bash test/setup.sh
	@$(MAKE) --no-print-directory $(LINT)

test: ## every test; installs what is missing where it may, else says what it skips
	@bash test/setup.sh
ifeq ($(HAVE_CC),yes)
	$(WITH) $(GO) test $(RACE) -timeout $(TIMEOUT) -p $(PARALLEL) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) $(PKG) | bash test/slowest.sh
else
	@if command -v gcc >/dev/null; then $(MAKE) --no-print-directory test HAVE_CC=yes; else \
	  echo "race detector: skipped (no C compiler)"; \
	  CGO_ENABLED=0 $(WITH) $(GO) test -timeout $(TIMEOUT) -p $(PARALLEL) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) $(PKG) | bash test/slowest.sh; fi
endif

e2e: build ## the built binary driven by real clients
	@bash test/setup.sh
	TENON_BIN="$(CURDIR)/bin/tenon" $(WITH) $(GO) test -count=1 -timeout $(TIMEOUT) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) ./test/...

bench: build ## figures, printed; nothing is asserted
	TENON_BIN="$(CURDIR)/bin/tenon" $(GO) run ./test/bench $(ARGS)

lint: $(LINT) ## house rules and the usual suspects
	$(LINT) run $(PKG)

fmt: $(LINT) ## gofumpt
	$(LINT) fmt $(PKG)

gen: ## generated files and golden files that come from code
	$(GO) generate ./...

fixture: build ## a data folder and a dump of the schema of today, for each release (needs pg_dump)
	TENON_BIN="$(CURDIR)/bin/tenon" $(WITH) $(GO) test -count=1 -run '^TestMake$$' ./test/fixtures -make

# Compiled once, in about a minute on two cores, and kept in .tools.
$(LINT):
	GOBIN="$(CURDIR)/$(dir $(LINT))" GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

clean: ## remove what was built, not the data
	rm -rf bin .tools
