// Package leak looks for real names in files that are about to be handed on: a
// report, an excerpt of it, a mail, a text that somebody wrote beside it.
//
// It guarantees that a report folder is looked at as a census looks at it before
// it publishes one, and that whatever could not be looked at is said. It sees text
// in UTF-8 and UTF-16, the escapes of the formats of a report, and the encodings
// of mails. It does not see names in pictures, archives and documents of office
// programs, which it names as not looked at, nor names that are spelled another
// way (package alias has what counts as the same).
package leak

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gitops-reach/reach/orchestrator/internal/alias"
	"github.com/gitops-reach/reach/orchestrator/internal/bounded"
	"github.com/gitops-reach/reach/orchestrator/internal/report"
)

// Search is what is looked for.
type Search struct {
	Check *alias.Check
	// Pages have their own way to look, as for report.Leaks.
	Pages []report.PageCheck
	// Mapping is the path of the alias file, which is no file to hand on.
	Mapping string
}

// Result is what was found, in the order of the paths that were named and, below
// each, of file names and lines.
type Result struct {
	Files   int
	Leaks   []Leak
	Unclear []Unclear
}

// Leak is a real name at a place.
type Leak struct {
	File string
	// Line counts from 1; 0 is the name of the file, or a file as a whole.
	Line int
	// Name is the real name; "" for the alias file, which is made of them.
	Name string
}

// Unclear is what could not be looked at.
type Unclear struct {
	File string
	Err  error
}

// maxFile bounds what is not a report, in bytes: it is read whole.
const maxFile = 256 << 20

var (
	errNotText = errors.New("it is not text: hand it on as text, or look yourself")
	errLink    = errors.New("it is a link, which is not followed")
	errSpecial = errors.New("it is neither a file nor a folder")
	errEmpty   = errors.New("the folder holds no file")
	errLarge   = errors.New("it is larger than 256 MiB: split it")
)

// In looks at files and folders, and at what lies below these.
func (s Search) In(paths ...string) Result {
	var r Result
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			r.unclear(path, cause(err))
		case info.IsDir():
			if before := r.Files; !s.folder(&r, path) && r.Files == before {
				r.unclear(path, errEmpty)
			}
		default:
			s.file(&r, path)
			s.name(&r, path)
		}
	}
	return r
}

func (r *Result) unclear(path string, err error) { r.Unclear = append(r.Unclear, Unclear{path, err}) }

// folder reports whether anything below could not be looked at.
func (s Search) folder(r *Result, dir string) (unclear bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.unclear(dir, cause(err))
		return true
	}
	looked := s.report(r, dir, entries)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		s.name(r, path)
		switch {
		case e.IsDir():
			unclear = s.folder(r, path) || unclear
		case e.Type()&fs.ModeSymlink != 0:
			r.unclear(path, errLink)
			unclear = true
		case !e.Type().IsRegular():
			r.unclear(path, errSpecial)
			unclear = true
		case looked && slices.Contains(report.Files(), e.Name()):
			r.Files++
		default:
			s.file(r, path)
		}
	}
	return unclear
}

// report looks at the files of a report folder and reports whether it is one. One
// that is torn or of another version is unclear, and looked at as any text.
func (s Search) report(r *Result, dir string, entries []fs.DirEntry) bool {
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == report.CensusFile }) {
		return false
	}
	leaks, err := report.Leaks(dir, s.Check.Value, s.Check.Prose, s.Pages...)
	if err != nil {
		r.unclear(dir, err)
		return false
	}
	for _, l := range leaks {
		if slices.Contains(report.Files(), l.File) {
			r.Leaks = append(r.Leaks, Leak{filepath.Join(dir, l.File), l.Line, l.Name})
		}
	}
	return true
}

// name looks at the last element of a path.
func (s Search) name(r *Result, path string) {
	for _, name := range s.Check.Prose(filepath.Base(path)) {
		r.Leaks = append(r.Leaks, Leak{File: path, Name: name})
	}
}

func (s Search) file(r *Result, path string) {
	r.Files++
	if same(path, s.Mapping) {
		r.Leaks = append(r.Leaks, Leak{File: path})
		return
	}
	data, err := read(path)
	var lines []line
	if err == nil {
		lines, err = text(data)
	}
	known := map[Leak]bool{}
	for _, l := range lines {
		_, leaks := report.LookAt([]byte(l.text), s.Check.Prose)
		for _, found := range leaks {
			leak := Leak{path, l.number + found.Line - 1, found.Name}
			if !known[leak] {
				known[leak] = true
				r.Leaks = append(r.Leaks, leak)
			}
		}
	}
	if err != nil {
		r.unclear(path, err)
	}
}

func read(path string) ([]byte, error) {
	data, large, err := bounded.ReadFile(path, "a file", maxFile)
	switch {
	case err != nil:
		return nil, cause(err)
	case large:
		return nil, errLarge
	}
	return data, nil
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// cause leaves the path out of an error: whoever prints it may write the path
// another way.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return fmt.Errorf("it cannot be read: %w", pathErr.Err)
	}
	return err
}
