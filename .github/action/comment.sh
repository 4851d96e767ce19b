#!/usr/bin/env bash
# Keeps report.md as one comment on the pull request: the first time it writes
# one, later it replaces it.
set -euo pipefail
mark='<!-- reach census -->'
comments=repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments
body=$(mktemp "$RUNNER_TEMP/reach-comment.XXXXXX")
trap 'rm -f "$body"' EXIT
{
	echo "$mark"
	# A comment has 65536 characters; a line is never cut.
	LC_ALL=C awk '{ n += length($0) + 1 } n > 60000 { cut = 1; exit } { print } END { if (cut) print "\n(The rest is in report.md of the workflow run.)" }' "$REPORT/report.md"
} >"$body"
old=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$mark\")) | .id" | head -n 1)
if [ -n "$old" ]; then
	gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$old" --field "body=@$body" --silent
	echo "replaced comment $old"
else
	gh api --method POST "$comments" --field "body=@$body" --silent
	echo "wrote a comment"
fi
