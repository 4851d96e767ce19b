// Package stream keeps the answer of an analyser until it is whole.
//
// Names must be known before the first line is written, and the clusters are
// known only with the last message; a stream that breaks off must leave nothing.
// So messages go to an anonymous temporary file (unlinked as soon as it is open,
// mode 0600) and are read from there once the stream proved to be complete, in
// order and in agreement with its own counts. Memory holds one message.
package stream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// MaxBytes bounds what an analyser may send in one census.
const MaxBytes = 8 << 30

// ErrNonsense is what every refusal of a stream wraps.
var ErrNonsense = errors.New("the analyser's answer is not a census")

// Recorder takes a stream in. It is not safe for concurrent use.
type Recorder struct {
	check
	file  *os.File
	out   *bufio.Writer
	bytes int64
	limit int64
	// message is the last one as it was written.
	message []byte
}

// NewRecorder opens a temporary file in the system's folder for these. The
// caller must Close the recorder, or the recording made of it.
func NewRecorder() (*Recorder, error) {
	f, err := os.CreateTemp("", "reach-*")
	if err != nil {
		return nil, fmt.Errorf("opening a temporary file: %w", err)
	}
	// Where an open file cannot be removed, Close removes it.
	_ = os.Remove(f.Name())
	return &Recorder{file: f, out: bufio.NewWriterSize(f, 64<<10), limit: MaxBytes}, nil
}

// Add takes the next message. Progress is ignored; a message that cannot follow
// the one before is refused with ErrNonsense.
func (r *Recorder) Add(m *reachv1.CensusResponse) error {
	if m.GetProgress() != nil {
		return nil
	}
	if err := r.next(m); err != nil {
		return err
	}
	// As protodelim.MarshalTo, without a buffer for each message.
	size := proto.Size(m)
	r.message = protowire.AppendVarint(r.message[:0], uint64(size))
	var err error
	r.message, err = proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(r.message, m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNonsense, err)
	}
	if _, err := r.out.Write(r.message); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	if r.bytes += int64(len(r.message)); r.bytes > r.limit {
		return fmt.Errorf("%w: it is larger than %d bytes", ErrNonsense, r.limit)
	}
	return nil
}

// Finish returns the recording, or ErrNonsense when the stream is not whole.
// analyserVersion is what the analyser said about itself.
func (r *Recorder) Finish(analyserVersion string) (*Recording, error) {
	if err := r.finish(); err != nil {
		return nil, err
	}
	if err := r.out.Flush(); err != nil {
		return nil, fmt.Errorf("writing a temporary file: %w", err)
	}
	return &Recording{
		AnalyserVersion: analyserVersion,
		Header:          r.header, Rules: r.rules, Summary: r.summary, Clusters: r.clusterRoles(),
		file: r.file,
	}, nil
}

// Close releases the temporary file. It may be called more than once.
func (r *Recorder) Close() error { return closeFile(r.file) }

func closeFile(f *os.File) error {
	err := f.Close()
	_ = os.Remove(f.Name())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Recording is a whole stream.
type Recording struct {
	AnalyserVersion string
	Header          *reachv1.Header
	Rules           []*reachv1.RuleResult
	Summary         *reachv1.Summary
	// Clusters holds every name of a cluster that the stream uses, with its
	// role: "hub", "spoke" or "cluster".
	Clusters map[string]string
	file     *os.File
}

// Close releases the temporary file.
func (r *Recording) Close() error { return closeFile(r.file) }

// Each calls f with every message in the order of the stream.
func (r *Recording) Each(f func(*reachv1.CensusResponse) error) error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	in := bufio.NewReaderSize(r.file, 64<<10)
	options := protodelim.UnmarshalOptions{MaxSize: -1}
	for {
		m := &reachv1.CensusResponse{}
		err := options.UnmarshalFrom(in, m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a temporary file: %w", err)
		}
		if err := f(m); err != nil {
			return err
		}
	}
}
