#!/usr/bin/env bash
# Builds both programs of the action's own commit into RUNNER_TEMP.
set -euo pipefail
cd "$GITHUB_ACTION_PATH"
# The Go that setup-go installed is the one that go.mod names.
export GOTOOLCHAIN=local
make build
mkdir -p "$RUNNER_TEMP/reach-bin"
cp bin/reach bin/reach-analyser "$RUNNER_TEMP/reach-bin/"
