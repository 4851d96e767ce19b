// Package explanation says why an object is what it is: by which way it comes to
// its clusters, which step of its build set which value, and which value that
// overrode.
//
// It takes what a census found and traced as plain values and reads nothing
// itself. Values of Secrets are never part of what it returns, see Value.
package explanation

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/packed"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// Query is what is asked.
type Query struct {
	// Kind, compared without regard to case.
	Kind string
	// Group, when HasGroup; "" is the core group.
	Group    string
	HasGroup bool
	// Namespace, when HasNamespace; "" is none.
	Namespace    string
	HasNamespace bool
	Name         string
	// Cluster on which the object is; empty for all.
	Cluster cluster.Name
	// Field is what is asked of it; nil for everything that something other
	// than its own document set.
	Field fieldpath.Path
}

// Matches reports that an object on a cluster is what is asked for.
func (q Query) Matches(r object.Ref, on cluster.Name) bool {
	return strings.EqualFold(q.Kind, r.Kind) && q.Name == r.Name &&
		(!q.HasGroup || q.Group == r.Group) && (!q.HasNamespace || q.Namespace == r.Namespace) &&
		(q.Cluster == "" || q.Cluster == on)
}

// Source is where the value of a variable is written.
type Source struct {
	// From is "ConfigMap namespace/name", or "Kustomization namespace/name" for
	// one that the object itself declares.
	From string
	Pos  position.Pos
	// Secret variables have no value here.
	Secret bool
}

// Subject is an object on a cluster as one Sync applies it.
type Subject struct {
	Applied *placement.Applied
	// Object with its History when its build could be traced.
	Object *kustomize.Object
	// Variables that the Sync substitutes, by name.
	Variables map[string]Source
	// Class of the object.
	Class placement.Class
	// Blocked says that it cannot be known to arrive.
	Blocked *placement.Outcome
	Form    Form
	// Failure is why the build fails, nil when it does not.
	Failure *kustomize.Failure
}

// Form is how far a build came with an object.
type Form string

// The forms of an object.
const (
	// Built: the build yields the object.
	Built Form = "built"
	// Kustomized: what comes after kustomize fails.
	Kustomized Form = "kustomized"
	// AsWritten: the build fails before it has objects.
	AsWritten Form = "as_written"
)

// Failure is why a build yields nothing, and the line to look at.
type Failure struct {
	Message string
	At      position.Position
}

// Explanation is the answer.
type Explanation struct {
	Ref    object.Ref
	Builds []Build
	// Contents is how many different contents the builds have.
	Contents int
}

// Build is one way in which the object comes about; several clusters may share
// it.
type Build struct {
	// Content numbers the contents of the object from 1: builds with one number
	// yield the same object; 0 for a build that fails.
	Content  int
	Landings []Landing
	// Steps of the build, from the outermost layer to the file.
	Steps []Hop
	// Fields that were asked for, in the order of the text.
	Fields []Field
	// Omitted is how many more there are.
	Omitted int
	// Traced is false when it cannot be said which step set what: the object is
	// made by another object, or the build fails and it is shown as written.
	Traced bool
	Form   Form
	// Failure is nil when the build does not fail.
	Failure *Failure
}

// Landing is a cluster that gets the build, and the way to it.
type Landing struct {
	Cluster, ControllerCluster cluster.Name
	Controller                 string
	Class                      placement.Class
	// Outcome of the Sync; of what blocks it, when something does.
	placement.Outcome
	// Chain from the root to the Sync that applies the object, and the
	// kubeConfig that leads to the cluster.
	Chain []Hop
}

// Hop is one step of a chain.
type Hop struct {
	// Kind is "root", "kustomization", "kubeconfig", "cluster", "file" or a
	// kustomize.StepKind.
	Kind    string
	At      position.Position
	Name    string
	Cluster cluster.Name
}

// Field is a value of the object, or one that was taken away.
type Field struct {
	Path string
	// Value is nil when the field is not there any more.
	Value *Value
	// By is what set the value, or took it away.
	By Setter
	// Overridden are the values before, the last one first.
	Overridden []Overridden
}

// Setter is what set a value.
type Setter struct {
	// Kind is "document", "patch", "generator", "transformer", "substitution" or
	// "metadata".
	Kind string
	// What is the field that asked for it, "images"; empty for documents.
	What string
	At   position.Position
	// Variables that a substitution used.
	Variables []Variable
}

// Variable is one that a substitution used.
type Variable struct {
	Name string
	// From and At say where its value is written; From is empty when that is not
	// known: the default in the text, or nothing in the repository.
	From string
	At   position.Position
	// Secret says that it comes from a Secret.
	Secret bool
}

// Overridden is a value that was overridden.
type Overridden struct {
	Value Value
	By    Setter
}

// maxFields bounds the fields of a build that are listed.
const maxFields = 2000

// Of explains the object that the subjects have in common. Subjects come in the
// order of their landings. secrets are values that must not be shown.
func Of(q Query, subjects []Subject, positions *position.Set, secrets *Secrets) *Explanation {
	out := &Explanation{Ref: subjects[0].Object.Ref}
	contents := map[[32]byte]int{}
	builds := map[string]int{}
	for _, s := range subjects {
		e := explainer{Subject: s, content: s.Object.Tree.Open(), positions: positions, secrets: secrets}
		sum := content(e.content.Node)
		// A build that fails yields no content, whatever is shown.
		if contents[sum] == 0 && s.Failure == nil {
			contents[sum] = len(contents) + 1
		}
		b := Build{Steps: e.steps(), Traced: s.Object.History != nil, Form: s.Form}
		if s.Failure == nil {
			b.Content = contents[sum]
		} else {
			b.Failure = &Failure{s.Failure.Message, e.at(s.Failure.Pos)}
		}
		b.Fields = e.fields(q.Field)
		if n := len(b.Fields) - maxFields; n > 0 {
			b.Fields, b.Omitted = b.Fields[:maxFields], n
		}
		key := fmt.Sprintf("%x %v %v %d %t %s %v", sum, b.Steps, describe(b.Fields), b.Omitted, b.Traced, b.Form, s.Failure)
		i, ok := builds[key]
		if !ok {
			i = len(out.Builds)
			builds[key] = i
			out.Builds = append(out.Builds, b)
		}
		out.Builds[i].Landings = append(out.Builds[i].Landings, e.landing())
	}
	out.Contents = len(contents)
	return out
}

// describe writes fields out for comparison.
func describe(fields []Field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%q %v %v %v\n", f.Path, f.Value, f.By, f.Overridden)
	}
	return b.String()
}

// content is equal for nodes that say the same.
func content(n *yaml.Node) [32]byte {
	h := sha256.New()
	var write func(n *yaml.Node)
	write = func(n *yaml.Node) {
		tag := ""
		if n.Kind == yaml.ScalarNode {
			tag = n.ShortTag()
		}
		fmt.Fprintf(h, "%d %s %d:%s %d;", n.Kind, tag, len(n.Value), n.Value, len(n.Content))
		if n.Kind != yaml.MappingNode {
			for _, c := range n.Content {
				write(c)
			}
			return
		}
		order := make([]int, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			order = append(order, i)
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(n.Content[i].Value, n.Content[j].Value) })
		for _, i := range order {
			write(n.Content[i])
			write(n.Content[i+1])
		}
	}
	write(n)
	return [32]byte(h.Sum(nil))
}

// explainer explains one subject.
type explainer struct {
	Subject
	content   *packed.Content // of Object
	positions *position.Set
	secrets   *Secrets
}

func (e *explainer) at(p position.Pos) position.Position { return e.positions.Position(p) }

// landing is where the subject lands and how.
func (e *explainer) landing() Landing {
	a := e.Applied
	l := Landing{
		Cluster: a.Target, ControllerCluster: a.Cluster, Controller: a.Controller(), Class: e.Class, Outcome: a.Outcome,
	}
	if e.Blocked != nil {
		l.Outcome = *e.Blocked
	}
	var chain [][]Hop
	for n := 0; a != nil && n < maxChain; a, n = a.Parent, n+1 {
		var hops []Hop
		if a.Root != nil {
			hops = append(hops, Hop{Kind: "root", At: e.at(a.Root.Declared), Name: a.Root.DeclaredBy, Cluster: a.Root.Cluster})
		}
		hops = append(hops, Hop{Kind: "kustomization", At: e.at(a.Sync.Pos), Name: a.Controller(), Cluster: a.Cluster})
		if a.Object != nil && a.Parent != nil {
			for _, s := range slices.Backward(a.Object.Steps) {
				if at := e.at(s.Pos); s.Kind != kustomize.StepLayer && !at.IsZero() {
					hops = append(hops, Hop{Kind: string(s.Kind), At: at})
				}
			}
		}
		if ref := a.Sync.KubeConfig; ref != nil {
			name := ref.Kind + " " + ref.Namespace + "/" + ref.Name
			if ref.Key != "" {
				name += "#" + ref.Key
			}
			hops = append(hops, Hop{Kind: "kubeconfig", At: e.at(ref.Pos), Name: name, Cluster: a.Cluster})
		}
		chain = append(chain, hops)
	}
	slices.Reverse(chain)
	l.Chain = append(slices.Concat(chain...), Hop{Kind: "cluster", Name: string(e.Applied.Target), Cluster: e.Applied.Target})
	return l
}

// maxChain bounds the Syncs of a chain.
const maxChain = 1000

// steps are those of the build, from the outermost to the file.
func (e *explainer) steps() []Hop {
	var out []Hop
	for _, s := range slices.Backward(e.Object.Steps) {
		if at := e.at(s.Pos); !at.IsZero() {
			out = append(out, Hop{Kind: string(s.Kind), At: at})
		}
	}
	if at := e.at(e.Object.Origin); !at.IsZero() && e.Object.Written.Name != "" {
		h := Hop{Kind: "file", At: at}
		if w := e.Object.Written; w.Key() != e.Object.Ref.Key() {
			h.Name = w.String()
		}
		out = append(out, h)
	}
	return out
}

// fields are those that a query asks for.
func (e *explainer) fields(query fieldpath.Path) []Field {
	var out []Field
	fieldpath.Leaves(e.content.Node, func(p fieldpath.Path, key, n *yaml.Node) bool {
		r := e.record(n)
		if query == nil && r == nil && !e.unknown(n) || query != nil && !query.Covers(p) {
			return true
		}
		value := e.value(p, n, r != nil && r.Secret)
		f := Field{Path: e.path(p), Value: &value, By: e.written(n)}
		e.chain(&f, p, r)
		out = append(out, f)
		return true
	})
	if e.Object.History == nil {
		return out
	}
	for _, gone := range e.Object.History.Removed {
		if query != nil && !query.Covers(gone.Path) {
			continue
		}
		f := Field{Path: e.path(gone.Path)}
		e.chain(&f, gone.Path, gone.Record)
		out = append(out, f)
	}
	return out
}

func (e *explainer) record(n *yaml.Node) *kustomize.Record {
	if e.Object.History == nil {
		return nil
	}
	return e.Object.History.Values[n]
}

func (e *explainer) unknown(n *yaml.Node) bool {
	name, ok := e.content.Unknown[n]
	return ok && name != kustomize.Concealed
}

// chain fills in what set a field and what that overrode.
func (e *explainer) chain(f *Field, p fieldpath.Path, r *kustomize.Record) {
	if r == nil {
		return
	}
	f.By = e.setter(r)
	for n := 0; r != nil && r.Old != nil && n < maxChain; n++ {
		before := r.Before
		o := Overridden{Value: e.value(p, r.Old, before != nil && before.Secret), By: e.written(r.Old)}
		if before != nil {
			o.By = e.setter(before)
		}
		f.Overridden = append(f.Overridden, o)
		r = before
	}
}

// written is the document as what set a value.
func (e *explainer) written(n *yaml.Node) Setter {
	pos := position.Pos(n.Line)
	if e.unknown(n) {
		return Setter{Kind: "substitution", What: "substitute", At: e.at(cmp.Or(pos, e.Object.Origin)), Variables: e.variables([]string{e.content.Unknown[n]})}
	}
	return Setter{Kind: "document", At: e.at(cmp.Or(pos, e.Object.Origin))}
}

func (e *explainer) setter(r *kustomize.Record) Setter {
	return Setter{Kind: string(r.Kind), What: r.What, At: e.at(r.Pos), Variables: e.variables(r.Variables)}
}

func (e *explainer) variables(names []string) []Variable {
	var out []Variable
	for _, name := range names {
		v := Variable{Name: name}
		if s, ok := e.Variables[name]; ok {
			v.From, v.At, v.Secret = s.From, e.at(s.Pos), s.Secret
		}
		out = append(out, v)
	}
	return out
}
