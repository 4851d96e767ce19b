// Package stream keeps the answer of an analyser until it is whole.
//
// Names must be known before the first line is written, and the clusters are
// known only with the last message; a stream that breaks off must leave nothing.
// So messages are kept until the stream proved to be complete, in order and in
// agreement with its own counts: those of a small census in memory, which saves
// writing and reading them, those of a larger one in an anonymous temporary file
// (unlinked as soon as it is open, mode 0600), of which memory holds one message.
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

// inMemory is the most that messages have as they are written, in bytes, before
// they go to a file. As messages they take some times as much.
const inMemory = 4 << 20

// ErrNonsense is what every refusal of a stream wraps.
var ErrNonsense = errors.New("the analyser's answer is not a census")

// Recorder takes a stream in. It is not safe for concurrent use.
type Recorder struct {
	check
	// messages are all there were, while there is no file.
	messages []*reachv1.CensusResponse
	file     *os.File
	out      *bufio.Writer
	bytes    int64
	limit    int64
	inMemory int64
	// message is the last one as it was written.
	message []byte
}

// NewRecorder returns one that has taken nothing yet. The caller must Close it,
// or the recording made of it.
func NewRecorder() *Recorder { return &Recorder{limit: MaxBytes, inMemory: inMemory} }

// spill opens a temporary file in the system's folder for these and moves there
// what is in memory.
func (r *Recorder) spill() error {
	f, err := os.CreateTemp("", "reach-*")
	if err != nil {
		return fmt.Errorf("opening a temporary file: %w", err)
	}
	// Where an open file cannot be removed, Close removes it.
	_ = os.Remove(f.Name())
	r.file, r.out = f, bufio.NewWriterSize(f, 64<<10)
	for _, m := range r.messages {
		if err := r.write(m, proto.Size(m)); err != nil {
			return err
		}
	}
	r.messages = nil
	return nil
}

// Add takes the next message, which must not be changed from then on. Progress is
// ignored; a message that cannot follow the one before is refused with ErrNonsense.
func (r *Recorder) Add(m *reachv1.CensusResponse) error {
	if m.GetProgress() != nil {
		return nil
	}
	if err := r.next(m); err != nil {
		return err
	}
	size := proto.Size(m)
	if r.bytes += int64(protowire.SizeBytes(size)); r.bytes > r.limit {
		return fmt.Errorf("%w: it is larger than %d bytes", ErrNonsense, r.limit)
	}
	if r.file == nil {
		if r.bytes <= r.inMemory {
			r.messages = append(r.messages, m)
			return nil
		}
		if err := r.spill(); err != nil {
			return err
		}
	}
	return r.write(m, size)
}

// write adds a message to the file, as protodelim.MarshalTo does, without a
// buffer for each. Its size was just computed.
func (r *Recorder) write(m *reachv1.CensusResponse, size int) error {
	r.message = protowire.AppendVarint(r.message[:0], uint64(size))
	var err error
	r.message, err = proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(r.message, m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNonsense, err)
	}
	if _, err := r.out.Write(r.message); err != nil {
		return fmt.Errorf("writing a temporary file: %w", err)
	}
	return nil
}

// Finish returns the recording, or ErrNonsense when the stream is not whole.
// analyserVersion is what the analyser said about itself.
func (r *Recorder) Finish(analyserVersion string) (*Recording, error) {
	if err := r.finish(); err != nil {
		return nil, err
	}
	if r.file != nil {
		if err := r.out.Flush(); err != nil {
			return nil, fmt.Errorf("writing a temporary file: %w", err)
		}
	}
	return &Recording{
		AnalyserVersion: analyserVersion,
		Header:          r.header, Rules: r.rules, Summary: r.summary, Clusters: r.clusterRoles(),
		messages: r.messages, file: r.file,
	}, nil
}

// Close releases the temporary file. It may be called more than once.
func (r *Recorder) Close() error { return closeFile(r.file) }

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
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
	messages []*reachv1.CensusResponse // when there is no file
	file     *os.File
}

// Close releases the temporary file.
func (r *Recording) Close() error { return closeFile(r.file) }

// Each calls f with every message in the order of the stream. f must not change
// them.
func (r *Recording) Each(f func(*reachv1.CensusResponse) error) error {
	if r.file == nil {
		for _, m := range r.messages {
			if err := f(m); err != nil {
				return err
			}
		}
		return nil
	}
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
