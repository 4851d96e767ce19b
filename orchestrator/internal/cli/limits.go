package cli

import (
	"fmt"
	"strconv"

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
	{"max-layer-depth", "layers of kustomization files that nest, at most `N` (default 100)", func(l *reachv1.Limits) *int64 { return &l.MaxLayerDepth }},
	{"max-build-objects", "objects that one build handles, counted once for each layer they pass, at most `N` (default 100000)", func(l *reachv1.Limits) *int64 { return &l.MaxBuildObjects }},
}

// addLimitFlags has flags fill the limits, which are zero where none is given.
func addLimitFlags(flags *pflag.FlagSet, l *reachv1.Limits) {
	for _, f := range limitFlags {
		flags.Var((*limit)(f.field(l)), f.name, f.usage)
	}
}

// limit is the value of a limit's flag, above 0 when it is given.
type limit int64

func (l *limit) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > reachv1.MaxLimit {
		return fmt.Errorf("a limit is a number from 1 to %d", reachv1.MaxLimit)
	}
	*l = limit(n)
	return nil
}

func (l *limit) Type() string { return "N" }

// String is empty where no limit was given, so that help shows no default of 0.
func (l *limit) String() string {
	if *l == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*l), 10)
}

// applyLimits puts what was given in the place of what the configuration says.
func applyLimits(given, to *reachv1.Limits) {
	for _, f := range limitFlags {
		if value := *f.field(given); value > 0 {
			*f.field(to) = value
		}
	}
}
