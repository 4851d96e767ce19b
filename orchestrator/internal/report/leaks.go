package report

import (
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

// Leaks reads back every file of a report folder and returns where names are
// found, data before pages, line by line. value returns the real names that a
// field holds, prose those that a text for people holds; both are called from
// several goroutines at once. pages have their own way to look for the latter.
//
// Every file is read once, in pieces that all cores look at; memory holds a few
// pieces of a few files, a line as long as it is, and maxLeaks of each piece.
//
// The error says that the folder could not be looked at whole.
func Leaks(dir string, value, prose Look, pages ...PageCheck) ([]LeakError, error) {
	// A field that the contract does not have could not be looked at.
	c, err := readCensus(dir, strictly)
	if err != nil {
		return nil, err
	}
	lines := map[string]int{}
	for _, d := range c.Data {
		lines[d.File] = d.Lines
	}
	cleared := &clearedStrings{value: value}
	searches, err := pageSearches(dir, prose, pages)
	if err != nil {
		return nil, err
	}
	pagesEnd := len(searches)
	for _, name := range dataFiles {
		if _, named := lines[name]; !named && laterFile(name) {
			continue
		}
		s := shapeOf(reflect.TypeOf(NewRecord(name)).Elem())
		searches = append(searches, search{name, func(piece []byte) (int, []LeakError, error) { return cleared.lookAt(piece, s) }})
	}
	// Those of the pages come first, which are the largest files.
	leaks, errs := make([][]LeakError, len(searches)), make([]error, len(searches))
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range searches {
		running.Go(func() error {
			n, found, err := inPieces(dir, s.file, s.at)
			if want, ok := lines[s.file]; err == nil && ok && n != want {
				err = fmt.Errorf("%s has %d lines and should have %d: the report is not whole", filepath.Join(dir, s.file), n, want)
			}
			leaks[i], errs[i] = found, err
			return nil
		})
	}
	_ = running.Wait()
	for _, err := range slices.Concat(errs[pagesEnd:], errs[:pagesEnd]) {
		if err != nil {
			return nil, err
		}
	}
	out, seen := slices.Concat(leaks[pagesEnd:]...), map[string]bool{}
	Names(c, func(s string) {
		for _, name := range value(s) {
			if !seen[name] {
				seen[name] = true
				out = append(out, LeakError{File: CensusFile, Name: name})
			}
		}
	})
	return append(out, slices.Concat(leaks[:pagesEnd]...)...), nil
}

// Look returns the real names in a text.
type Look func(string) []string

// maxLeaks bounds how many leaks of a megabyte of text are kept.
const maxLeaks = 1000

// search is how the pieces of a file are looked at.
type search struct {
	file string
	at   func(piece []byte) (int, []LeakError, error)
}

// pageSearches are those of what is not data.
func pageSearches(dir string, prose Look, pages []PageCheck) ([]search, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the report back: %w", err)
	}
	var out []search
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == CensusFile || slices.Contains(dataFiles, e.Name()) {
			continue
		}
		look := prose
		for _, p := range pages {
			if p.File == e.Name() {
				look = p.Prose
			}
		}
		out = append(out, search{e.Name(), func(piece []byte) (int, []LeakError, error) {
			n, leaks := LookAt(piece, look)
			return n, leaks, nil
		}})
	}
	return out, nil
}

// LookAt looks at lines for people, read in every way in which they can be read,
// and returns how many they are and what was found in them, maxLeaks at the most.
func LookAt(text []byte, look Look) (n int, leaks []LeakError) {
	_ = eachLine(text, func(line []byte) error {
		n++
		var found []string
		for _, reading := range readings(string(line)) {
			for _, name := range look(reading) {
				if !slices.Contains(found, name) && len(leaks) < maxLeaks {
					found = append(found, name)
					leaks = append(leaks, LeakError{Line: n, Name: name})
				}
			}
		}
		return nil
	})
	return n, leaks
}

// clearedStrings remembers strings without names: paths and names come again
// and again. It is safe for concurrent use.
type clearedStrings struct {
	value Look
	pool  sync.Pool // of map[string]struct{}
}

// cleared is the most strings that one goroutine remembers.
const cleared = 1 << 15

// lookAt looks at lines of records of a shape and returns how many they are.
func (c *clearedStrings) lookAt(piece []byte, s *shape) (n int, leaks []LeakError, err error) {
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
		if names := c.value(kept); len(names) > 0 {
			for _, name := range names {
				if len(leaks) < maxLeaks {
					leaks = append(leaks, LeakError{Line: n, Name: name})
				}
			}
			return nil
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
			return &lineError{n, err}
		}
		return nil
	})
	return n, leaks, err
}

// lineError is an error at a line of a piece.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

// PageCheck looks for names in one file of a report.
type PageCheck struct {
	File  string
	Prose Look
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
		out = append(out, jsonEscape().ReplaceAllStringFunc(line, func(escape string) string {
			code, err := strconv.ParseUint(escape[2:], 16, 16)
			if err != nil {
				return escape
			}
			return string(rune(code))
		}))
	}
	if strings.Contains(line, "#") && mermaidEscape().MatchString(line) {
		out = append(out, html.UnescapeString(mermaidEscape().ReplaceAllString(line, "&#$1;")))
	}
	if strings.Contains(line, "%") {
		out = append(out, uriEscapes().ReplaceAllStringFunc(line, func(escapes string) string {
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
	jsonEscape    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u[0-9a-fA-F]{4}`) })
	mermaidEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`#([0-9]{1,7});`) })
	uriEscapes    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(%[0-9a-fA-F]{2})+`) })
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
