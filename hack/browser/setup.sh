#!/bin/sh
# Brings what the browser tests of report.html need: Chromium from the packages
# of Debian, and axe-core as package-lock.json pins it. Says what is missing, and
# fails, where it cannot.
set -eu
cd "$(dirname "$0")"

found=
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null 2>&1; then found=$name; fi
done
if [ -z "$found" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		echo "browser: there is no Chromium: install it (on Debian: apt-get install chromium)" >&2
		exit 1
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi

if ! cmp -s package-lock.json node_modules/.installed; then
	if ! command -v npm >/dev/null 2>&1; then
		echo "browser: there is no npm, which fetches axe-core: install it (on Debian: apt-get install npm)" >&2
		exit 1
	fi
	npm ci --ignore-scripts --no-audit --no-fund --silent
	cp package-lock.json node_modules/.installed
fi
