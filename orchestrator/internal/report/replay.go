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
	"reflect"
)

// readCensus reads census.json and checks that it is one of this contract.
func readCensus(dir string, decode unmarshal) (*Census, error) {
	name := filepath.Join(dir, CensusFile)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not a report folder (%w): name one that reach census wrote", dir, err)
	}
	c := &Census{}
	if err := decode(data, c); err != nil {
		return nil, fmt.Errorf("%s is not a report folder (%s: %w): name one that reach census wrote", dir, CensusFile, err)
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
		if _, named := lines[name]; !named && laterFile(name) {
			// An earlier version of reach wrote the report.
			continue
		}
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

// laterFile reports whether a data file came after the first version of the
// contract.
func laterFile(name string) bool { return name == HiddenFile || name == OracleFile }

// DataFiles lists the files of lines in the order of Handler's methods.
func DataFiles() []string { return append([]string(nil), dataFiles...) }

// NewRecord returns an empty record of a data file, a pointer to its struct.
func NewRecord(name string) any { return newRecord(name)() }

// recordName is the name of the struct that a line of a data file holds.
func recordName(name string) string { return reflect.TypeOf(NewRecord(name)).Elem().Name() }

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
		case OwnershipFile:
			return &LiveObject{}
		case FilesFile:
			return &File{}
		case FindingsFile:
			return &Finding{}
		case HiddenFile:
			return &Hidden{}
		case OracleFile:
			return &OracleRow{}
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
