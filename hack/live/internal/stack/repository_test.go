package stack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithDefinitions(t *testing.T) {
	const components = `# made by flux
apiVersion: v1
kind: Namespace
metadata:
  name: buckets.source.toolkit.fluxcd.io
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  labels:
    name: other
  name: buckets.source.toolkit.fluxcd.io
spec:
  name: abridged
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: unknown.example.com
`
	const want = `# made by flux
apiVersion: v1
kind: Namespace
metadata:
  name: buckets.source.toolkit.fluxcd.io
---
the real one
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: unknown.example.com
`
	got := withDefinitions([]byte(components), map[string][]byte{"buckets.source.toolkit.fluxcd.io": []byte("the real one")})
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
