package alias

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/google/renameio/v2"

	"github.com/gitops-reach/reach/orchestrator/internal/bounded"
)

// Schema names the format of a mapping file.
const Schema = "reach.aliases/v1"

// SchemaID is the $id of the JSON Schema of a mapping file.
const SchemaID = "urn:gitops-reach:reach.aliases:v1"

// maxFile bounds a mapping file: 16 MiB.
const maxFile = 16 << 20

type document struct {
	JSONSchema string `json:"$schema,omitempty"`
	Schema     string `json:"schema"`
	Mapping
}

// Load reads a mapping file. A file that does not exist is an empty mapping.
func Load(name string) (Mapping, error) {
	data, large, err := bounded.ReadFile(name, "the alias file", maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Mapping{}, nil
	case err != nil:
		return Mapping{}, err
	case large:
		return Mapping{}, fmt.Errorf("%s: larger than %d bytes, so not an alias file that reach wrote: move it away to start afresh", name, maxFile)
	}
	var d document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil || decoder.More() {
		line := bytes.Count(data[:min(int(decoder.InputOffset()), len(data))], []byte("\n")) + 1
		return Mapping{}, fmt.Errorf("%s:%d: not an alias file that reach wrote: mend it, or move it away to start afresh", name, line)
	}
	if d.Schema != Schema {
		return Mapping{}, fmt.Errorf("%s: the schema is %q, this version of reach knows %q: move the file away to start afresh", name, d.Schema, Schema)
	}
	if err := d.validate(); err != nil {
		return Mapping{}, fmt.Errorf("%s: %w", name, err)
	}
	return d.Mapping, nil
}

// Pending is a mapping file that is written and waits to be put in place.
type Pending struct {
	file *renameio.PendingFile
}

// JSON writes the mapping as a mapping file has it.
func (m Mapping) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document{SchemaID, Schema, m.Over(Mapping{})})
}

// Write prepares the mapping file with mode 0600.
func (m Mapping) Write(name string) (*Pending, error) {
	f, err := renameio.NewPendingFile(name, renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return nil, fmt.Errorf("writing the alias file: %w", err)
	}
	if err := m.JSON(f); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the alias file: %w", err), f.Cleanup())
	}
	return &Pending{f}, nil
}

// Commit puts the file in place.
func (p *Pending) Commit() error {
	if err := p.file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("writing the alias file: %w", err)
	}
	return nil
}

// Discard removes what was prepared; after Commit it does nothing.
func (p *Pending) Discard() { _ = p.file.Cleanup() }
