# The targets are the README's commands; `make help` lists them.

SHELL := /bin/bash
GO ?= go
TOOL := $(GO) tool -modfile=tools/go.mod

.DEFAULT_GOAL := help
.PHONY: help build test demo demo-down lint format bench fuzz clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | sort | expand -t 12

build: ## bin/hermesbox for this machine; its version is git's
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -o bin/hermesbox ./cmd/hermesbox

test: ## format, vet, cross-compile, every test; starts what it needs on Debian 12 as root
	scripts/test.sh

demo: ## Hermes Agent 0.19.0 to a verified sandbox on the local Cube, and what breaks one
	@scripts/demo.sh

demo-down: ## end the local Cube and the demo's model endpoint
	@scripts/demo.sh down

lint: ## golangci-lint, pinned in tools/go.mod
	$(TOOL) golangci-lint run ./...

format: ## gofumpt over every Go file
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

bench: ## speed and memory against their rivals; takes long
	bench/run.sh
	$(GO) test ./sandbox/verify -run '^$$' -bench Many -benchtime 5x

fuzz: ## every fuzz target for FUZZTIME (30s)
	scripts/fuzz.sh

clean: ## remove what make made, Engines and caches of this clone included
	scripts/test-env.sh down
	rm -rf bin dist .cache
