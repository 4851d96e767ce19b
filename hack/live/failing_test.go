package main

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gitops-reach/reach/hack/live/internal/stack"
	"github.com/gitops-reach/reach/hack/misbehave"
)

const (
	fluxGroup = "kustomize.toolkit.fluxcd.io"
	flux      = "kustomizations"
)

// A hub that misbehaves: everything else is still reported, and what it would
// have said is an abstain with its reason.
func TestHubMisbehaves(t *testing.T) {
	s := clusters(t)
	granted(t, s)
	hub := s.Clusters[stack.HubEast]
	to, err := url.Parse(hub.Client.Server)
	if err != nil {
		t.Fatal(err)
	}
	front, err := misbehave.NewServer(misbehave.Forward(to, hub.Client.Transport()))
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	stranger, err := misbehave.Stranger()
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, name := range stack.Hubs {
		if tokens[name], err = s.Clusters[name].Token(t.Context(), "reach", "reach"); err != nil {
			t.Fatal(err)
		}
	}
	west := s.Clusters[stack.HubWest].Client
	through := func(t *testing.T, ca []byte, token string) string {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		err := stack.WriteKubeconfig(path,
			stack.Credential{Context: stack.HubEast, Server: front.URL(), CA: ca, Token: token},
			stack.Credential{Context: stack.HubWest, Server: west.Server, CA: west.CA, Token: tokens[stack.HubWest]})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := take(t, s, through(t, front.CA(), tokens[stack.HubEast]), stack.Hubs).tallies(t)
	if in, _, _ := sum(good); in == 0 {
		t.Fatal("nothing is in an inventory")
	}

	kustomizations := misbehave.Resource(fluxGroup, flux)
	for name, test := range map[string]struct {
		fault  misbehave.Fault
		down   bool
		ca     []byte
		token  string
		flags  []string
		reason string // of every object of hub-east; "" when nothing is lost
		part   bool   // what came before the fault is kept
	}{
		"down":              {down: true, reason: "unreachable"},
		"slow":              {fault: misbehave.On(kustomizations, misbehave.Hang()), flags: []string{"--access-timeout", "10s"}, reason: "timeout"},
		"cut":               {fault: misbehave.On(kustomizations, misbehave.Cut()), reason: "cut", part: true},
		"denied":            {fault: misbehave.On(kustomizations, misbehave.Forbid()), reason: "denied"},
		"throttled":         {fault: misbehave.On(kustomizations, misbehave.TooMany(-1, 1)), reason: "throttled"},
		"throttled a while": {fault: misbehave.On(kustomizations, misbehave.TooMany(2, 1))},
		"failing":           {fault: misbehave.On(kustomizations, misbehave.InternalError()), reason: "server_error"},
		"expired token":     {token: "expired", reason: "unauthenticated"},
		"wrong CA":          {ca: stranger, reason: "untrusted"},
		"not served":        {fault: misbehave.NotServed(fluxGroup), reason: "controller_missing"},
		"many entries":      {fault: misbehave.Inventory("flux-system/egress", 50_000)},
	} {
		t.Run(name, func(t *testing.T) {
			ca, token := front.CA(), tokens[stack.HubEast]
			if test.ca != nil {
				ca = test.ca
			}
			if test.token != "" {
				token = test.token
			}
			if test.fault != nil {
				front.Tell(test.fault)
				defer front.Tell()
			}
			if test.down {
				front.Down()
				defer func() {
					if err := front.Up(); err != nil {
						t.Fatal(err)
					}
				}()
			}
			bad := take(t, s, through(t, ca, token), stack.Hubs, test.flags...).tallies(t)
			kept, lost := 0, 0
			for key, want := range good {
				got := bad[key]
				east := len(key) > len(stack.HubEast) && key[:len(stack.HubEast)] == stack.HubEast
				if !east || test.reason == "" {
					if key != "hub-east Kustomization flux-system/egress" && (got.In != want.In || got.Out != want.Out) {
						t.Errorf("%s: %+v, without the fault %+v", key, got, want)
					}
					continue
				}
				all := want.In + want.Out
				for _, n := range want.Abstain {
					all += n
				}
				if test.part && cmp.Equal(got, want) {
					kept++
					continue
				}
				lost++
				if got.In+got.Out > 0 || got.Abstain[test.reason] != all {
					t.Errorf("%s: %+v, want %d that abstain as %s", key, got, all, test.reason)
				}
			}
			if test.part && (kept == 0 || lost == 0) {
				t.Errorf("%d controller objects are told of and %d are lost: want some of both", kept, lost)
			}
		})
	}
}
