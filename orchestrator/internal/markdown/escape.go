package markdown

import (
	"strings"

	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// code is s as a code span that also works in a table.
func code(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(report.Printable(s), "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.TrimSpace(s) == "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

func codes(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = code(n)
	}
	return strings.Join(out, ", ")
}

var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"|", `\|`, "#", `\#`, "!", `\!`, "~", `\~`, "@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

// plain is s as words of a sentence. Underscores between letters need no
// escape; those at the edge of a word do.
func plain(s string) string {
	s = special.Replace(report.Printable(s))
	words := strings.Split(s, " ")
	for i, w := range words {
		if strings.HasPrefix(w, "_") || strings.HasSuffix(w, "_") {
			words[i] = strings.ReplaceAll(w, "_", `\_`)
		}
	}
	return strings.Join(words, " ")
}
