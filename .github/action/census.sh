#!/usr/bin/env bash
# Takes a census and says where the report is. Findings do not fail this step:
# the report is sent first, and the last step of the action fails.
set -euo pipefail
report=$RUNNER_TEMP/reach-report
rm -rf "$report"
read -r -d '' -a args < <(printf '%s\0' "$INPUT_ARGS") || true
if [ "$INPUT_FAIL_ON" != never ]; then args+=(--fail-on "$INPUT_FAIL_ON"); fi
status=0
"$RUNNER_TEMP/reach-bin/reach" census "$INPUT_REPOSITORY" --rev "$INPUT_REVISION" --names "$INPUT_NAMES" \
	--out "$report" ${args[@]+"${args[@]}"} || status=$?
# 3 is findings at or above --fail-on; anything else has no report.
if [ "$status" != 0 ] && [ "$status" != 3 ]; then exit "$status"; fi
{
	echo "report=$report"
	echo "status=$status"
	echo "findings=$(wc -l <"$report/findings.jsonl" | tr -d ' ')"
} >>"$GITHUB_OUTPUT"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	# GitHub takes up to a megabyte.
	head -c 900000 "$report/report.md" >>"$GITHUB_STEP_SUMMARY"
fi
