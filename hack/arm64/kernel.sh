#!/bin/sh
# kernel.sh DIR fetches an arm64 kernel of Debian into DIR/vmlinuz, with apt's own checks
# of signatures, from the mirror that this machine is configured for. SUITE names another
# release than its own: SUITE=trixie has a kernel with more of Landlock. Nothing of the
# system changes. KERNEL=FILE takes that file instead.
set -eu
dir=$1
mkdir -p "$dir"
if [ -n "${KERNEL:-}" ]; then
	cp "$KERNEL" "$dir/vmlinuz"
	exit 0
fi
command -v apt-get >/dev/null || { echo "kernel.sh: no apt-get here: name an arm64 kernel with KERNEL=FILE" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/sources"
for f in /etc/apt/sources.list /etc/apt/sources.list.d/debian.*; do
	[ -e "$f" ] || continue
	if [ -n "${SUITE:-}" ]; then
		sed "s/^Suites: *[a-z]*\( .*\)\{0,1\}$/Suites: $SUITE/; s/^\(deb .*[^ ]\) [a-z]*\(-[a-z]*\)\{0,1\} main/\1 $SUITE main/" "$f"
	else
		cat "$f"
	fi >"$work/sources/${f##*/}"
done
apt() {
	apt-get -qq -o Dir::State="$work/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache" \
		-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources" \
		-o APT::Architecture=arm64 -o APT::Architectures::=arm64 "$@"
}
# A list that this mirror does not have for the suite, such as that of its security
# updates, is no obstacle: what is downloaded is signed all the same.
apt update || true
package=$(APT_CONFIG= apt-cache -o Dir::State="$work/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache" \
	-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources" \
	-o APT::Architecture=arm64 -o APT::Architectures::=arm64 depends linux-image-cloud-arm64 | sed -n 's/^ *Depends: *//p' | head -1)
[ -n "$package" ] || { echo "kernel.sh: the configured mirror has no linux-image-cloud-arm64" >&2; exit 1; }
cd "$work"
apt download "$package"
dpkg-deb -x "$work"/*.deb "$work/root"
cd - >/dev/null
cp "$work"/root/boot/vmlinuz-* "$dir/vmlinuz"
echo "$package"
