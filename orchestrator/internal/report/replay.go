package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// readCensus reads census.json and checks that it is one of this contract.
func readCensus(dir string, decode unmarshal) (*Census, error) {
	name := filepath.Join(dir, CensusFile)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not a report folder: %w", dir, err)
	}
	c := &Census{}
	if err := decode(data, c); err != nil {
		return nil, fmt.Errorf("%s is not a report folder: %s: %w", dir, CensusFile, err)
	}
	if c.Schema != Schema {
		return nil, fmt.Errorf("%s holds a report with schema %q, this version of reach reads %q", dir, c.Schema, Schema)
	}
	return c, nil
}

// Replay reads a report folder and gives h the census as it was taken. Fields
// that a later version added are skipped. An error names the file and the line;
// a file with fewer or more lines than census.json says is one.
func Replay(dir string, h Handler) error { return replay(dir, h, json.Unmarshal) }

type unmarshal func([]byte, any) error

// strictly refuses fields that the contract does not have.
func strictly(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the record")
	}
	return nil
}

func replay(dir string, h Handler, decode unmarshal) error {
	c, err := readCensus(dir, decode)
	if err != nil {
		return err
	}
	if err := h.Begin(&c.Header); err != nil {
		return err
	}
	lines := map[string]int{}
	for _, d := range c.Data {
		lines[d.File] = d.Lines
	}
	for _, name := range dataFiles {
		n, err := replayFile(filepath.Join(dir, name), newRecord(name), h, decode)
		if err != nil {
			return err
		}
		if n != lines[name] {
			return fmt.Errorf("%s has %d lines and should have %d: the report is not whole", name, n, lines[name])
		}
	}
	return h.End(c)
}

// newRecord returns what makes empty records of a data file.
func newRecord(name string) func() any {
	return func() any {
		switch name {
		case KustomizationsFile:
			return &Kustomization{}
		case HelmReleasesFile:
			return &HelmRelease{}
		case PlacementsFile:
			return &Placement{}
		case ObjectsFile:
			return &Object{}
		case FilesFile:
			return &File{}
		case FindingsFile:
			return &Finding{}
		default:
			return &CoverageRow{}
		}
	}
}

func replayFile(name string, record func() any, h Handler, decode unmarshal) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, fmt.Errorf("the report is not whole: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 256<<10)
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return n, fmt.Errorf("reading %s: %w", name, err)
		}
		r := record()
		if err := decode(line, r); err != nil {
			return n, fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
		if err := Dispatch(h, r); err != nil {
			return n, err
		}
	}
}

// Leaks reads back every file of a folder that Create made and returns an error
// that names the first one, with the line, in which a name is found. value
// returns the real name that a field holds, prose one that a text for people
// holds; both return "" for none.
func Leaks(dir string, value, prose func(string) string) error {
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
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			if name := prose(line); name != "" {
				return &LeakError{File: e.Name(), Line: n, Name: name}
			}
		}
	}
	return nil
}

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
