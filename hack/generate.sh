#!/bin/sh
# The code and the checks that come from the .proto files.
#
#   hack/generate.sh            write proto/reach/v1/*.pb.go
#   hack/generate.sh verify     fail when the committed code is not what the
#                               .proto files give, when buf's lint rules are
#                               broken, or when the protocol is not compatible
#                               with the last release
#   hack/generate.sh baseline   make the protocol as it stands the one that
#                               later ones must be compatible with; part of
#                               tagging a release, never of a change
#
# buf and the two plugins are built from the module hack/tools, which pins
# them, into bin/tools; nothing else is needed and nothing is fetched but that
# module's dependencies. The last release is hack/reach.v1.binpb, a descriptor
# image, so that the check needs neither tags nor history and works in a
# shallow clone.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
tools=$PWD/bin/tools
image=hack/reach.v1.binpb

build() {
	mkdir -p "$tools"
	(cd hack/tools && "$go" build -o "$tools/" \
		github.com/bufbuild/buf/cmd/buf \
		google.golang.org/protobuf/cmd/protoc-gen-go \
		google.golang.org/grpc/cmd/protoc-gen-go-grpc)
	PATH=$tools:$PATH
	export PATH
}

# generate DIR writes the code below DIR and takes away code whose .proto file
# is gone.
generate() {
	rm -f "$1"/proto/reach/v1/*.pb.go
	buf generate --template hack/buf.gen.yaml --output "$1"
}

verify() {
	fresh=$(mktemp -d)
	trap 'rm -rf "$fresh"' EXIT
	generate "$fresh"
	status=0
	for f in "$fresh"/proto/reach/v1/*.pb.go proto/reach/v1/*.pb.go; do
		name=proto/reach/v1/${f##*/}
		if ! cmp -s "$fresh/$name" "$name"; then
			echo "$name is not what the .proto files give; run hack/generate.sh" >&2
			status=1
		fi
	done
	buf lint || status=1
	if ! buf breaking --against "$image"; then
		echo "the protocol is not compatible with the last release ($image): released fields keep their numbers, names and types" >&2
		status=1
	fi
	return $status
}

case "${1:-generate}" in
generate) build; generate . ;;
verify) build; verify ;;
baseline) build; buf build --exclude-source-info --output "$image" ;;
*)
	echo "usage: hack/generate.sh [generate|verify|baseline]" >&2
	exit 2
	;;
esac
