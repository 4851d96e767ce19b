package kustomize

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"
	k8syaml "sigs.k8s.io/yaml"
)

// rereadBothWays is how reread differs from the way through YAML, and whether it took
// it on.
func rereadBothWays(t *testing.T, k types.Kustomization) (diff string, taken bool) {
	t.Helper()
	ours := reread(&k)
	if ours == nil {
		return "", false
	}
	text, err := k8syaml.Marshal(k)
	if err != nil {
		return "it cannot be written", true
	}
	var theirs types.Kustomization
	if err := theirs.Unmarshal(text); err != nil {
		return "it cannot be read: " + err.Error(), true
	}
	// Selectors compare themselves by what they mean; JSON tells all.
	return cmp.Diff(asJSON(t, theirs), asJSON(t, *ours)), true
}

func asJSON(t *testing.T, k types.Kustomization) string {
	t.Helper()
	b, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// kustomizationOf puts texts where a kustomization file may have any.
func kustomizationOf(a, b string, n int64) types.Kustomization {
	return types.Kustomization{
		TypeMeta:   types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		MetaData:   &types.ObjectMeta{Name: a, Labels: map[string]string{b: a}},
		NamePrefix: a, Namespace: b, Resources: []string{a, b},
		Labels:  []types.Label{{Pairs: map[string]string{a: b}, IncludeSelectors: n%2 == 0}},
		Patches: []types.Patch{{Patch: a, Target: &types.Selector{LabelSelector: b}, Options: &types.PatchArgs{AllowNameChange: n%2 == 0}}, {Patch: b}},
		Images:  []types.Image{{Name: a, NewTag: b}}, Replicas: []types.Replica{{Name: b, Count: n}},
		PatchesStrategicMerge: []types.PatchStrategicMerge{types.PatchStrategicMerge(a)},
		ConfigMapGenerator:    []types.ConfigMapArgs{{GeneratorArgs: types.GeneratorArgs{Name: b, KvPairSources: types.KvPairSources{LiteralSources: []string{a + "=" + b}}}}},
		CommonAnnotations:     map[string]string{b: b},
	}
}

// TestReread compares on texts that mean something in YAML.
func TestReread(t *testing.T) {
	words := []string{
		"", "a", "yes", "No", "on", "null", "~", "1", "012", "1.0", "1e3", "0x1f", "1_000", "12:30:45", "2020-01-01", ".inf", "=", "<<", "-", "- a", "? a", ": a", "a: b", "a #b", "#a", "[a]", "{a: b}",
		"*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "'a'", "\"a\"", "a\\b", "a\\n", "a<b>&c", " a", "a ", "a\n", "\na", "a\n\n", "a\nb", "a\n b", "a\n\nb", "a \nb", " a\nb", "a\n  b\nc\n", "a\tb", "a\rb", "ä", "\u2028", "\x00", "\x7f", "\ufeff",
		strings.Repeat("word ", 40) + "end", strings.Repeat("x", 300), "- op: replace\n  path: /a\n  value: \"b\"\n", "a: |\n  b\n\n  c\n", "...", "---", "a\n---\nb\n", "a\n...\n",
	}
	taken := 0
	for i, a := range words {
		for j, b := range words {
			diff, took := rereadBothWays(t, kustomizationOf(a, b, int64(i*j)))
			if diff != "" {
				t.Errorf("%q, %q: the way through YAML (-) and reread (+) differ:\n%s", a, b, diff)
			}
			if took {
				taken++
			}
		}
	}
	if all := len(words) * len(words); taken < all/4 {
		t.Errorf("only %d of %d were taken on: that compares little", taken, all)
	}
}

// FuzzReread compares on any texts.
func FuzzReread(f *testing.F) {
	f.Add("a: |\n  b\n", "yes", int64(1))
	f.Add("- op: add\n  path: /x\n  value: {a: 'b'}", "a\n b\n", int64(-1))
	f.Fuzz(func(t *testing.T, a, b string, n int64) {
		if diff, _ := rereadBothWays(t, kustomizationOf(a, b, n)); diff != "" {
			t.Errorf("the way through YAML (-) and reread (+) differ:\n%s", diff)
		}
	})
}
