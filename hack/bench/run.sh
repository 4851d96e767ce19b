#!/bin/sh
# Benchmarks acme-platform and every repository of the corpus, side by side in
# one run. Usage: hack/bench/run.sh [RUNS [FLAG...]], for example
# hack/bench/run.sh 3 -fleets 1000x10,2000x10,10000x100
# hack/bench/run.sh 5 -tools krusty,kustomize,kubectl,flux -markdown
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go run ./hack/acme -git "$work/acme-platform" >/dev/null
git -C "$work/acme-platform" gc -q
corpus=../shared/corpus
if [ -x "$corpus/make-repos" ]; then
	"$corpus/make-repos" "$work/corpus" >/dev/null
	for r in "$work"/corpus/*; do git -C "$r" gc -q; done
else
	echo "the corpus is not beside the project: acme-platform alone" >&2
	mkdir "$work/corpus"
fi
go build -o "$work/bench" ./hack/bench
runs=${1:-5}
[ $# = 0 ] || shift
"$work/bench" -n "$runs" "$@" "$work"/acme-platform "$work"/corpus/*
