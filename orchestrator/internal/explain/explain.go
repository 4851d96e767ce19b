// Package explain shows why an object is what it is: the analyser's answer as a
// JSON document and as text.
package explain

import (
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/objectname"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Schema names the form of the document.
const Schema = "reach.explain/v1"

// Explanation is the document.
type Explanation struct {
	Schema string `json:"schema"`
	Commit string `json:"commit"`
	// Names is "alias" or "real".
	Names  string `json:"names"`
	Object Object `json:"object"`
	// Field is the field that was asked for; empty for all that something other
	// than the object's own document set.
	Field string `json:"field"`
	// Contents is how many different contents the builds yield.
	Contents int     `json:"contents"`
	Builds   []Build `json:"builds"`
}

// Object names the object.
type Object struct {
	Group     string   `json:"group"`
	Version   string   `json:"version"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Clusters  []string `json:"clusters"`
}

// String is the object as objectname.Parse reads it.
func (o Object) String() string {
	return objectname.Name{
		Kind: o.Kind, Group: o.Group, HasGroup: o.Group != "", Namespace: o.Namespace, HasNamespace: o.Namespace != "", Name: o.Name,
	}.String()
}

// Build is one way in which the object comes about.
type Build struct {
	Content  int       `json:"content"`
	Landings []Landing `json:"landings"`
	Steps    []Hop     `json:"steps"`
	Traced   bool      `json:"traced"`
	// Form is "built"; "kustomized", when what comes after kustomize fails; or
	// "as_written", when the build fails before it has objects.
	Form string `json:"form"`
	// Failure is why the build fails; left out when it does not.
	Failure       *Failure `json:"failure,omitempty"`
	Fields        []Field  `json:"fields"`
	FieldsOmitted int      `json:"fields_omitted"`
}

// Failure is why a build yields nothing, and the line to look at.
type Failure struct {
	Message string `json:"message"`
	Path    string `json:"path"`
	Line    int32  `json:"line"`
}

// Landing is a cluster that gets the build, with the way from the root.
type Landing struct {
	Cluster           string `json:"cluster"`
	ControllerCluster string `json:"controller_cluster"`
	Controller        string `json:"controller"`
	Class             string `json:"class"`
	State             string `json:"state"`
	Reason            string `json:"reason"`
	Detail            string `json:"detail"`
	Chain             []Hop  `json:"chain"`
}

// Hop is one step.
type Hop struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Path    string `json:"path"`
	Line    int32  `json:"line"`
	Cluster string `json:"cluster"`
}

// Field is a field with what set it. Value is null when it is gone.
type Field struct {
	Path       string       `json:"path"`
	Value      *Value       `json:"value"`
	By         Origin       `json:"by"`
	Overridden []Overridden `json:"overridden"`
}

// Value is a value as far as it may be shown.
type Value struct {
	Text            string `json:"text"`
	Type            string `json:"type"`
	Secret          bool   `json:"secret"`
	UnknownVariable string `json:"unknown_variable"`
	Truncated       bool   `json:"truncated"`
}

// Origin is what set a value.
type Origin struct {
	Kind      string     `json:"kind"`
	What      string     `json:"what"`
	Path      string     `json:"path"`
	Line      int32      `json:"line"`
	Variables []Variable `json:"variables"`
}

// Variable is one that a substitution used.
type Variable struct {
	Name   string `json:"name"`
	From   string `json:"from"`
	Path   string `json:"path"`
	Line   int32  `json:"line"`
	Secret bool   `json:"secret"`
}

// Overridden is a value that was there before.
type Overridden struct {
	Value Value  `json:"value"`
	By    Origin `json:"by"`
}

// From is the document for an answer to a question about a field; replace is applied to everything that may
// hold a name.
func From(m *reachv1.ExplainResponse, field, names string, replace func(string) string) *Explanation {
	r := renamer(replace)
	out := &Explanation{
		Schema: Schema, Commit: m.GetHeader().GetCommit(), Names: names,
		Object: r.object(m.GetObject()), Field: r(field), Contents: int(m.GetContents()), Builds: []Build{},
	}
	for _, b := range m.GetBuilds() {
		out.Builds = append(out.Builds, r.build(b))
	}
	return out
}

// Candidates are the objects that a query may mean.
func Candidates(m *reachv1.ExplainResponse, replace func(string) string) []Object {
	r := renamer(replace)
	var out []Object
	for _, c := range m.GetCandidates() {
		out = append(out, r.object(c))
	}
	return out
}

// renamer replaces names.
type renamer func(string) string

func (r renamer) object(m *reachv1.ObjectCandidate) Object {
	o := Object{
		Group: r(m.GetGroup()), Version: r(m.GetVersion()), Kind: r(m.GetKind()), Namespace: r(m.GetNamespace()), Name: r(m.GetName()),
		Clusters: []string{},
	}
	for _, c := range m.GetClusters() {
		o.Clusters = append(o.Clusters, r(c))
	}
	return o
}

func (r renamer) build(m *reachv1.ObjectBuild) Build {
	b := Build{
		Content: int(m.GetContent()), Landings: []Landing{}, Steps: r.hops(m.GetSteps()), Traced: m.GetTraced(),
		Fields: []Field{}, FieldsOmitted: int(m.GetFieldsOmitted()), Form: word(m.GetForm().String(), "OBJECT_FORM_"),
	}
	if f := m.GetFailure(); f != nil {
		b.Failure = &Failure{r(f.GetMessage()), r(f.GetPath()), f.GetLine()}
	}
	for _, l := range m.GetLandings() {
		b.Landings = append(b.Landings, Landing{
			Cluster: r(l.GetCluster()), ControllerCluster: r(l.GetControllerCluster()), Controller: r(l.GetController()),
			Class: word(l.GetClass().String(), "CLASS_"), State: word(l.GetState().String(), "STATE_"),
			Reason: l.GetReason(), Detail: r(l.GetDetail()), Chain: r.hops(l.GetChain()),
		})
	}
	for _, f := range m.GetFields() {
		field := Field{Path: r(f.GetPath()), By: r.origin(f.GetBy()), Overridden: []Overridden{}}
		if v := f.GetValue(); v != nil {
			value := r.value(v)
			field.Value = &value
		}
		for _, o := range f.GetOverridden() {
			field.Overridden = append(field.Overridden, Overridden{r.value(o.GetValue()), r.origin(o.GetBy())})
		}
		b.Fields = append(b.Fields, field)
	}
	return b
}

func (r renamer) hops(in []*reachv1.Hop) []Hop {
	out := []Hop{}
	for _, h := range in {
		out = append(out, Hop{Kind: h.GetKind(), Name: r(h.GetName()), Path: r(h.GetPath()), Line: h.GetLine(), Cluster: r(h.GetCluster())})
	}
	return out
}

func (r renamer) value(m *reachv1.FieldValue) Value {
	return Value{
		Text: r(m.GetText()), Type: m.GetType(), Secret: m.GetSecret(), UnknownVariable: r(m.GetUnknownVariable()), Truncated: m.GetTruncated(),
	}
}

func (r renamer) origin(m *reachv1.ValueOrigin) Origin {
	o := Origin{Kind: m.GetKind(), What: m.GetWhat(), Path: r(m.GetPath()), Line: m.GetLine(), Variables: []Variable{}}
	for _, v := range m.GetVariables() {
		o.Variables = append(o.Variables, Variable{
			Name: r(v.GetName()), From: r(v.GetFrom()), Path: r(v.GetPath()), Line: v.GetLine(), Secret: v.GetSecret(),
		})
	}
	return o
}

// word is the value of an enumeration as the report writes it.
func word(name, prefix string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
