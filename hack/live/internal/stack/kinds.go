package stack

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/api"
)

//go:embed kinds.txt
var kindsText string

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// serveKinds has a cluster serve the kinds of kinds.txt that are on a platform,
// with a schema that accepts everything.
func serveKinds(ctx context.Context, c *api.Client, platform string) error {
	byName := map[string]api.Object{}
	for line := range strings.Lines(kindsText) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(line, "#") || !slices.Contains(fields[4:], platform) {
			continue
		}
		group, version, _ := strings.Cut(fields[0], "/")
		d := OpenDefinition(group, version, fields[1], fields[2], fields[3] == "Namespaced")
		byName[api.String(d, "metadata", "name")] = d
	}
	for name, d := range byName {
		if _, err := c.Apply(ctx, definitionsPath+"/"+name, "live", d); err != nil {
			return err
		}
	}
	return nil
}

// OpenDefinition is the definition of a kind whose schema accepts everything.
func OpenDefinition(group, version, kind, plural string, namespaced bool) api.Object {
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	return api.Object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata": api.Object{
			"name": plural + "." + group,
			// Groups below k8s.io are refused without a word on their approval.
			"annotations": api.Object{"api-approved.kubernetes.io": "unapproved, for tests"},
		},
		"spec": api.Object{
			"group": group,
			"names": api.Object{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
			"scope": scope,
			"versions": []any{api.Object{
				"name": version, "served": true, "storage": true,
				"subresources": api.Object{"status": api.Object{}},
				"schema": api.Object{"openAPIV3Schema": api.Object{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
}

// AwaitDefinitions returns when every definition of a cluster is served.
func AwaitDefinitions(ctx context.Context, c *api.Client) error {
	for {
		list, err := c.Get(ctx, definitionsPath)
		if err != nil {
			return err
		}
		var waiting []string
		for _, d := range api.Items(list) {
			if condition(d, "Established") != "True" {
				waiting = append(waiting, api.String(d, "metadata", "name"))
			}
		}
		if waiting == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not served: %s: %w", strings.Join(waiting, ", "), ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// condition is the status of a condition of an object, "" when it has none.
func condition(o api.Object, kind string) string {
	c := conditionOf(o, kind)
	return api.String(c, "status")
}

// conditionOf is a condition of an object, nil when it has none.
func conditionOf(o api.Object, kind string) any {
	conditions, _ := api.At(o, "status", "conditions").([]any)
	for _, c := range conditions {
		if api.String(c, "type") == kind {
			return c
		}
	}
	return nil
}
