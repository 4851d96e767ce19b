// Package audit judges the binary of an analyser for somebody who has never
// seen this project: what it was built of, which walls stand around it, and
// what proves each. It reads the binary, and the source where there is any;
// the canary, a build of the analyser that tries to break out, is started when
// there is one.
//
// What it is measured against was committed with the source and is embedded in
// this program. That convinces nobody of the authors' good will: it makes what
// the binary is made of visible, and comparable.
package audit

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/firewall/imports"
	"github.com/gitops-reach/reach/firewall/policy"
	"github.com/gitops-reach/reach/firewall/symbols"
)

// Schema names the shape of the JSON.
const Schema = "reach.audit/v1"

// Verdicts. Not being able to tell is never clean.
const (
	Clean      = "clean"
	Violation  = "violation"
	CannotTell = "could not tell"
)

// Options say what to judge.
type Options struct {
	// Binary is the analyser.
	Binary string
	// Expected is the digest of the analyser that this program starts; empty
	// when none was linked into it.
	Expected string
	// Canary is the binary of the canary; empty when there is none.
	Canary string
	// Source is the root of the source; empty when there is none.
	Source string
}

// Report is what was found.
type Report struct {
	Schema  string   `json:"schema"`
	Verdict string   `json:"verdict"`
	Binary  Binary   `json:"binary"`
	Modules []Module `json:"modules"`
	// Walls are imports, symbols and kernel.
	Walls  []Wall  `json:"walls"`
	Canary *Canary `json:"canary,omitempty"`
	// Differences are what is not as committed.
	Differences []string `json:"differences"`
}

// Binary is the program and how it was built.
type Binary struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Expected is the digest that this reach starts, empty when none was
	// linked.
	Expected string `json:"expected,omitempty"`
	Go       string `json:"go"`
	Main     string `json:"main"`
	Stripped bool   `json:"stripped"`
	// Settings are those of the build, "-trimpath": "true".
	Settings map[string]string `json:"settings"`
}

// Module is one that the binary was linked from.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	// Sum is the checksum as in go.sum; empty for an edited copy.
	Sum    string `json:"sum,omitempty"`
	Edited string `json:"edited,omitempty"`
	// Why is the committed reason.
	Why string `json:"why"`
}

// Wall is one wall with what proves it.
type Wall struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// Evidence is one line for everything that is there and needs a reason.
	Evidence []Line `json:"evidence"`
	// Violations are why it does not stand.
	Violations []string `json:"violations,omitempty"`
}

// Line is something that stays, who brings it, and why it is harmless.
type Line struct {
	// Kind is "package", "function", "open" or "entry".
	Kind string `json:"kind"`
	What string `json:"what"`
	By   string `json:"by,omitempty"`
	Why  string `json:"why"`
}

// Run audits. An error means that the binary could not be read at all, or that
// ctx is done.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &Report{Schema: Schema, Differences: []string{}}
	if err := r.binary(o); err != nil {
		return nil, err
	}
	deps, err := imports.ParseDeps(imports.DepsFile, strings.NewReader(policy.Deps))
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(o.Binary)
	if err != nil {
		return nil, fmt.Errorf("reading how %s was built: %w", o.Binary, err)
	}
	r.build(info, deps)
	read, err := symbols.Read(o.Binary)
	if err != nil {
		why := err.Error()
		for _, name := range []string{"imports", "symbols", "kernel"} {
			r.Walls = append(r.Walls, Wall{Name: name, Verdict: CannotTell, Summary: why, Evidence: []Line{}})
		}
	} else {
		r.Binary.Stripped = read.Stripped
		r.Walls = []Wall{importsWall(read, info, deps), symbolsWall(read), kernelWall(read)}
	}
	if o.Source != "" {
		r.compare(o.Source)
	}
	if o.Canary != "" {
		if r.Canary, err = runCanary(ctx, o.Canary); err != nil {
			return nil, err
		}
	}
	r.judge()
	return r, nil
}

func (r *Report) binary(o Options) error {
	f, err := os.Open(o.Binary)
	if err != nil {
		return fmt.Errorf("reading the analyser: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return fmt.Errorf("reading the analyser: %w", err)
	}
	r.Binary = Binary{Path: o.Binary, SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n, Expected: strings.TrimPrefix(o.Expected, "sha256:")}
	if r.Binary.Expected != "" && r.Binary.Expected != r.Binary.SHA256 {
		r.differ("the digest is not the one of the analyser that this reach starts, " + r.Binary.Expected)
	}
	return nil
}

func (r *Report) differ(what string) { r.Differences = append(r.Differences, what) }

// build notes how the binary was built and of what.
func (r *Report) build(info *buildinfo.BuildInfo, deps *imports.Deps) {
	r.Binary.Go, r.Binary.Main, r.Binary.Settings = info.GoVersion, info.Path, map[string]string{}
	for _, s := range info.Settings {
		r.Binary.Settings[s.Key] = s.Value
	}
	for _, want := range []struct{ key, value string }{{"CGO_ENABLED", "0"}, {"-trimpath", "true"}, {"-tags", imports.Tags}} {
		if got := r.Binary.Settings[want.key]; got != want.value {
			r.differ(fmt.Sprintf("built with %s=%s, not %s", want.key, got, want.value))
		}
	}
	r.Modules = []Module{}
	for _, d := range info.Deps {
		m := Module{Path: d.Path, Version: d.Version, Sum: d.Sum}
		if d.Replace != nil {
			m.Edited = d.Replace.Path
			m.Sum = d.Replace.Sum
		}
		if g := group(deps, "module "+d.Path); g != nil {
			m.Why = g.Reason
		} else {
			r.differ("linked from " + d.Path + ", a module that the committed list does not hold")
		}
		r.Modules = append(r.Modules, m)
	}
}

func group(deps *imports.Deps, title string) *imports.Group {
	i := slices.IndexFunc(deps.Groups, func(g imports.Group) bool { return g.Title == title })
	if i < 0 {
		return nil
	}
	return &deps.Groups[i]
}

// compare compares what is embedded with what stands in the source.
func (r *Report) compare(source string) {
	for _, f := range []struct{ file, embedded string }{
		{imports.PolicyFile, policy.Imports}, {imports.DepsFile, policy.Deps}, {symbols.PolicyFile, policy.Symbols},
	} {
		content, err := os.ReadFile(source + "/" + f.file)
		switch {
		case err != nil:
			r.differ("the source cannot be compared: " + err.Error())
		case string(content) != f.embedded:
			r.differ(f.file + " of the source is not the one that this reach was built with")
		}
	}
}

// judge takes the worst of everything.
func (r *Report) judge() {
	r.Verdict = Clean
	for _, w := range r.Walls {
		if w.Verdict == CannotTell && r.Verdict == Clean {
			r.Verdict = CannotTell
		}
	}
	for _, w := range r.Walls {
		if w.Verdict == Violation {
			r.Verdict = Violation
		}
	}
	if len(r.Differences) > 0 {
		r.Verdict = Violation
	}
	if c := r.Canary; c != nil && r.Verdict != Violation {
		switch {
		case c.Escaped > 0:
			r.Verdict = Violation
		case c.Unclear > 0:
			r.Verdict = CannotTell
		}
	}
}
