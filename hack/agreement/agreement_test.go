package main

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gitops-reach/reach/hack/dump"
)

// TestAgreement is the part of the whole that is quick: acme-platform and, where
// the corpus is there, two of its repositories.
func TestAgreement(t *testing.T) {
	const corpus = "../../../shared/corpus"
	if _, err := os.Stat(corpus); err != nil {
		t.Log("SKIPPED in part: the corpus is not beside the project: ", err)
	}
	b, err := newBench("../..", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	subjects, err := b.subjects(corpus, regexp.MustCompile("^(acme-platform|fluxcd__flux2-hub-spoke-example|fluxcd__flux2-multi-tenancy)$"))
	if err != nil {
		t.Fatal(err)
	}
	sums := newTable(20)
	for _, s := range subjects {
		if err := b.agreement(s, sums); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	var out strings.Builder
	sums.print(&out)
	t.Log("\n" + out.String())
	if sums.bad() {
		t.Error("the analyser and the real tools disagree")
	}
	for _, l := range sums.lines {
		if l.agree == 0 {
			t.Errorf("%s, %s: nothing was compared", l.subject, l.oracle)
		}
	}
}

// TestConvicts plants every kind of disagreement and wants it counted as that
// kind and nothing else.
func TestConvicts(t *testing.T) {
	object := func(name, value string) dump.Object {
		j, _ := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "x"},
			"data": map[string]any{"k": value},
		})
		return dump.Object{Version: "v1", Kind: "ConfigMap", Namespace: "x", Name: name, Content: j}
	}
	build := func(os ...dump.Object) *dump.Build { return &dump.Build{Objects: os} }
	want := func(os ...dump.Object) []any {
		out := []any{}
		for _, o := range os {
			v, err := decode(o.Content)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	a, b, c := object("a", "1"), object("b", "1"), object("c", "1")
	renamed := a
	renamed.Name = "z"
	for _, tt := range []struct {
		name    string
		got     *dump.Build
		objects []any
		err     error
		count   func(*tally) int
	}{
		{"miss", build(a), want(a, b), nil, func(t *tally) int { return t.miss }},
		{"add", build(a, b), want(a), nil, func(t *tally) int { return t.add }},
		{"add twice the same", build(a, a), want(a), nil, func(t *tally) int { return t.add }},
		{"another name", build(a, b), want(a, c), nil, func(t *tally) int { return t.identity }},
		{"another name than the content", build(renamed), want(a), nil, func(t *tally) int { return t.identity }},
		{"another value", build(a), want(object("a", "2")), nil, func(t *tally) int { return t.spec }},
		{"another order", build(b, a), want(a, b), nil, func(t *tally) int { return t.order }},
		{"only the oracle fails", build(a), nil, errors.New("no matches for Id"), func(t *tally) int { return t.oracleFails }},
		{"only we fail", &dump.Build{Failure: &dump.Failure{Code: "cycle"}}, want(a), nil, func(t *tally) int { return t.weFail }},
		{"other cause", &dump.Build{Failure: &dump.Failure{Code: "cycle"}}, nil, errors.New("invalid Kustomization"), func(t *tally) int { return t.otherCause }},
		{"not external", &dump.Build{External: []string{"remote_base x"}}, want(a), nil, func(t *tally) int { return t.weFail }},
		{"not for being external", &dump.Build{External: []string{"remote_base x"}}, nil, errors.New("invalid Kustomization"), func(t *tally) int { return t.oracleFails }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sum := newTally()
			sum.build("planted", tt.got, tt.objects, tt.err)
			all := sum.miss + sum.add + sum.identity + sum.spec + sum.order + sum.oracleFails + sum.weFail + sum.otherCause
			if tt.count(sum) != 1 || all != 1 || !sum.bad() || len(sum.differences) == 0 {
				t.Errorf("%+v", sum)
			}
		})
	}
	for name, sum := range map[string]func(*tally){
		"equal": func(s *tally) { s.build("x", build(a, b), want(a, b), nil) },
		"same cause": func(s *tally) {
			s.build("x", &dump.Build{Failure: &dump.Failure{Code: "cycle"}}, nil, errors.New("cycle detected: x"))
		},
		"unresolved": func(s *tally) {
			s.build("x", &dump.Build{Unresolved: &dump.Failure{Code: "limit"}}, nil, errors.New("x"))
		},
	} {
		s := newTally()
		if sum(s); s.bad() {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestSecretsStayIn: a difference in a Secret does not show its values.
func TestSecretsStayIn(t *testing.T) {
	want, _ := decode([]byte(`{"kind":"Secret","data":{"k":"hunter2","l":["a"]}}`))
	have, _ := decode([]byte(`{"kind":"Secret","data":{"k":"hunter3","m":"hunter4"}}`))
	if d := (&contrast{secret: secret(want)}).difference("", want, have); d == "" || strings.Contains(d, "hunter") {
		t.Errorf("%q", d)
	}
}
