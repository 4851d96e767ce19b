package report

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Leaks reads back every file of a folder that Create made and returns an error
// that names the first one, with the line, in which a name is found. value
// returns the real name that a field holds, prose one that a text for people
// holds; both return "" for none. pages have their own way to look for the
// latter.
func Leaks(dir string, value, prose func(string) string, pages ...PageCheck) error {
	check := &leakCheck{value: value}
	// A field that the contract does not have could not be looked at.
	if err := replay(dir, check, strictly); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the report back: %w", err)
	}
	data := map[string]bool{CensusFile: true}
	for _, name := range dataFiles {
		data[name] = true
	}
	for _, e := range entries {
		if data[e.Name()] {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("reading the report back: %w", err)
		}
		look := prose
		for _, p := range pages {
			if p.File == e.Name() {
				look = p.Prose
			}
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			for _, reading := range readings(line) {
				if name := look(reading); name != "" {
					return &LeakError{File: e.Name(), Line: n, Name: name}
				}
			}
		}
	}
	return nil
}

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
	if mermaidEscape.MatchString(line) {
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

// leakCheck is a handler that looks at every field that may hold a name.
type leakCheck struct {
	Ignore
	value func(string) string
	lines map[string]int
}

func (l *leakCheck) look(file string, record any) error {
	if l.lines == nil {
		l.lines = map[string]int{}
	}
	l.lines[file]++
	found := ""
	Names(record, func(s string) {
		if found == "" {
			found = l.value(s)
		}
	})
	if found == "" {
		return nil
	}
	if file == CensusFile {
		return &LeakError{File: file, Name: found}
	}
	return &LeakError{File: file, Line: l.lines[file], Name: found}
}

func (l *leakCheck) Kustomization(r *Kustomization) error { return l.look(KustomizationsFile, r) }
func (l *leakCheck) HelmRelease(r *HelmRelease) error     { return l.look(HelmReleasesFile, r) }
func (l *leakCheck) Placement(r *Placement) error         { return l.look(PlacementsFile, r) }
func (l *leakCheck) Object(r *Object) error               { return l.look(ObjectsFile, r) }
func (l *leakCheck) File(r *File) error                   { return l.look(FilesFile, r) }
func (l *leakCheck) Finding(r *Finding) error             { return l.look(FindingsFile, r) }
func (l *leakCheck) Coverage(r *CoverageRow) error        { return l.look(CoverageFile, r) }
func (l *leakCheck) End(c *Census) error                  { return l.look(CensusFile, c) }
