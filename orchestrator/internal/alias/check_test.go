package alias

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slowly looks for every name at every place of a text, as find's words say: with
// public domains blanked out, where a name stands as no part of a word.
func slowly(names []string, s string) map[string]bool {
	found := map[string]bool{}
	text := foldString(maskDomains(s))
	for _, name := range names {
		n := needle{real: name, brief: brief(name)}
		folded := foldString(name)
		for i := range text {
			if strings.HasPrefix(text[i:], folded) && (wordEnd(folded, 0) == 0 || boundaryBefore(text, i)) && n.stands([]byte(text), i, i+len(folded)) {
				found[name] = true
			}
		}
	}
	return found
}

// TestFindAgrees: what is found word by word is what stands in the text.
func TestFindAgrees(t *testing.T) {
	parts := []string{
		"hub", "-", "east", "_", "/", "hub-east", "HUB_EAST", "a", "7", "github.com", "quay.io", ".", " ", `\x2f`, `\`, "x", "é", "\u212a", "k8s", ":", "prod", "eu", "'", "//",
	}
	names := []string{"hub-east", "hub", "prod.eu", "7", "a", "x-é", "k8s", "east-github.com", "acme_prod"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var some []string
		for range 1 + random.IntN(3) {
			some = append(some, names[random.IntN(len(names))])
		}
		if random.IntN(4) == 0 {
			some = append(some, "-hub")
		}
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		got := map[string]bool{}
		for _, name := range newCheck(some).Value(b.String()) {
			got[name] = true
		}
		if diff := cmp.Diff(slowly(some, b.String()), got); diff != "" {
			t.Fatalf("%q in %q (-want +got):\n%s", some, b.String(), diff)
		}
	}
}
