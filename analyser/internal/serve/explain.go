package serve

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gitops-reach/reach/analyser/internal/census"
	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/explanation"
	"github.com/gitops-reach/reach/analyser/internal/fieldpath"
	"github.com/gitops-reach/reach/analyser/internal/platform"
	"github.com/gitops-reach/reach/analyser/internal/position"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Explain explains one object of a commit.
func (s *Service) Explain(ctx context.Context, m *reachv1.ExplainRequest) (*reachv1.ExplainResponse, error) {
	q, err := query(m)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, clean(err.Error()))
	}
	o, err := s.open(ctx, m.GetCensus(), func(int) {})
	if err != nil {
		return nil, statusOf(err)
	}
	answer, err := census.Explain(ctx, o.snapshot, o.request, q)
	if err != nil {
		return nil, statusOf(err)
	}
	out := &reachv1.ExplainResponse{Header: o.header, Clusters: clusters(answer.Clusters), Match: reachv1.ObjectMatch_OBJECT_MATCH_ONE}
	switch e := answer.Explanation; {
	case e != nil:
		out.Object, out.Builds, out.Contents = explained(e)
	case answer.Ambiguous:
		out.Match = reachv1.ObjectMatch_OBJECT_MATCH_SEVERAL
	default:
		out.Match = reachv1.ObjectMatch_OBJECT_MATCH_NONE
	}
	for _, c := range answer.Candidates {
		out.Candidates = append(out.Candidates, candidate(c))
	}
	if n := proto.Size(out); n > reachv1.MaxResponseBytes-slack {
		return nil, status.Errorf(codes.ResourceExhausted, "the explanation has %d bytes, which is more than a message may have: ask for one field or one cluster", n)
	}
	return out, nil
}

// slack is what a message has beside its content.
const slack = 1 << 10

// query reads what is asked.
func query(m *reachv1.ExplainRequest) (explanation.Query, error) {
	o := m.GetObject()
	if o.GetKind() == "" || o.GetName() == "" {
		return explanation.Query{}, status.Error(codes.InvalidArgument, "the query needs a kind and a name")
	}
	q := explanation.Query{
		Kind: o.GetKind(), Group: o.GetGroup(), HasGroup: o.Group != nil, Namespace: o.GetNamespace(), HasNamespace: o.Namespace != nil,
		Name: o.GetName(), Cluster: cluster.Name(o.GetCluster()),
	}
	var err error
	if m.GetField() != "" {
		q.Field, err = fieldpath.Parse(m.GetField())
	}
	return q, err
}

func candidate(c explanation.Candidate) *reachv1.ObjectCandidate {
	out := &reachv1.ObjectCandidate{
		Group: clean(c.Ref.Group), Version: clean(c.Ref.Version), Kind: clean(c.Ref.Kind),
		Namespace: clean(c.Ref.Namespace), Name: clean(c.Ref.Name),
	}
	for _, n := range c.Clusters {
		out.Clusters = append(out.Clusters, string(n))
	}
	return out
}

func explained(e *explanation.Explanation) (*reachv1.ObjectCandidate, []*reachv1.ObjectBuild, int32) {
	c := explanation.Candidate{Ref: e.Ref}
	seen := map[cluster.Name]bool{}
	var builds []*reachv1.ObjectBuild
	for _, b := range e.Builds {
		m := &reachv1.ObjectBuild{Content: int32(b.Content), Steps: chain(b.Steps), FieldsOmitted: int32(b.Omitted), Traced: b.Traced, Form: forms[b.Form]}
		if f := b.Failure; f != nil {
			m.Failure = &reachv1.BuildFailure{Message: clean(f.Message)}
			m.Failure.Path, m.Failure.Line = place(f.At)
		}
		for _, l := range b.Landings {
			if !seen[l.Cluster] {
				seen[l.Cluster] = true
				c.Clusters = append(c.Clusters, l.Cluster)
			}
			m.Landings = append(m.Landings, &reachv1.Landing{
				Cluster: string(l.Cluster), ControllerCluster: string(l.ControllerCluster), Controller: clean(l.Controller),
				Class: classes[l.Class], State: states[l.State], Reason: l.Reason, Detail: clean(l.Detail), Chain: chain(l.Chain),
			})
		}
		for _, f := range b.Fields {
			m.Fields = append(m.Fields, fieldOrigin(f))
		}
		builds = append(builds, m)
	}
	return candidate(c), builds, int32(e.Contents)
}

var forms = map[explanation.Form]reachv1.ObjectForm{
	explanation.Built: reachv1.ObjectForm_OBJECT_FORM_BUILT, explanation.Kustomized: reachv1.ObjectForm_OBJECT_FORM_KUSTOMIZED,
	explanation.AsWritten: reachv1.ObjectForm_OBJECT_FORM_AS_WRITTEN,
}

func fieldOrigin(f explanation.Field) *reachv1.FieldOrigin {
	m := &reachv1.FieldOrigin{Path: clean(f.Path), By: valueOrigin(f.By)}
	if f.Value != nil {
		m.Value = fieldValue(*f.Value)
	}
	for _, o := range f.Overridden {
		m.Overridden = append(m.Overridden, &reachv1.OverriddenValue{Value: fieldValue(o.Value), By: valueOrigin(o.By)})
	}
	return m
}

func fieldValue(v explanation.Value) *reachv1.FieldValue {
	return &reachv1.FieldValue{
		Text: clean(v.Text), Secret: v.Secret, UnknownVariable: clean(v.Unknown), Truncated: v.Truncated, Type: v.Tag,
	}
}

func valueOrigin(s explanation.Setter) *reachv1.ValueOrigin {
	m := &reachv1.ValueOrigin{Kind: s.Kind, What: s.What}
	m.Path, m.Line = place(s.At)
	for _, v := range s.Variables {
		o := &reachv1.VariableOrigin{Name: clean(v.Name), From: clean(v.From), Secret: v.Secret}
		o.Path, o.Line = place(v.At)
		m.Variables = append(m.Variables, o)
	}
	return m
}

func chain(in []explanation.Hop) []*reachv1.Hop {
	var out []*reachv1.Hop
	for _, h := range in {
		m := &reachv1.Hop{Kind: h.Kind, Name: clean(h.Name), Cluster: string(h.Cluster)}
		m.Path, m.Line = place(h.At)
		out = append(out, m)
	}
	return out
}

func place(p position.Position) (path string, line int32) { return clean(p.Path), int32(p.Line) }

func clusters(in []census.Cluster) []*reachv1.Cluster {
	var out []*reachv1.Cluster
	for i := range in {
		c := &in[i]
		m := &reachv1.Cluster{
			Name: string(c.Name), Kubeconfig: clean(c.KubeConfig), ControllerCluster: string(c.Controller), RunsFlux: c.RunsFlux,
			Flavour: platform.Unknown, Platform: platform.Unknown, Evidence: clean(c.Evidence), Controllers: c.Controllers,
		}
		for _, r := range c.References {
			m.References = append(m.References, &reachv1.ClusterReference{ControllerCluster: string(r.Controller), Kubeconfig: clean(r.KubeConfig)})
		}
		seen(m, c)
		out = append(out, m)
	}
	return out
}
