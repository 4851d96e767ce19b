// Package config reads reach.yaml: what only the user knows about a repository.
// reach.example.yaml at the root of the project documents every key.
//
// Reading is strict: an unknown or repeated key, a value of another type, an
// alias or an anchor is an error that names file, line and remedy. Values are
// checked for what can be told without the repository.
package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/gitops-reach/reach/orchestrator/internal/bounded"
	"github.com/gitops-reach/reach/orchestrator/internal/rules"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Config is reach.yaml.
type Config struct {
	Roots    []Root    `yaml:"roots"`
	Clusters []Cluster `yaml:"clusters"`
	Spokes   []Spoke   `yaml:"spokes"`
	Sources  []Source  `yaml:"sources"`
	Aliases  Aliases   `yaml:"aliases"`
	Limits   Limits    `yaml:"limits"`
	// Suppressions hide findings that the team has accepted.
	Suppressions []Suppression `yaml:"suppressions"`
}

// Root declares where the reconciliation of a cluster starts.
type Root struct {
	Cluster   string `yaml:"cluster"`
	Path      string `yaml:"path"`
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	line      int
}

// Cluster states what is known about a cluster.
type Cluster struct {
	Name                       string          `yaml:"name"`
	Controllers                []string        `yaml:"controllers"`
	KustomizeControllerVersion string          `yaml:"kustomizeControllerVersion"`
	FeatureGates               map[string]bool `yaml:"featureGates"`
	line                       int
}

// Spoke names the cluster behind a kubeConfig reference. Exactly one of
// SecretRef and ConfigMapRef is set.
type Spoke struct {
	Cluster           string     `yaml:"cluster"`
	ControllerCluster string     `yaml:"controllerCluster"`
	SecretRef         *SecretRef `yaml:"secretRef"`
	ConfigMapRef      *SecretRef `yaml:"configMapRef"`
	line              int
}

// SecretRef is a reference to a Secret or ConfigMap.
type SecretRef struct {
	Namespace string `yaml:"namespace"`
	Name      string `yaml:"name"`
	Key       string `yaml:"key"`
	line      int
}

// Source says which source objects deliver this repository, or do not.
type Source struct {
	Kind         string `yaml:"kind"`
	Namespace    string `yaml:"namespace"`
	Name         string `yaml:"name"`
	URL          string `yaml:"url"`
	Ref          string `yaml:"ref"`
	Subdirectory string `yaml:"subdirectory"`
	Cluster      string `yaml:"cluster"`
	External     bool   `yaml:"external"`
	line         int
}

// Aliases are real names to aliases.
type Aliases struct {
	Clusters   map[string]string `yaml:"clusters"`
	Repository map[string]string `yaml:"repository"`
	Words      map[string]string `yaml:"words"`
}

// Suppression hides findings until a day. Path, Object and Cluster are patterns
// of which all that are given have to match; one of the first two is.
type Suppression struct {
	Rule    string `yaml:"rule"`
	Path    string `yaml:"path"`
	Object  string `yaml:"object"`
	Cluster string `yaml:"cluster"`
	Reason  string `yaml:"reason"`
	// Expires is the last day on which it holds.
	Expires Day `yaml:"expires"`
	line    int
}

// Line is that of the entry in the file.
func (s Suppression) Line() int { return s.line }

// Day is a date, YYYY-MM-DD.
type Day string

// Limits bound what a hostile repository can cost; zero is the default.
type Limits struct {
	MaxBlobBytes     int64 `yaml:"maxBlobBytes"`
	MaxFiles         int64 `yaml:"maxFiles"`
	MaxDocumentNodes int64 `yaml:"maxDocumentNodes"`
	MaxDocuments     int64 `yaml:"maxDocuments"`
	MaxLayerDepth    int64 `yaml:"maxLayerDepth"`
	MaxBuildObjects  int64 `yaml:"maxBuildObjects"`
}

// maxFile bounds a configuration file: 4 MiB.
const maxFile = 4 << 20

// Error is a mistake in a configuration file.
type Error struct {
	File string
	// Line counts from 1; 0 is the whole file.
	Line int
	// Message says what is wrong and what to do about it.
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Load reads and checks a configuration file. A mistake in it is an *Error.
func Load(name string) (*Config, error) {
	data, large, err := bounded.ReadFile(name, "the configuration", maxFile)
	if err != nil {
		return nil, err
	}
	if large {
		return nil, &Error{File: name, Message: fmt.Sprintf("larger than %d bytes, which no configuration is", maxFile)}
	}
	c, line, message := Parse(data)
	if message != "" {
		return nil, &Error{File: name, Line: line, Message: message}
	}
	return c, nil
}

// Parse reads and checks a configuration. message is what is wrong, at line, or
// empty.
func Parse(data []byte) (c *Config, line int, message string) {
	c = &Config{}
	if line, message := decode(data, c); message != "" {
		return nil, line, message
	}
	if line, message := c.check(); message != "" {
		return nil, line, message
	}
	return c, 0, ""
}

// check reports the first value that cannot be.
func (c *Config) check() (int, string) {
	for i := range c.Roots {
		r := &c.Roots[i]
		clean, problem := CleanPath(r.Path)
		switch {
		case r.Cluster == "":
			return r.line, "a root without cluster: add the name of the cluster that reconciles itself from the path"
		case r.Path == "":
			return r.line, `a root without path: add the directory, "." for the top of the repository`
		case problem != "":
			return r.line, problem
		case (r.Namespace == "") != (r.Name == ""):
			return r.line, "a root with only one of namespace and name: both name the Kustomization that reconciles the path, leave both out for flux-system/flux-system"
		}
		r.Path = clean
	}
	seen := map[string]int{}
	for _, s := range c.Clusters {
		if s.Name == "" {
			return s.line, "a cluster without name: add it"
		}
		if first, twice := seen[s.Name]; twice {
			return s.line, fmt.Sprintf("the cluster %q stands at line %d already: put both together", s.Name, first)
		}
		seen[s.Name] = s.line
	}
	for _, s := range c.Spokes {
		switch {
		case s.Cluster == "" || s.ControllerCluster == "":
			return s.line, "a spoke needs cluster, its name, and controllerCluster, whose controllers use the reference"
		case (s.SecretRef == nil) == (s.ConfigMapRef == nil):
			return s.line, "a spoke needs exactly one of secretRef and configMapRef"
		}
		if ref := s.ref(); ref.Name == "" || ref.Namespace == "" {
			return ref.line, "a reference needs namespace and name"
		}
	}
	if message := c.Aliases.check(); message != "" {
		return 0, message
	}
	return c.checkSources()
}

// check reports the first alias that would break lines or steer a terminal.
func (a Aliases) check() string {
	for _, part := range []map[string]string{a.Clusters, a.Repository, a.Words} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			if strings.ContainsFunc(part[name], func(r rune) bool { return !unicode.IsPrint(r) }) {
				return fmt.Sprintf("the alias of %q is %q: an alias holds only characters that can be printed", name, part[name])
			}
		}
	}
	return ""
}

func (c *Config) checkSources() (int, string) {
	for i := range c.Sources {
		s := &c.Sources[i]
		clean, problem := CleanPath(s.Subdirectory)
		switch {
		case s.Name == "" && s.URL == "":
			return s.line, "a source needs name or url, or it would match every source"
		case s.External && (s.Ref != "" || s.Subdirectory != ""):
			return s.line, "an external source has neither ref nor subdirectory in this repository: leave them out"
		case problem != "":
			return s.line, problem
		}
		s.Subdirectory = clean
	}
	return c.checkSuppressions()
}

func (c *Config) checkSuppressions() (int, string) {
	for _, s := range c.Suppressions {
		_, badDay := time.Parse(time.DateOnly, string(s.Expires))
		switch {
		case s.Rule == "":
			return s.line, "a suppression without rule: add the rule whose findings it hides, see reach rules"
		case !slices.ContainsFunc(rules.All(), func(r rules.Rule) bool { return doublestar.MatchUnvalidated(s.Rule, r.Rule) }):
			return s.line, fmt.Sprintf("there is no rule %q: reach rules lists them", s.Rule)
		case s.Path == "" && s.Object == "":
			return s.line, `a suppression needs path or object, patterns for what it hides; path: "**" hides all that the rule finds`
		case strings.TrimSpace(s.Reason) == "":
			return s.line, "a suppression without reason: say why the team accepts what it hides"
		case s.Expires == "":
			return s.line, "a suppression without expires: say until which day it holds, for example 2027-06-30"
		case badDay != nil:
			return s.line, fmt.Sprintf("expires %q is no day, for example 2027-06-30", s.Expires)
		}
		for _, pattern := range []string{s.Rule, s.Path, s.Object, s.Cluster} {
			if !doublestar.ValidatePattern(pattern) {
				return s.line, fmt.Sprintf("%q is no pattern: a bracket or a brace stays open", pattern)
			}
		}
	}
	return 0, ""
}

func (s Spoke) ref() *SecretRef {
	if s.SecretRef != nil {
		return s.SecretRef
	}
	return s.ConfigMapRef
}

// CleanPath cleans a path below the top of the repository; "" is the top. The
// problem, if any, says why it is none.
func CleanPath(p string) (clean, problem string) {
	switch {
	case strings.ContainsAny(p, "\x00\n"):
		return "", fmt.Sprintf("the path %q holds a line break or a zero byte", p)
	case strings.HasPrefix(p, "/"):
		return "", fmt.Sprintf("the path %q is absolute: paths start at the top of the repository", p)
	}
	clean = path.Clean(p)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Sprintf("the path %q leads out of the repository", p)
	}
	if clean == "." {
		clean = ""
	}
	return clean, ""
}

// ParseRoot reads CLUSTER=PATH[@NAMESPACE/NAME], the value of --root.
func ParseRoot(value string) (Root, error) {
	cluster, rest, ok := strings.Cut(value, "=")
	r := Root{Cluster: strings.TrimSpace(cluster), Path: rest}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		namespace, name, slash := strings.Cut(rest[at+1:], "/")
		if slash && namespace != "" && name != "" && !strings.Contains(name, "/") {
			r.Path, r.Namespace, r.Name = rest[:at], namespace, name
		}
	}
	if !ok || r.Cluster == "" || r.Path == "" {
		return Root{}, fmt.Errorf(`--root %q is not CLUSTER=PATH or CLUSTER=PATH@NAMESPACE/NAME, for example --root hub=clusters/hub`, value)
	}
	clean, problem := CleanPath(r.Path)
	if problem != "" {
		return Root{}, fmt.Errorf("--root %q: %s", value, problem)
	}
	r.Path = clean
	return r, nil
}

// Request is what the configuration and further roots say to the analyser.
func (c *Config) Request(roots ...Root) *reachv1.CensusRequest {
	req := &reachv1.CensusRequest{Limits: &reachv1.Limits{
		MaxBlobBytes: c.Limits.MaxBlobBytes, MaxFiles: c.Limits.MaxFiles,
		MaxDocumentNodes: c.Limits.MaxDocumentNodes, MaxDocuments: c.Limits.MaxDocuments,
		MaxLayerDepth: c.Limits.MaxLayerDepth, MaxBuildObjects: c.Limits.MaxBuildObjects,
	}}
	for i, r := range slices.Concat(c.Roots, roots) {
		by := "config"
		if i >= len(c.Roots) {
			by = "flag"
		}
		req.Roots = append(req.Roots, &reachv1.Root{
			Cluster: r.Cluster, Path: r.Path, Namespace: r.Namespace, Name: r.Name, DeclaredBy: by,
		})
	}
	for _, s := range c.Sources {
		req.Sources = append(req.Sources, &reachv1.SourceMapping{
			Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Url: s.URL, Ref: s.Ref,
			Subdirectory: s.Subdirectory, Cluster: s.Cluster, External: s.External,
		})
	}
	for _, s := range c.Spokes {
		kind := "Secret"
		if s.ConfigMapRef != nil {
			kind = "ConfigMap"
		}
		req.Spokes = append(req.Spokes, &reachv1.SpokeMapping{
			ControllerCluster: s.ControllerCluster, Kind: kind, Namespace: s.ref().Namespace, Name: s.ref().Name,
			Key: s.ref().Key, Cluster: s.Cluster,
		})
	}
	for _, s := range c.Clusters {
		req.Clusters = append(req.Clusters, &reachv1.ClusterStatement{
			Cluster: s.Name, Controllers: s.Controllers,
			KustomizeControllerVersion: s.KustomizeControllerVersion, FeatureGates: s.FeatureGates,
		})
	}
	return req
}
