package kustomize

import (
	"strings"
	"testing"
)

// TestQuoteShort: a message quotes what a file says without losing bytes that are
// not UTF-8, and without making some by a cut.
func TestQuoteShort(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb":                      "\"a\xffb\"",
		"a\n\"b":                      `"a??b"`,
		strings.Repeat("é", 30):       `"` + strings.Repeat("é", 30) + `"`,
		strings.Repeat("é", 31):       `"` + strings.Repeat("é", 28) + `..."`,
		"a" + strings.Repeat("é", 30): `"a` + strings.Repeat("é", 28) + `..."`,
		strings.Repeat("\xff", 61):    `"` + strings.Repeat("\xff", 57) + `..."`,
		strings.Repeat("\xbf", 61):    `"` + strings.Repeat("\xbf", 53) + `..."`,
	} {
		if got := quoteShort(in); got != want {
			t.Errorf("quoteShort(%q) = %q, want %q", in, got, want)
		}
	}
}
