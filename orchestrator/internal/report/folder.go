package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Folder writes a report folder. It is a Handler; what it writes stands in a
// hidden folder beside the target until Publish, which puts all of it in place
// at once. Discard removes everything, also folders above the target that were
// made for it.
type Folder struct {
	target, dir string
	made        []string
	files       map[string]*lineFile
	pages       []Handler
	published   bool
}

// Page is a file of the folder that a person reads: Markdown, HTML.
type Page struct {
	// File is its name in the folder.
	File string
	// Render returns the handler that has written the page to w when its End
	// returns.
	Render func(w io.Writer) Handler
	// Own returns the program's own text in the page: labels, style, script. A
	// name that is a word of it is not looked for in the page. It may be nil.
	Own func() string
}

// lineFile is a file of lines that is being written.
type lineFile struct {
	file  *os.File
	out   *bufio.Writer
	json  *json.Encoder
	lines int
}

// dataFiles are the files of lines in the order of Handler's methods.
var dataFiles = []string{
	KustomizationsFile, HelmReleasesFile, PlacementsFile, ObjectsFile, OwnershipFile, FilesFile, FindingsFile, HiddenFile, CoverageFile, OracleFile,
}

// CheckTarget reports why a report cannot be put at target: it exists and is not
// a report, or not only a report. Nothing that somebody else wrote is ever
// replaced.
func CheckTarget(target string) error {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking at the output folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("the output folder %s is a file: name another one with --out", target)
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return fmt.Errorf("looking at the output folder: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := readCensus(target, json.Unmarshal); err != nil && !censusTorn(target) {
		return fmt.Errorf("the folder %s exists and is not a report, so it is not replaced: name another one with --out", target)
	}
	known := map[string]bool{}
	for _, name := range Files() {
		known[name] = true
	}
	for _, e := range entries {
		if !known[e.Name()] || !e.Type().IsRegular() {
			return fmt.Errorf("the report folder %s also holds %s, which would be lost: move it away, or name another folder with --out", target, e.Name())
		}
	}
	return nil
}

// censusTorn reports whether a report's census.json is empty, as file systems leave
// what was written just before the machine lost its power.
func censusTorn(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, CensusFile))
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// Create makes the hidden folder beside target, and the folders above it. The
// pages are written from the same records as the data.
func Create(target string, pages ...Page) (*Folder, error) {
	if err := CheckTarget(target); err != nil {
		return nil, err
	}
	f := &Folder{target: target, files: map[string]*lineFile{}}
	err := f.makeParents(filepath.Dir(target))
	if err == nil {
		f.dir, err = os.MkdirTemp(filepath.Dir(target), "."+filepath.Base(target)+".tmp-*")
	}
	if err == nil {
		// The report is for whoever may read its parent; only the alias file is
		// private.
		err = os.Chmod(f.dir, 0o755)
	}
	for _, name := range append([]string{CensusFile}, dataFiles...) {
		if err == nil {
			err = f.open(name)
		}
	}
	for _, page := range pages {
		if err == nil {
			err = f.open(page.File)
		}
		if err == nil {
			f.pages = append(f.pages, page.Render(f.files[page.File].out))
		}
	}
	if err != nil {
		f.Discard()
		return nil, fmt.Errorf("cannot write the output folder %s: %w: name another one with --out", target, cause(err))
	}
	return f, nil
}

// cause leaves the path out of an error about a file: the message names the
// folder that the user knows.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// makeParents is os.MkdirAll that remembers what it made.
func (f *Folder) makeParents(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is a file", dir)
		}
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := f.makeParents(parent); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		f.made = append(f.made, dir)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return err
}

func (f *Folder) open(name string) error {
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 32<<10)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	f.files[name] = &lineFile{file: file, out: out, json: encoder}
	return nil
}

// Dir is the folder that holds the files now: the hidden one until Publish.
func (f *Folder) Dir() string {
	if f.published {
		return f.target
	}
	return f.dir
}

func (f *Folder) line(name string, record any) error {
	file := f.files[name]
	file.lines++
	if err := file.json.Encode(record); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return tee(f.pages).all(record)
}

// The methods of Handler.
func (f *Folder) Begin(h *Header) error                { return tee(f.pages).Begin(h) }
func (f *Folder) Kustomization(r *Kustomization) error { return f.line(KustomizationsFile, r) }
func (f *Folder) HelmRelease(r *HelmRelease) error     { return f.line(HelmReleasesFile, r) }
func (f *Folder) Placement(r *Placement) error         { return f.line(PlacementsFile, r) }
func (f *Folder) Object(r *Object) error               { return f.line(ObjectsFile, r) }
func (f *Folder) Live(r *LiveObject) error             { return f.line(OwnershipFile, r) }
func (f *Folder) File(r *File) error                   { return f.line(FilesFile, r) }
func (f *Folder) Finding(r *Finding) error             { return f.line(FindingsFile, r) }
func (f *Folder) Hidden(r *Hidden) error               { return f.line(HiddenFile, r) }
func (f *Folder) Coverage(r *CoverageRow) error        { return f.line(CoverageFile, r) }
func (f *Folder) Oracle(r *OracleRow) error            { return f.line(OracleFile, r) }

// End fills in c.Data and writes what is left.
func (f *Folder) End(c *Census) error {
	c.Data = c.Data[:0]
	for _, name := range dataFiles {
		c.Data = append(c.Data, DataFile{File: name, Lines: f.files[name].lines, Schema: SchemaFile + "#" + recordName(name)})
	}
	f.files[CensusFile].json.SetIndent("", "  ")
	if err := f.files[CensusFile].json.Encode(c); err != nil {
		return fmt.Errorf("writing %s: %w", CensusFile, err)
	}
	if err := f.endPages(c); err != nil {
		return fmt.Errorf("writing the pages of the report: %w", err)
	}
	return f.finish()
}

// endPages ends the pages, which know nothing of each other, at the same time. The
// error is that of the first of them.
func (f *Folder) endPages(c *Census) error {
	errs := make([]error, len(f.pages))
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i, page := range f.pages {
		running.Go(func() error {
			errs[i] = page.End(c)
			return nil
		})
	}
	_ = running.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// finish closes every file. Nothing waits for the disk: a report can be made again
// from the commit, and one that a crash of the machine tore is seen to be torn
// (censusTorn, and the numbers of lines in census.json).
func (f *Folder) finish() error {
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		file := f.files[name]
		if err := errors.Join(file.out.Flush(), file.file.Close()); err != nil {
			return fmt.Errorf("writing %s: %w", name, cause(err))
		}
	}
	return nil
}

// Publish puts the folder in place of the target, which is a report or does not
// exist: readers see the old one or the new one.
func (f *Folder) Publish() error {
	err := CheckTarget(f.target)
	if err == nil {
		err = swap(f.dir, f.target)
	}
	if err != nil {
		return fmt.Errorf("putting the report in place: %w", err)
	}
	f.published = true
	return nil
}

// Discard removes what was written and not published. It may be called at any
// time, also after Publish.
func (f *Folder) Discard() {
	for _, file := range f.files {
		_ = file.file.Close()
	}
	// After a swap the hidden folder is the report that was replaced.
	if f.dir != "" && strings.Contains(filepath.Base(f.dir), ".tmp-") {
		_ = os.RemoveAll(f.dir)
	}
	if f.published {
		return
	}
	for i := len(f.made) - 1; i >= 0; i-- {
		// Not RemoveAll: somebody else may have put something there.
		_ = os.Remove(f.made[i])
	}
}
