package kustomize

import (
	"testing"

	"github.com/gitops-reach/reach/analyser/internal/document"
	"github.com/gitops-reach/reach/analyser/internal/position"
	"github.com/gitops-reach/reach/analyser/internal/snapshot"
)

// TestRemoteBasesOfOneController builds a layer with a base from elsewhere for two
// controllers, of which one forbids such bases: neither gets what the other was given.
func TestRemoteBasesOfOneController(t *testing.T) {
	snap := snapshot.FromMap(map[string]string{
		"app/kustomization.yaml":  "resources: [../base]\n",
		"base/kustomization.yaml": "resources: ['https://example.org/team/repo?ref=v1']\n",
	})
	for _, forbidsFirst := range []bool{true, false} {
		b := NewBuilder(snap, document.NewReader(&position.Set{}, document.Limits{}))
		for _, forbids := range []bool{forbidsFirst, !forbidsFirst} {
			got := b.Build(Target{Dir: "app", Flux: &Overlay{NoRemoteBases: forbids}})
			if failed := got.Failure != nil; failed != forbids {
				t.Errorf("forbidden: %t, after a build with %t: failed: %v", forbids, forbidsFirst, got.Failure)
			}
		}
	}
}
