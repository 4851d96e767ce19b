package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Asked reports whether anything was read of any cluster.
func (c *Census) Asked() bool {
	return slices.ContainsFunc(c.Clusters, func(c Cluster) bool { return len(c.Readings) > 0 })
}

// Words say which revision the controllers of a cluster reconcile, to follow its
// name; "" when nothing was read.
func (r *RevisionState) Words() string {
	if r == nil {
		return ""
	}
	all := r.Current + r.Differs + r.Unknown
	switch {
	case r.State == "" || all == 0:
		return ""
	case r.Current == all:
		return fmt.Sprintf("reconciles the commit that was read (%s)", Plural(all, "Kustomization"))
	case r.Unknown == all:
		return fmt.Sprintf("reconciles a revision that is not known (%s)", Plural(all, "Kustomization"))
	case r.Differs == all:
		return fmt.Sprintf("does not reconcile the commit that was read: %s", r.applied())
	}
	parts := []string{fmt.Sprintf("%d of %s reconcile the commit that was read", r.Current, Plural(all, "Kustomization"))}
	if r.Differs > 0 {
		parts = append(parts, fmt.Sprintf("%d another revision", r.Differs))
	}
	if r.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("of %d it is not known", r.Unknown))
	}
	return strings.Join(parts, ", ")
}

// applied lists the revisions that were applied, the most frequent first.
func (r *RevisionState) applied() string {
	const shown = 3
	var out []string
	all := slices.SortedFunc(maps.Keys(r.Applied), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Applied[b], r.Applied[a]), cmp.Compare(a, b))
	})
	for _, revision := range all[:min(shown, len(all))] {
		name := shortRevision(revision)
		if name == "" {
			name = "none yet"
		}
		out = append(out, fmt.Sprintf("%s (%d)", name, r.Applied[revision]))
	}
	if len(all) > shown {
		out = append(out, fmt.Sprintf("and %d more", len(all)-shown))
	}
	return strings.Join(out, ", ")
}

// shortRevision is "main@sha1:<hex>" with twelve digits of the hash.
func shortRevision(revision string) string {
	at := strings.LastIndexByte(revision, ':')
	if at < 0 || len(revision)-at-1 <= 12 {
		return revision
	}
	return revision[:at+13]
}

// failed are the outcomes of a reading that are a failure.
func (r Reading) failed() bool {
	switch r.Outcome {
	case "ok", "not_asked", "not_served", "not_found":
		return false
	}
	return true
}

// Failure is a way in which readings of a cluster failed.
type Failure struct {
	Outcome string
	// Kinds that were not read, sorted; "Kind.group in namespace".
	Kinds []string
	// Detail of the first of them.
	Detail string
}

// Failures are the readings of the cluster that failed, by outcome, the most
// frequent first.
func (c Cluster) Failures() []Failure {
	var out []Failure
	for _, r := range c.Readings {
		if !r.failed() {
			continue
		}
		i := slices.IndexFunc(out, func(f Failure) bool { return f.Outcome == r.Outcome })
		if i < 0 {
			i = len(out)
			out = append(out, Failure{Outcome: r.Outcome, Detail: r.Detail})
		}
		kind := r.Kind
		if r.Namespace != "" {
			kind += " in " + r.Namespace
		}
		out[i].Kinds = append(out[i].Kinds, kind)
	}
	slices.SortStableFunc(out, func(a, b Failure) int { return cmp.Compare(len(b.Kinds), len(a.Kinds)) })
	return out
}

// Read counts the readings that gave all there is.
func (c Cluster) Read() int {
	n := 0
	for _, r := range c.Readings {
		if r.Outcome == "ok" {
			n++
		}
	}
	return n
}

// Foreign reports whether nothing that Flux owns made the object, and it is no
// part of the system: it is what a person wants to see.
func (o *LiveObject) Foreign() bool {
	return o.Maker != "flux" && o.Maker != "owner" && o.Maker != "system"
}

// Ref names the object as people do: "Deployment web/app".
func (o *LiveObject) Ref() string {
	name := o.Name
	if name == "" {
		name = fmt.Sprintf("(%d)", o.Count)
	}
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// Makers are the words for who made a live object, in the order in which they are
// shown.
var Makers = []string{"flux", "owner", "flux_leftover", "helm", "argocd", "sveltos", "kubectl", "ci", "controller", "unknown", "system"}

// Plural is a number with its noun, which takes a plain s: "1 file", "3 files".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
