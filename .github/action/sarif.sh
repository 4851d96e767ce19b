#!/usr/bin/env bash
# Sends report.sarif to code scanning (REST: code-scanning/sarifs).
set -euo pipefail
commit=$GITHUB_SHA
ref=$GITHUB_REF
body=$(mktemp "$RUNNER_TEMP/reach-sarif.XXXXXX")
trap 'rm -f "$body"' EXIT
printf '{"commit_sha":"%s","ref":"%s","tool_name":"reach","sarif":"%s"}\n' \
	"$commit" "$ref" "$(gzip -n -c "$REPORT/report.sarif" | base64 | tr -d '\n')" >"$body"
gh api --method POST "repos/$GITHUB_REPOSITORY/code-scanning/sarifs" --input "$body" --silent
echo "sent $(wc -c <"$REPORT/report.sarif" | tr -d ' ') bytes of SARIF for $commit"
