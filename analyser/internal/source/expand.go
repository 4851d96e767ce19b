package source

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/analyser/internal/controller"
)

var (
	captureName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })
	capture      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\\{([a-zA-Z0-9_]+)\\\}`) })
	labelValue   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`) })
	dnsSubdomain = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	})
)

// maxArtifacts bounds what a path pattern makes.
const maxArtifacts = 100_000

// Artifacts are the artifacts of an ArtifactGenerator: spec.artifacts as they
// are, or one set of them for each directory of a source that spec.pathPattern
// matches (upstream: source-watcher buildArtifactRequests). Names get the
// captured text in lower case, copy operations as it is. With a Problem
// nothing is generated, or what is generated cannot be told.
func Artifacts(g *controller.ArtifactGenerator, other Other) ([]controller.GeneratedArtifact, *controller.Problem) {
	if g.PathPattern == "" {
		return g.Artifacts, nil
	}
	alias, pattern, ok := strings.Cut(strings.TrimPrefix(g.PathPattern, "@"), "/")
	ref, declared := g.Sources[alias]
	if !ok || !declared {
		return nil, problem("bad_path_pattern", "spec.pathPattern names the source alias %q, which is not declared", alias)
	}
	matcher, err := pathMatcher(pattern)
	if err != nil {
		return nil, err
	}
	v, uncertain := other(ref)
	switch {
	case v == nil && uncertain == nil:
		return nil, problem("source_unknown", "the artifact of %s is not known", ref)
	case v == nil:
		return nil, uncertain
	case uncertain == nil && len(v.Unknown) > 0:
		uncertain = v.Unknown[0].Problem
	}
	var out []controller.GeneratedArtifact
	made := map[string]string{}
	for _, dir := range directories(v) {
		m := matcher.FindStringSubmatch(dir)
		if m == nil {
			continue
		}
		raw, lower := map[string]string{}, map[string]string{}
		for i, name := range matcher.SubexpNames()[1:] {
			raw[name], lower[name] = m[i+1], strings.ToLower(m[i+1])
			if v := lower[name]; len(v) > 63 || !labelValue().MatchString(v) {
				return nil, problem("bad_path_pattern", "the directory %q gives {%s} a value that is no label value", dir, name)
			}
		}
		for _, a := range g.Artifacts {
			r, err := rendered(a, lower, raw)
			if err != nil {
				return nil, err
			}
			if len(r.Name) > 253 || !dnsSubdomain().MatchString(r.Name) {
				return nil, problem("bad_path_pattern", "the directory %q gives an artifact the name %q, which is not legal", dir, r.Name)
			}
			id := r.Namespace + "/" + r.Name
			if before, ok := made[id]; ok {
				return nil, problem("bad_path_pattern", "the directories %q and %q give an artifact the same name %q", before, dir, r.Name)
			}
			if made[id] = dir; len(out) == maxArtifacts {
				return nil, problem("limit", "spec.pathPattern makes too many artifacts")
			}
			out = append(out, r)
		}
	}
	return out, uncertain
}

// pathMatcher compiles "apps/{app}/envs/{env}".
func pathMatcher(pattern string) (*regexp.Regexp, *controller.Problem) {
	seen := map[string]bool{}
	if _, err := substitute(pattern, func(name string) (string, bool) {
		again := seen[name]
		seen[name] = true
		return "", !again
	}); err != nil {
		return nil, err
	}
	re, err := regexp.Compile("^" + capture().ReplaceAllString(regexp.QuoteMeta(pattern), `(?P<$1>[^/]+)`) + "$")
	if err != nil {
		return nil, problem("bad_path_pattern", "spec.pathPattern cannot be compiled")
	}
	return re, nil
}

// substitute replaces "{name}" by what value gives.
func substitute(s string, value func(string) (string, bool)) (string, *controller.Problem) {
	var b strings.Builder
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		name, rest, ok := strings.Cut(s[i+1:], "}")
		if s[i] == '}' || !ok || !captureName().MatchString(name) {
			return "", problem("bad_path_pattern", "%q has a malformed capture", s)
		}
		v, ok := value(name)
		if !ok {
			return "", problem("bad_path_pattern", "the capture {%s} is not defined, or defined twice", name)
		}
		b.WriteString(v)
		s = rest
	}
}

func rendered(a controller.GeneratedArtifact, lower, raw map[string]string) (controller.GeneratedArtifact, *controller.Problem) {
	var first *controller.Problem
	fill := func(s string, values map[string]string) string {
		out, err := substitute(s, func(name string) (string, bool) {
			v, ok := values[name]
			return v, ok
		})
		if err != nil && first == nil {
			first = err
		}
		return out
	}
	a.Name, a.Namespace = fill(a.Name, lower), fill(a.Namespace, lower)
	a.Copy = slices.Clone(a.Copy)
	for i, c := range a.Copy {
		a.Copy[i].From, a.Copy[i].To = fill(c.From, raw), fill(c.To, raw)
	}
	return a, first
}

// directories lists the directories of a view in ascending order, except the
// root.
func directories(v *controller.View) []string {
	seen := map[string]bool{}
	for _, e := range v.Entries() {
		for i := len(e.Path) - 1; i > 0; i-- {
			if e.Path[i] != '/' {
				continue
			}
			if seen[e.Path[:i]] {
				break
			}
			seen[e.Path[:i]] = true
		}
	}
	return slices.Sorted(keys(seen))
}
