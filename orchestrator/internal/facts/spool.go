package facts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protodelim"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// Spool keeps facts until they are told, in an anonymous temporary file
// (unlinked as soon as it is open, mode 0600): a cluster may have more of them
// than should stay in memory. It is not safe for concurrent use.
type Spool struct {
	file *os.File
	out  *bufio.Writer
}

// NewSpool opens a temporary file in the system's folder for these. The caller
// must Close the spool.
func NewSpool() (*Spool, error) {
	f, err := os.CreateTemp("", "reach-facts-*")
	if err != nil {
		return nil, fmt.Errorf("opening a temporary file: %w", err)
	}
	// Where an open file cannot be removed, Close removes it.
	_ = os.Remove(f.Name())
	return &Spool{file: f, out: bufio.NewWriterSize(f, 64<<10)}, nil
}

// Add keeps a fact.
func (s *Spool) Add(f *reachv1.Fact) error {
	if _, err := protodelim.MarshalTo(s.out, f); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	return nil
}

// Each calls yield with every fact in the order in which they were added.
func (s *Spool) Each(yield func(*reachv1.Fact) error) error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	in := bufio.NewReaderSize(s.file, 64<<10)
	for {
		f := &reachv1.Fact{}
		err := protodelim.UnmarshalOptions{MaxSize: -1}.UnmarshalFrom(in, f)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a temporary file: %w", err)
		}
		if err := yield(f); err != nil {
			return err
		}
	}
}

// Close releases the temporary file. It may be called more than once.
func (s *Spool) Close() error {
	err := s.file.Close()
	_ = os.Remove(s.file.Name())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
