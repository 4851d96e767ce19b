package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var verbs = map[string]Verb{"ban": {Fields: 2, Options: []string{"except"}}}

func TestParse(t *testing.T) {
	got, err := Parse("p.txt", strings.NewReader("# comment\n\nban  forge a.b/c/...\texcept=x,y -- it writes -- there\n"), verbs)
	if err != nil {
		t.Fatal(err)
	}
	want := []Line{{
		File: "p.txt", Number: 3, Verb: "ban", Fields: []string{"forge", "a.b/c/..."},
		Options: map[string]string{"except": "x,y"}, Reason: "it writes -- there",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "y"}, got[0].List("except")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"ban forge a.b/c", "p.txt:1: no reason"},
		{"ban forge a.b/c -- ", "no reason"},
		{"bann forge a.b/c -- r", `unknown verb "bann"`},
		{"ban a.b/c -- r", "ban takes 2 fields, not 1"},
		{"ban forge a.b/c exept=x -- r", `ban has no option "exept"`},
		{"ban forge a.b/c except=x except=y -- r", "occurs twice"},
	} {
		_, err := Parse("p.txt", strings.NewReader(tt.line), verbs)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.line, err, tt.want)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern Pattern
		path    string
		want    bool
	}{
		{"a/b", "a/b", true},
		{"a/b", "a/b/c", false},
		{"a/b/...", "a/b", true},
		{"a/b/...", "a/b/c/d", true},
		{"a/b/...", "a/bc", false},
	} {
		if got := tt.pattern.Match(tt.path); got != tt.want {
			t.Errorf("%s matches %s: %t, want %t", tt.pattern, tt.path, got, tt.want)
		}
	}
}
