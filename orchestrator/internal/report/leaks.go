package report

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Leaks reads back every file of a folder that Create made and returns an error
// that names the first one, with the line, in which a name is found. value
// returns the real name that a field holds, prose one that a text for people
// holds; both return "" for none and are called from several goroutines at once.
// pages have their own way to look for the latter.
//
// Every file is read once, in pieces that all cores look at; memory holds a few
// pieces of a few files, and a line as long as it is.
func Leaks(dir string, value, prose func(string) string, pages ...PageCheck) error {
	// A field that the contract does not have could not be looked at.
	c, err := readCensus(dir, strictly)
	if err != nil {
		return err
	}
	lines := map[string]int{}
	for _, d := range c.Data {
		lines[d.File] = d.Lines
	}
	cleared := &clearedStrings{value: value}
	looks, err := pageLooks(dir, prose, pages)
	if err != nil {
		return err
	}
	for _, name := range dataFiles {
		s := shapeOf(reflect.TypeOf(NewRecord(name)).Elem())
		looks = append(looks, look{name, func(piece []byte) (int, error) { return cleared.lookAt(piece, s) }})
	}
	// Those of the pages come first, which are the largest files; the error is
	// that of the first file with one, data before pages.
	errs := make([]error, len(looks))
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i, l := range looks {
		running.Go(func() error {
			n, err := inPieces(dir, l.file, l.at)
			if want, ok := lines[l.file]; err == nil && ok && n != want {
				err = fmt.Errorf("%s has %d lines and should have %d: the report is not whole", filepath.Join(dir, l.file), n, want)
			}
			errs[i] = err
			return nil
		})
	}
	_ = running.Wait()
	pagesEnd := len(looks) - len(dataFiles)
	for _, err := range errs[pagesEnd:] {
		if err != nil {
			return err
		}
	}
	found := ""
	Names(c, func(s string) {
		if found == "" {
			found = value(s)
		}
	})
	if found != "" {
		return &LeakError{File: CensusFile, Name: found}
	}
	for _, err := range errs[:pagesEnd] {
		if err != nil {
			return err
		}
	}
	return nil
}

// look is how the pieces of a file are looked at.
type look struct {
	file string
	at   func(piece []byte) (int, error)
}

// pageLooks are those of what is not data.
func pageLooks(dir string, prose func(string) string, pages []PageCheck) ([]look, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the report back: %w", err)
	}
	var out []look
	data := append([]string{CensusFile}, dataFiles...)
	for _, e := range entries {
		if slices.Contains(data, e.Name()) {
			continue
		}
		find := prose
		for _, p := range pages {
			if p.File == e.Name() {
				find = p.Prose
			}
		}
		out = append(out, look{e.Name(), func(piece []byte) (int, error) { return lookAtPage(piece, find) }})
	}
	return out, nil
}

// lookAtPage looks at lines for people and returns how many they are.
func lookAtPage(piece []byte, look func(string) string) (n int, err error) {
	err = eachLine(piece, func(line []byte) error {
		n++
		for _, reading := range readings(string(line)) {
			if name := look(reading); name != "" {
				return &LeakError{Line: n, Name: name}
			}
		}
		return nil
	})
	return n, err
}

// clearedStrings remembers strings without names: paths and names come again
// and again. It is safe for concurrent use.
type clearedStrings struct {
	value func(string) string
	pool  sync.Pool // of map[string]struct{}
}

// cleared is the most strings that one goroutine remembers.
const cleared = 1 << 15

// lookAt looks at lines of records of a shape and returns how many they are.
func (c *clearedStrings) lookAt(piece []byte, s *shape) (n int, err error) {
	known, ok := c.pool.Get().(map[string]struct{})
	if !ok {
		known = map[string]struct{}{}
	}
	defer c.pool.Put(known)
	show := func(text []byte) error {
		if _, ok := known[string(text)]; ok {
			return nil
		}
		kept := string(text)
		if name := c.value(kept); name != "" {
			return &LeakError{Line: n, Name: name}
		}
		if len(known) >= cleared {
			clear(known)
		}
		known[kept] = struct{}{}
		return nil
	}
	err = eachLine(piece, func(line []byte) error {
		n++
		if err := s.scan(line, show); err != nil {
			if leak := (*LeakError)(nil); errors.As(err, &leak) {
				return err
			}
			return &lineError{n, err}
		}
		return nil
	})
	return n, err
}

// lineError is an error at a line of a piece.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

// PageCheck looks for names in one file of a report.
type PageCheck struct {
	File string
	// Prose returns the real name that a line holds, "" for none.
	Prose func(string) string
}

// readings are a line as it stands and as its readers take it: without the
// escapes of HTML and XML, of JSON and JavaScript, of Mermaid and of URIs. A
// name must not hide behind one.
func readings(line string) []string {
	out := []string{line}
	if strings.Contains(line, "&") {
		out = append(out, html.UnescapeString(line))
	}
	if strings.Contains(line, `\u`) {
		out = append(out, jsonEscape.ReplaceAllStringFunc(line, func(escape string) string {
			code, err := strconv.ParseUint(escape[2:], 16, 16)
			if err != nil {
				return escape
			}
			return string(rune(code))
		}))
	}
	if strings.Contains(line, "#") && mermaidEscape.MatchString(line) {
		out = append(out, html.UnescapeString(mermaidEscape.ReplaceAllString(line, "&#$1;")))
	}
	if strings.Contains(line, "%") {
		out = append(out, uriEscapes.ReplaceAllStringFunc(line, func(escapes string) string {
			plain, err := url.PathUnescape(escapes)
			if err != nil {
				return escapes
			}
			return plain
		}))
	}
	return out
}

var (
	jsonEscape    = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)
	mermaidEscape = regexp.MustCompile(`#([0-9]{1,7});`)
	uriEscapes    = regexp.MustCompile(`(%[0-9a-fA-F]{2})+`)
)

// LeakError is a real name in a report that is to hold aliases only.
type LeakError struct {
	File string
	// Line counts from 1; 0 in census.json.
	Line int
	Name string
}

// Error does not repeat the name: logs are read by others as well.
func (e *LeakError) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("the report would give a real name away at %s, so it was not published: give the name an alias of its own in the configuration (aliases.words), or write the report with --names real for your own eyes", at)
}
