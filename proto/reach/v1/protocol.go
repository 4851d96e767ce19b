// Package reachv1 is the protocol of the sealed analyser, version 1: the
// generated code of analyser.proto, census.proto and facts.proto, and the
// numbers that both sides must agree on. The page for authors of tools is
// proto/README.md.
package reachv1

const (
	// ProtocolVersion is the version that this package describes and that
	// HelloRequest.protocol_versions and HelloResponse.protocol_version carry.
	ProtocolVersion = 1

	// MaxResponseBytes is the size of the largest message that an analyser
	// sends. It is the limit that every gRPC library has by default, so that
	// a client needs no configuration.
	MaxResponseBytes = 4 << 20

	// MaxRequestBytes is the size of the largest message that an analyser
	// accepts.
	MaxRequestBytes = 64 << 20

	// FactsBytes is how large a FactsRequest should be made, and MaxFactsBytes
	// the size above which the analyser refuses one.
	FactsBytes    = 1 << 20
	MaxFactsBytes = 4 << 20

	// MaxLimit is the largest value of one of Limits.
	MaxLimit = int64(1) << 40

	// MaxFacts is how many objects and inventory entries a process keeps.
	MaxFacts = 4_000_000
)
