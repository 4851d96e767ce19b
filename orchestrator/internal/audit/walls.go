package audit

import (
	"debug/buildinfo"
	"fmt"
	"slices"
	"strings"

	"github.com/gitops-reach/reach/firewall/imports"
	"github.com/gitops-reach/reach/firewall/policy"
	"github.com/gitops-reach/reach/firewall/symbols"
)

const module = "github.com/gitops-reach/reach/"

// importsWall compares the packages of which a function was linked with the
// committed closure.
func importsWall(b *symbols.Binary, info *buildinfo.BuildInfo, deps *imports.Deps) Wall {
	w := Wall{Name: "imports", Verdict: Clean, Evidence: []Line{}}
	listed := map[string]bool{}
	for _, g := range deps.Groups {
		if !strings.HasPrefix(g.Title, "module ") {
			continue
		}
		for _, m := range g.Members {
			path, _, _ := strings.Cut(m, " ")
			listed[path] = true
		}
	}
	packages := b.Packages()
	for _, p := range packages {
		if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") || listed[p] {
			continue // of the standard library, or committed
		}
		if strings.HasPrefix(p, module+"analyser/") || strings.HasPrefix(p, module+"proto/") {
			continue
		}
		w.Violations = append(w.Violations, p+" is linked and not in the committed list")
	}
	for _, g := range deps.Groups {
		rest, ok := strings.CutPrefix(g.Title, "std ")
		if !ok {
			continue
		}
		std, by, _ := strings.Cut(rest, " by ")
		if slices.Contains(packages, std) {
			w.Evidence = append(w.Evidence, Line{Kind: "package", What: std, By: by, Why: g.Reason})
		}
	}
	w.Summary = fmt.Sprintf("code of %d packages is linked; each is of the standard library, of the analyser, or one of the %d committed with a reason", len(packages), len(listed))
	if info.Path != strings.TrimSuffix(module, "/")+"/analyser" {
		w.Violations = append(w.Violations, "the program is "+info.Path)
	}
	return w.close()
}

// symbolsWall judges the functions by the committed rules.
func symbolsWall(b *symbols.Binary) Wall {
	w := Wall{Name: "symbols", Verdict: CannotTell, Evidence: []Line{}}
	rules, err := symbols.ParseRules(symbols.PolicyFile, strings.NewReader(policy.Symbols))
	if err != nil {
		w.Summary = err.Error()
		return w
	}
	verdict, err := rules.Audit(b)
	if err != nil {
		w.Summary = err.Error()
		return w
	}
	w.Verdict = Clean
	for _, l := range verdict.Left {
		w.Evidence = append(w.Evidence, Line{Kind: "function", What: l.Function, By: l.Category, Why: l.Why})
	}
	for _, o := range verdict.Opens {
		w.Evidence = append(w.Evidence, Line{Kind: "open", What: o.Function, By: o.Caller, Why: "with " + o.Describe()})
	}
	for _, v := range verdict.Violations {
		w.Violations = append(w.Violations, v.String())
	}
	w.Summary = fmt.Sprintf("%d functions are linked; %d rules forbid what could act, %d functions that they meet are left with a reason, and each of %d calls that open files was disassembled: none can write",
		len(b.Functions), len(rules.Forbids), len(verdict.Left), len(verdict.Opens))
	return w.close()
}

// kernelWall finds the code that enters the kernel's walls and what calls it.
func kernelWall(b *symbols.Binary) Wall {
	w := Wall{Name: "kernel", Verdict: Clean, Evidence: []Line{}}
	var unseen []string
	for _, e := range []struct{ function, why string }{
		{module + "analyser/internal/sandbox.Enter", "seals the process before it serves"},
		{module + "analyser/internal/sandbox.enterLandlock", "Landlock: only the git directories, only for reading"},
		{module + "analyser/internal/sandbox.enterSeccomp", "seccomp: a list of system calls, any other ends the process"},
	} {
		if _, there := slices.BinarySearch(b.Functions, e.function); !there {
			w.Violations = append(w.Violations, e.function+" is not in the binary")
			continue
		}
		callers := b.Callers(e.function)
		if len(callers) == 0 {
			// The linker keeps what something calls: the code is not understood.
			w.Verdict, unseen = CannotTell, append(unseen, e.function)
			continue
		}
		w.Evidence = append(w.Evidence, Line{Kind: "entry", What: e.function, By: strings.Join(callers, ", "), Why: e.why})
	}
	w.Summary = "the program enters Landlock and seccomp before it reads a request; what stands on a kernel is in every report, and the canary tries it"
	if len(unseen) > 0 {
		w.Summary = "what calls " + strings.Join(unseen, ", ") + " cannot be read from the code"
	}
	return w.close()
}

func (w Wall) close() Wall {
	if len(w.Violations) > 0 {
		w.Verdict = Violation
	}
	return w
}
