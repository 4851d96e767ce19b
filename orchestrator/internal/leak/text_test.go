package leak

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestText: what the programs show that a file is for stands among its lines, with
// the line at which it begins.
func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want line
	}{
		"as it is":         {"a\nb", line{1, "a\nb"}},
		"UTF-16":           {"\xfe\xff\x00p\x00-\x00e", line{1, "p-e"}},
		"a header":         {"From: x\nSubject: =?utf-8?b?cA==?= =?utf-8?q?=2De?=\n", line{2, "Subject: p-e"}},
		"a folded header":  {"Subject: =?utf-8?q?p?=\n =?utf-8?q?-e?=\n", line{1, "Subject: p-e"}},
		"quoted-printable": {"Content-Transfer-Encoding: quoted-printable\n\na p=\n=2De\n", line{3, "a p-e"}},
		"base64, CRLF":     {"content-transfer-encoding: BASE64\r\nX: y\r\n\r\ncC1l\r\n", line{4, "p-e"}},
		"the second part": {
			"Content-Transfer-Encoding: base64\n\nYQ==\n\n--b\nContent-Transfer-Encoding: base64\n\ncC1l\n--b--\n", line{8, "p-e"},
		},
	} {
		if lines, err := text([]byte(c.data)); err != nil || !slices.Contains(lines, c.want) {
			t.Errorf("%s: %v lacks %v, %v", name, lines, c.want, err)
		}
	}
	picture := "Content-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("\x89PNG\x00")) + "\n"
	for _, data := range []string{"a\x00b", "%PDF-1.7", "\xff\xfea", picture, "Content-Transfer-Encoding: base64\n\nno base64 at all\n"} {
		if _, err := text([]byte(data)); !errors.Is(err, errNotText) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// FuzzText: every text is read as it is as well, and lines are lines of the file.
func FuzzText(f *testing.F) {
	f.Add("Subject: =?utf-8?q?p?=\n =?utf-8?q?-e?=\n\nContent-Transfer-Encoding: quoted-printable\n\na p=\n=2De\n--b")
	f.Add("Content-Transfer-Encoding: base64\n\nYQ==\n\n--b\nContent-Transfer-Encoding: base64\n\ncC1l\n--b--\n")
	f.Add("\xfe\xff\x00p\x00-\x00e")
	f.Fuzz(func(t *testing.T, data string) {
		lines, err := text([]byte(data))
		if len(lines) == 0 {
			if err == nil {
				t.Fatal("nothing was read, and that is not said")
			}
			return
		}
		if !strings.HasPrefix(data, "\xfe\xff") && !strings.HasPrefix(data, "\xff\xfe") && lines[0].text != data {
			t.Fatalf("read %q", lines[0].text)
		}
		last := strings.Count(lines[0].text, "\n") + 1
		for _, l := range lines {
			if l.number < 1 || l.number > last {
				t.Fatalf("%q at line %d of %d", l.text, l.number, last)
			}
		}
	})
}
