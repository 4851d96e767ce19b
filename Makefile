# reach: what one types. `make census` and `make test` do all the set-up.

GO      ?= go
BIN     := bin
REPO    ?=
REV     ?= HEAD
OUT     ?= out/$(notdir $(abspath $(or $(REPO),acme-platform-report)))
ARGS    ?=

export CGO_ENABLED = 0
export GOFLAGS ?= -buildvcs=false -trimpath

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## bin/reach and bin/reach-analyser
	$(GO) run ./hack/seal -o $(BIN)/reach-analyser
	$(GO) build -ldflags "-s -w $$($(GO) run ./hack/seal -pin $(BIN)/reach-analyser)" -o build/reach ./orchestrator
	@# As an installer does: the linker writes through a mapping, page by page, and
	@# what is cached like that starts three milliseconds later than a copy.
	@cp build/reach build/reach.copy && mv -f build/reach.copy $(BIN)/reach

.PHONY: oracle
oracle: ## bin/reach-oracle, which reach oracle starts
	cd hack/oracle && $(GO) build -ldflags "-s -w" -o ../../$(BIN)/reach-oracle .

.PHONY: sbom
sbom: build ## what both programs are made of, as CycloneDX lists beside them
	$(GO) run ./hack/sbom $(BIN)/reach-analyser $(BIN)/reach

VERSION ?= 0.1.0
DIST    ?= dist

.PHONY: release
release: ## archives for Linux and macOS with checksums in DIST=dist, the same bytes for the same commit
	$(GO) run ./hack/release -version $(VERSION) -o $(DIST)

.PHONY: image
image: ## the container image of what make release built: by buildah or docker, else as an OCI archive in DIST
	@if command -v buildah >/dev/null; then buildah build --timestamp "$$(git log -1 --format=%ct)" -f hack/image/Containerfile -t reach:$(VERSION) $(DIST); \
	elif docker info >/dev/null 2>&1; then docker build --build-arg TARGETARCH=$$($(GO) env GOARCH) -f hack/image/Containerfile -t reach:$(VERSION) $(DIST); \
	else $(GO) run ./hack/image -version $(VERSION) -created "$$(git log -1 --format=%ct)" -o $(DIST)/reach_$(VERSION)_image.tar $(DIST) && \
		echo "$(DIST)/reach_$(VERSION)_image.tar: an OCI archive on no base, for podman load or skopeo copy"; fi

.PHONY: canary
canary: ## bin/reach-analyser-canary, which tries what the seal refuses
	$(GO) run ./hack/seal -canary -o $(BIN)/reach-analyser-canary

.PHONY: audit
audit: build canary ## show that the analyser cannot write, connect or start anything
	$(BIN)/reach audit --source .

.PHONY: seal-arm64
seal-arm64: ## show the walls on an emulated arm64 machine; needs qemu, takes long
	sh hack/arm64/kernel.sh build/arm64
	$(GO) run ./hack/arm64 -kernel build/arm64/vmlinuz

.PHONY: census
census: build ## a census of acme-platform, or of REPO=... at REV=... with ARGS="..."
ifeq ($(REPO),)
	rm -rf out/acme-platform
	$(GO) run ./hack/acme -git out/acme-platform -config out/acme-platform.reach.yaml
	$(BIN)/reach census out/acme-platform --config out/acme-platform.reach.yaml --out $(OUT) $(ARGS)
else
	$(BIN)/reach census $(REPO) --rev $(REV) --out $(OUT) $(ARGS)
endif

.PHONY: quick
quick: ## the inner loop: vet and the short tests
	$(GO) vet ./...
	$(GO) test -short ./...

.PHONY: browser
browser: ## what the tests of report.html need: Chromium and axe-core
	sh hack/browser/setup.sh

.PHONY: test
test: build oracle canary browser strace pre-commit live-programs ## every test, against real clusters too
	$(GO) vet ./...
	$(GO) test -timeout=40m ./...
	cd hack/agreement && $(GO) vet . && $(GO) test .
	cd hack/oracle && $(GO) vet ./... && $(GO) test ./...

.PHONY: strace
strace: # what hack/strace needs; without it that test is skipped, and says so
	@command -v strace >/dev/null || apt-get install -y -qq strace >/dev/null 2>&1 || echo "strace is not there: its test is skipped"

.PHONY: live-programs
live-programs: # API server, kubectl and Flux's controllers, built once; takes ten minutes and more
	$(GO) run ./hack/live build

.PHONY: pre-commit
pre-commit: # what a test of hack/hook needs; without it that test is skipped, and says so
	@command -v pre-commit >/dev/null || apt-get install -y -qq pre-commit >/dev/null 2>&1 || echo "pre-commit is not there: its test is skipped"

.PHONY: live
live: live-programs ## the tests against real hubs and spokes alone (hack/live/README.md)
	$(GO) test -timeout=40m ./hack/live/...

.PHONY: live-up
live-up: ## two real hubs and two real spokes that stay up, and their kubeconfigs
	$(GO) build -o $(BIN)/live ./hack/live
	$(BIN)/live up

.PHONY: live-down
live-down: ## end them
	$(BIN)/live down

.PHONY: agreement
agreement: ## count, object by object, where kustomize, Flux and git build the same
	cd hack/agreement && $(GO) run .

.PHONY: mutations
mutations: ## the same with every repository broken, and overlaid, in a hundred random ways; takes a while
	cd hack/agreement && $(GO) run . -mutate -n 100 -seed 1
	cd hack/agreement && $(GO) run . -overlay -n 100 -seed 1

.PHONY: bench
bench: build ## census, git, a naive parse and what people run instead, side by side
	sh hack/bench/run.sh $(or $(RUNS),5) $(ARGS)

.PHONY: verify
verify: ## generated code, formatting, vet and the modules are as they should be
	sh hack/verify.sh

.PHONY: generate
generate: ## code from proto/
	sh hack/generate.sh

.PHONY: clean
clean: ## remove what make made
	rm -rf $(BIN) build out $(DIST)
