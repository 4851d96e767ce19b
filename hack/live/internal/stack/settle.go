package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gitops-reach/reach/hack/live/internal/api"
)

// KustomizationsPath lists the Kustomizations of a hub.
const KustomizationsPath = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"

// rest is how long nothing may change until the controllers are at rest. It
// is longer than kustomize-controller waits before it looks again at a
// Kustomization whose dependency is not ready.
const rest = 6 * time.Second

// Settle returns when the controllers have done what they can: no Kustomization
// is in progress, and none has changed for a while. One that failed because
// something came later than itself is asked to try again, once.
func (s *Stack) Settle(ctx context.Context) error {
	if err := s.settle(ctx); err != nil {
		return err
	}
	for _, hub := range Hubs {
		list, err := s.Clusters[hub].Client.Get(ctx, KustomizationsPath)
		if err != nil {
			return err
		}
		for _, k := range api.Items(list) {
			if condition(k, "Ready") == "False" {
				if err := s.Reconcile(ctx, hub, k); err != nil {
					return err
				}
			}
		}
	}
	return s.settle(ctx)
}

func (s *Stack) settle(ctx context.Context) error {
	var before map[string]string
	since := time.Now()
	for {
		now, busy, err := s.states(ctx)
		if err != nil {
			return err
		}
		if busy != nil || !maps.Equal(now, before) {
			before, since = now, time.Now()
		}
		if time.Since(since) >= rest {
			return nil
		}
		for _, p := range s.controllers {
			select {
			case <-p.Ended():
				return p.Failure()
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the controllers do not come to rest: %w; in progress: %s", ctx.Err(), strings.Join(busy, ", "))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// states is the state of each Kustomization of the hubs, and those that are in
// progress.
func (s *Stack) states(ctx context.Context) (states map[string]string, busy []string, err error) {
	states = map[string]string{}
	for _, hub := range Hubs {
		list, err := s.Clusters[hub].Client.Get(ctx, KustomizationsPath)
		if err != nil {
			return nil, nil, err
		}
		for _, k := range api.Items(list) {
			name := hub + "/" + api.String(k, "metadata", "namespace") + "/" + api.String(k, "metadata", "name")
			ready := conditionOf(k, "Ready")
			states[name] = fmt.Sprint(api.At(k, "metadata", "generation"), api.At(k, "status", "observedGeneration"),
				api.String(ready, "status"), api.String(ready, "reason"), api.String(ready, "message"),
				api.String(k, "status", "lastAppliedRevision"), api.String(k, "status", "lastHandledReconcileAt"))
			suspended, _ := api.At(k, "spec", "suspend").(bool)
			asked, _ := api.At(k, "metadata", "annotations", "reconcile.fluxcd.io/requestedAt").(string)
			waiting := asked != "" && api.String(k, "status", "lastHandledReconcileAt") != asked
			status := api.String(ready, "status")
			if !suspended && (ready == nil || status == "Unknown" || waiting && api.String(ready, "reason") != "DependencyNotReady") {
				busy = append(busy, name)
			}
		}
	}
	slices.Sort(busy)
	return states, busy, nil
}

// Reconcile asks a hub's controllers to look at an object of Flux at once.
func (s *Stack) Reconcile(ctx context.Context, hub string, o api.Object) error {
	namespace, name := api.String(o, "metadata", "namespace"), api.String(o, "metadata", "name")
	resource := "kustomize.toolkit.fluxcd.io/v1/namespaces/" + namespace + "/kustomizations/" + name
	if api.String(o, "kind") == "GitRepository" {
		resource = "source.toolkit.fluxcd.io/v1/namespaces/" + namespace + "/gitrepositories/" + name
	}
	_, err := s.Clusters[hub].Client.Merge(ctx, "/apis/"+resource, api.Object{"metadata": api.Object{
		"annotations": api.Object{"reconcile.fluxcd.io/requestedAt": time.Now().Format(time.RFC3339Nano)},
	}})
	return err
}

// Follow has the hubs fetch what was pushed, and returns when their sources
// hold it and the controllers are at rest again.
func (s *Stack) Follow(ctx context.Context) error {
	head, err := s.Git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	const path = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system"
	for _, hub := range Hubs {
		c := s.Clusters[hub].Client
		source, err := c.Get(ctx, path)
		if err != nil {
			return err
		}
		if err := s.Reconcile(ctx, hub, source); err != nil {
			return err
		}
		for api.String(source, "status", "artifact", "revision") != "main@sha1:"+head {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s does not fetch %s: %w", hub, head, ctx.Err())
			case <-time.After(200 * time.Millisecond):
			}
			if source, err = c.Get(ctx, path); err != nil {
				return err
			}
		}
	}
	return s.settle(ctx)
}
