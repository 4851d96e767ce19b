package commit

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// FuzzLoose gives any bytes as the file of a loose object, and any bytes as what
// such a file inflates to: reading ends, makes no more than it may, and returns
// nothing but what the header says.
func FuzzLoose(f *testing.F) {
	content := strings.Repeat("key: value\n", 20)
	for _, raw := range []string{
		fmt.Sprintf("blob %d\x00%s", len(content), content),
		fmt.Sprintf("blob %d\x00%s", len(content)+1, content),
		fmt.Sprintf("blob %d\x00%s", len(content)-1, content),
		"tree 0\x00", "tag 00\x00", "ofs-delta 3\x00abc", "blob 9223372036854775807\x00", "blob -1\x00", "blob", "",
		"blob 1048577\x00" + strings.Repeat("x", 1<<20+1),
	} {
		f.Add([]byte(raw), true, len(raw)/2)
		f.Add(deflate(raw), false, len(raw)/2)
	}
	f.Fuzz(func(t *testing.T, data []byte, plain bool, cut int) {
		file := data
		if plain {
			file = deflate(string(data))
		}
		if cut >= 0 && cut < len(file) && cut%3 == 0 {
			file = file[:cut]
		}
		s := &store{limits: Limits{MaxInflated: 1 << 20, MaxWork: 4 << 20}}
		o, err := s.readLoose(bytes.NewReader(file), int64(len(file)))
		switch {
		case err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrLimit):
			t.Errorf("an error of no kind: %v", err)
		case err != nil:
			return
		case len(o.data) > 1<<20:
			t.Errorf("an object of %d bytes", len(o.data))
		case plain && len(file) > 0:
			// What was read is what was written: another header would be another id.
			head, body, _ := bytes.Cut(data, []byte{0})
			if kind, _, _ := strings.Cut(string(head), " "); kind != o.kind.String() || !bytes.Equal(body, o.data) {
				t.Errorf("%q was read as a %s of %d bytes", head, o.kind, len(o.data))
			}
		}
		id := plumbing.Hash(sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", o.kind, len(o.data), o.data)))
		if verify(id, o) != nil {
			t.Errorf("a %s of %d bytes does not have its own id", o.kind, len(o.data))
		}
		id[0] ^= 1
		if verify(id, o) == nil {
			t.Errorf("a %s of %d bytes has another id", o.kind, len(o.data))
		}
	})
}
