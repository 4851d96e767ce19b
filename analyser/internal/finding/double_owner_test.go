package finding

import (
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/cluster"
	"github.com/gitops-reach/reach/analyser/internal/controller"
	"github.com/gitops-reach/reach/analyser/internal/kustomize"
	"github.com/gitops-reach/reach/analyser/internal/object"
	"github.com/gitops-reach/reach/analyser/internal/placement"
	"github.com/gitops-reach/reach/analyser/internal/position"
)

// owner is a Sync that applies an object.
type owner struct {
	name      string
	on        cluster.Name
	namespace string
	state     placement.State
	blocked   bool
	kept      bool
	unknown   bool
}

func owners(list ...owner) *Model {
	m := &Model{Positions: &position.Set{}, Scope: func(_ cluster.Name, k object.GroupKind) object.Scope {
		if k.Kind == "Issuer" {
			return object.ClusterScoped
		}
		return object.Namespaced
	}}
	for _, o := range list {
		x := &kustomize.Object{Ref: object.Ref{Group: "cert.example", Version: "v1", Kind: "Issuer", Namespace: o.namespace, Name: "le"}, UnknownName: o.unknown}
		a := &placement.Applied{
			Cluster: o.on, Target: o.on, Sync: &controller.Sync{Object: object.Ref{Kind: "Kustomization", Namespace: "flux-system", Name: o.name}},
			Outcome: placement.Outcome{State: o.state}, Objects: []*kustomize.Object{x}, Kept: map[*kustomize.Object]bool{x: o.kept},
		}
		if o.blocked {
			a.Blocked = &a.Outcome
		}
		m.Applied = append(m.Applied, a)
		m.Objects = append(m.Objects, placement.Object{Ref: x.Ref, Cluster: o.on, ControllerCluster: o.on, Applied: a, Object: x})
	}
	return m
}

// TestDoubleOwner: what counts as two owners of one object, and how bad it is.
func TestDoubleOwner(t *testing.T) {
	r, s := placement.Resolved, placement.Suspended
	for _, c := range []struct {
		what     string
		owners   []owner
		count    int // 0 for no finding
		severity Severity
	}{
		{"two", []owner{{name: "a", on: "x", state: r}, {name: "b", on: "x", state: r}}, 2, Error},
		{"one that is suspended: the hand-over", []owner{{name: "a", on: "x", state: r}, {name: "b", on: "x", state: s}}, 2, Warning},
		{"both suspended", []owner{{name: "a", on: "x", state: s}, {name: "b", on: "x", state: s}}, 2, Warning},
		{"two beside one that is suspended", []owner{{name: "a", on: "x", state: r}, {name: "b", on: "x", state: s}, {name: "c", on: "x", state: r}}, 3, Error},
		{"two clusters", []owner{{name: "a", on: "x", state: r}, {name: "b", on: "y", state: r}}, 0, 0},
		{"one twice", []owner{{name: "a", on: "x", state: r}, {name: "a", on: "x", state: r}}, 0, 0},
		{"two spellings of a cluster-scoped object", []owner{{name: "a", on: "x", state: r, namespace: "p"}, {name: "b", on: "x", state: r}}, 2, Error},
		{"a suspended one that is blocked", []owner{{name: "a", on: "x", state: r}, {name: "b", on: "x", state: s, blocked: true}}, 0, 0},
		{"a name that ends in an unknown hash", []owner{{name: "a", on: "x", state: r, unknown: true}, {name: "b", on: "x", state: r, unknown: true}}, 0, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := owners(c.owners...)
			got, _ := Run(m, []*Rule{doubleOwner})
			if c.count == 0 {
				if len(got) > 0 {
					t.Errorf("%+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Count != c.count || got[0].Severity != c.severity || got[0].Namespace != "" {
				t.Errorf("%+v, want %d owners, severity %d", got, c.count, c.severity)
			}
		})
	}
}

// TestDoubleOwnerPruning: only where some forbid to prune and others do not does
// it matter which of them applied last.
func TestDoubleOwnerPruning(t *testing.T) {
	for _, c := range []struct{ a, b, said bool }{{false, false, false}, {true, false, true}, {true, true, false}} {
		got, _ := Run(owners(owner{name: "a", on: "x", state: placement.Resolved, kept: c.a}, owner{name: "b", on: "x", state: placement.Resolved, kept: c.b}), []*Rule{doubleOwner})
		const sentence = " Only some of them forbid pruning; what the object says at that moment decides, and that is what the last of them applied."
		m := got[0].Message
		if said := len(m) > len(sentence) && m[len(m)-len(sentence):] == sentence; said != c.said {
			t.Errorf("%+v: %s", c, m)
		}
	}
}
