package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestLeakInLargeFile: lines count from the beginning of a file that is looked
// at in pieces, and the first name is the one that is told, whichever piece was
// done first.
func TestLeakInLargeFile(t *testing.T) {
	dir := write(t, filepath.Join(t.TempDir(), "out"), small()).Dir()
	const lines, first = 60_000, 45_678
	var data strings.Builder
	for n := 1; n <= lines; n++ {
		name := fmt.Sprintf("an ordinary line of a report, number %d", n)
		if n == first || n == first+1 || n == lines {
			name = "secretname"
		}
		fmt.Fprintf(&data, "{\"path\":%q}\n", name)
	}
	if data.Len() < 2*pieceSize {
		t.Fatalf("%d bytes are not several pieces", data.Len())
	}
	has := func(s string) string {
		if strings.Contains(s, "secretname") {
			return "secretname"
		}
		return ""
	}
	none := func(string) string { return "" }
	at := func(err error) string {
		var leak *LeakError
		if !errors.As(err, &leak) {
			return fmt.Sprint(err)
		}
		return fmt.Sprintf("%s:%d", leak.File, leak.Line)
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(MarkdownFile, data.String())
	if got, want := at(Leaks(dir, none, has)), fmt.Sprintf("%s:%d", MarkdownFile, first); got != want {
		t.Errorf("in a page: got %s, want %s", got, want)
	}
	// A single line of many pieces.
	put(MarkdownFile, "a\n"+strings.Repeat("many words ", pieceSize)+"secretname\n")
	if got, want := at(Leaks(dir, none, has)), MarkdownFile+":2"; got != want {
		t.Errorf("in a long line: got %s, want %s", got, want)
	}
	put(MarkdownFile, "")
	put(FilesFile, data.String())
	if got, want := at(Leaks(dir, has, none)), fmt.Sprintf("%s:%d", FilesFile, first); got != want {
		t.Errorf("in data: got %s, want %s", got, want)
	}
	if err := Leaks(dir, none, none); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has %d lines", lines)) {
		t.Errorf("more lines than the census says: got %v", err)
	}
	put(FilesFile, strings.Repeat("{}\n", 70)+"{\"path\":1}\n")
	if err := Leaks(dir, none, none); err == nil || !strings.Contains(err.Error(), FilesFile+":71: ") {
		t.Errorf("a line that is no record: got %v", err)
	}
}

// FuzzScan: the reader of the check shows what decoding shows, and takes nothing
// that decoding refuses.
func FuzzScan(f *testing.F) {
	for _, r := range small() {
		b, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	for _, s := range []string{
		`{}`, `{"trace":[]}`, ` {"trace" : [ {"kind":"file"} , {"name":"\u00e9\"\\"} ] } `, `{"name":"` + "\xff" + `"}`, `{"x":1}`, `{"name":1}`,
		`{"seen_not_analysed":{"a":1,"b":2}}`, `{"name":"a"}}`, `{"name":"a",}`, `{"name":"\ud800"}`, `{"line":1e2}`, `{"name":"a` + "\n" + `"}`, `[]`, `"`, `{"name":"\`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, name := range dataFiles {
			record := NewRecord(name)
			var got []string
			err := shapeOf(reflect.TypeOf(record).Elem()).scan([]byte(line), func(b []byte) error {
				got = append(got, string(b))
				return nil
			})
			if err != nil {
				// Refusing more than decoding does is safe: the writer writes
				// plain records.
				continue
			}
			decoder := json.NewDecoder(strings.NewReader(line))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(record); err != nil {
				// Numbers that no field can hold are of no interest here.
				if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) && kind.Type.Kind() != reflect.String {
					continue
				}
				t.Fatalf("%s: scan takes %q, decoding says: %v", name, line, err)
			}
			// Decoding keeps the last of members with one name: what it has,
			// scan has shown.
			Names(record, func(s string) {
				if s != "" && !slices.Contains(got, s) {
					t.Fatalf("%s: scan does not show %q of %q", name, s, line)
				}
			})
		}
	})
}
