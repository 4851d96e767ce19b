// Package facts keeps what was seen on clusters in a file, so that a census can
// be repeated and reviewed without access.
//
// A file holds one reachv1.Fact a line as ProtoJSON; empty lines and lines that
// begin with # are skipped. Fields that a newer version wrote are skipped too.
package facts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protojson"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// MaxLine bounds a line of a file, in bytes: a fact in JSON is larger than in a
// message.
const MaxLine = 4 * reachv1.MaxFactsBytes

// ReadFile calls yield with every fact of a file. An error of the file names
// the line.
func ReadFile(name string, yield func(*reachv1.Fact) error) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("reading facts: %w", err)
	}
	defer f.Close()
	return Read(f, name, yield)
}

// Read calls yield with every fact that is read from r; name is for errors.
func Read(r io.Reader, name string, yield func(*reachv1.Fact) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	decode := protojson.UnmarshalOptions{DiscardUnknown: true}
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		fact := &reachv1.Fact{}
		if err := decode.Unmarshal(line, fact); err != nil {
			return fmt.Errorf("%s:%d: this is no fact: %w", name, n, err)
		}
		if fact.GetCluster() == "" {
			return fmt.Errorf("%s:%d: the fact names no cluster", name, n)
		}
		if err := yield(fact); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d bytes", name, n+1, MaxLine)
	} else if err != nil {
		return fmt.Errorf("reading facts: %w", err)
	}
	return nil
}

// Writer writes a file of facts.
type Writer struct {
	out *bufio.Writer
}

// NewWriter returns a writer to w. Flush writes what is left.
func NewWriter(w io.Writer) *Writer { return &Writer{bufio.NewWriterSize(w, 64<<10)} }

// Write writes one fact. The same facts give the same bytes.
func (w *Writer) Write(f *reachv1.Fact) error {
	line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(f)
	if err != nil {
		return fmt.Errorf("writing facts: %w", err)
	}
	// protojson puts blanks at random so that nobody relies on its bytes.
	var compact bytes.Buffer
	if err := json.Compact(&compact, line); err != nil {
		return fmt.Errorf("writing facts: %w", err)
	}
	compact.WriteByte('\n')
	if _, err := w.out.Write(compact.Bytes()); err != nil {
		return fmt.Errorf("writing facts: %w", err)
	}
	return nil
}

// Flush writes what is left.
func (w *Writer) Flush() error { return w.out.Flush() }
