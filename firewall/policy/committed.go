package policy

import _ "embed" // the committed expectations

// The expectations as they were committed when this program was built. The
// files stand beside this one.
var (
	// Imports is what the analyser must never import.
	//go:embed policy.txt
	Imports string
	// Deps is what it does import, with a reason each.
	//go:embed analyser.deps
	Deps string
	// Symbols is what its binary must not hold, and what is left in it.
	//go:embed symbols.txt
	Symbols string
)
