#!/bin/sh
# Fails when something that is generated, formatted or derived is not what the
# sources give. Everything it needs is built from modules that are pinned in
# hack/tools. The tree must be clean at the end: goldens are run with -update.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
status=0
say() { echo "verify: $*" >&2; status=1; }

before=$(git status --porcelain)

echo "== nothing built is committed"
# hack/reach.v1.binpb is what the protocol is compared with.
built=$(git ls-files --eol | awk -F '\t' '$1 ~ /^i\/-text/ { print $2 }' | grep -v -e '^hack/reach.v1.binpb$' -e testdata/ || true)
[ -z "$built" ] || say "not text, and what is built is not committed:" $built

echo "== protocol"
sh hack/generate.sh verify || status=1

echo "== modules"
"$go" mod tidy -diff || say "go.mod is not tidy"
"$go" mod verify

echo "== format"
mkdir -p bin/tools
(cd hack/tools && "$go" build -o "$PWD/../../bin/tools/" mvdan.cc/gofumpt honnef.co/go/tools/cmd/staticcheck)
bad=$(git ls-files '*.go' | grep -v '\.pb\.go$' | grep -v /testdata/ | xargs bin/tools/gofumpt -l)
[ -z "$bad" ] || say "not gofumpt-clean:" $bad

echo "== vet and staticcheck"
"$go" vet ./... || status=1
bin/tools/staticcheck ./... || status=1

# What is below hack and a module of its own is held to the same; those that hold
# only versions have nothing to be vetted. hack/live/servers compiles whole API
# servers, which takes minutes, and go mod tidy wants the tests of all its modules,
# some of which need what no proxy serves: there go.mod must have all that the
# code imports.
tools=$PWD/bin/tools
nested() {
	case $1 in
	hack/live/servers)
		"$go" list -mod=readonly -deps ./... >/dev/null
		return
		;;
	esac
	"$go" mod tidy -diff || return
	[ -n "$("$go" list ./... 2>/dev/null)" ] || return 0
	"$go" vet ./... && "$tools/staticcheck" ./...
}
for mod in $(git ls-files 'hack/*go.mod'); do
	dir=$(dirname "$mod")
	echo "== $dir"
	(cd "$dir" && nested "$dir") || say "$dir is not as it should be"
done

echo "== firewall"
"$go" run ./firewall || say "the firewall convicts the analyser"

echo "== goldens with -update leave the tree as it is"
"$go" test ./analyser/internal/kustomize -run TestGolden -update >/dev/null || say "kustomize goldens"
"$go" test ./orchestrator/internal/schema -update >/dev/null || say "schema.json"
"$go" test ./orchestrator/internal/rules -update >/dev/null || say "catalogue.go"
after=$(git status --porcelain)
[ "$before" = "$after" ] || { git status --short; say "goldens changed the tree"; }

exit $status
