package markdown

import "testing"

func TestCode(t *testing.T) {
	for in, want := range map[string]string{
		"":         "",
		"a/b.yaml": "`a/b.yaml`",
		"a|b":      "`a\\|b`",
		"a`b":      "``a`b``",
		"`a":       "`` `a ``",
		"``":       "``` `` ```",
		"  ":       "`    `",
		"a\nb":     "`a\\nb`",
		"\x1b[0m":  "`\\u{1b}[0m`",
	} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"flux-system/apps on hub-1: it fails.": "flux-system/apps on hub-1: it fails.",
		"a*b* [x](y) <b> & `c` | #1 @me !":     "a\\*b\\* \\[x\\](y) &lt;b&gt; &amp; \\`c\\` \\| \\#1 &#64;me \\!",
		"https://e.example www.e.example":      "https&#58;//e.example www&#46;e.example",
		"remote_direct _a_ __b__":              "remote_direct \\_a\\_ \\_\\_b\\_\\_",
		`c:\x`:                                 `c:\\x`,
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %s, want %s", in, got, want)
		}
	}
}
