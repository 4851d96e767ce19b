package launch

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns s as it may be shown on a terminal: what is not printable
// (control and format characters, which could move the cursor or reorder
// text, and bytes that are not UTF-8) is written as an escape, and what is
// beyond limit bytes is cut with a mark.
func printable(s string, limit int) string {
	s = strings.TrimRight(s, "\r\n")
	var b strings.Builder
	for i := 0; i < len(s); {
		if b.Len() >= limit {
			fmt.Fprintf(&b, "... (%d more bytes)", len(s)-i)
			break
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, r < 0x20 && r != '\t', r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\t':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}
