package cli

import (
	"github.com/spf13/pflag"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// limitFlag is a limit of the analyser as a flag. Its name stands in the
// analyser's errors.
type limitFlag struct {
	name, usage string
	field       func(*reachv1.Limits) *int64
}

var limitFlags = []limitFlag{
	{"max-files", "files and directories of a commit, at most `N` (default 1000000)", func(l *reachv1.Limits) *int64 { return &l.MaxFiles }},
	{"max-blob-bytes", "bytes of a file, at most `N` (default 67108864)", func(l *reachv1.Limits) *int64 { return &l.MaxBlobBytes }},
	{"max-documents", "YAML documents of a file, at most `N` (default 100000)", func(l *reachv1.Limits) *int64 { return &l.MaxDocuments }},
	{"max-document-nodes", "YAML nodes of a document with its aliases expanded, at most `N` (default 1000000)", func(l *reachv1.Limits) *int64 { return &l.MaxDocumentNodes }},
}

// addLimitFlags has flags fill the limits, which are zero where none is given.
func addLimitFlags(flags *pflag.FlagSet, l *reachv1.Limits) {
	for _, f := range limitFlags {
		flags.Int64Var(f.field(l), f.name, 0, f.usage)
	}
}

// applyLimits puts what was given in the place of what the configuration says.
func applyLimits(given, to *reachv1.Limits) error {
	for _, f := range limitFlags {
		switch value := *f.field(given); {
		case value < 0:
			return usagef("--%s %d: a limit is a number above 0", f.name, value)
		case value > 0:
			*f.field(to) = value
		}
	}
	return nil
}
