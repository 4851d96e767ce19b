package launch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// conn is the child's standard input and output as one connection. It looks
// at what passes so that a failure can be explained: whether the child opened
// with HTTP/2, how much it sent, and which side ended the connection.
type conn struct {
	in, out *os.File
	limit   int64 // bytes accepted from the child

	mu    sync.Mutex
	head  []byte // first bytes from the child, at most headLen
	total int64
	// ended is the first error of the child's side: the end of its output or
	// a broken pipe to its input.
	ended error
	// foreign: the first bytes are not the start of an HTTP/2 connection.
	foreign, flooded, closed bool

	once    sync.Once
	allRead chan struct{} // closed when Read has failed for the first time
}

const headLen = 64

var (
	errForeign = errors.New("the output of the analyser is not HTTP/2")
	errFlooded = errors.New("the analyser sent too much")
)

func newConn(in, out *os.File, limit int64) *conn {
	return &conn{in: in, out: out, limit: limit, allRead: make(chan struct{})}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	if err != nil {
		c.once.Do(func() { close(c.allRead) })
	}
	return n, err
}

func (c *conn) read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total < headLen && n > 0 {
		c.head = append(c.head, p[:min(n, headLen-len(c.head))]...)
		c.foreign = !settingsFrame(c.head)
	}
	c.total += int64(n)
	c.flooded = c.total > c.limit
	switch {
	case c.foreign:
		return 0, errForeign
	case c.flooded:
		return 0, errFlooded
	}
	c.end(err)
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	if err != nil {
		// A child that is gone cannot be written to, and what it said last
		// is worth more than that: gRPC stops reading when it learns of
		// this error.
		select {
		case <-c.allRead:
		case <-time.After(time.Second):
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(err)
	return n, err
}

// end notes what the child's side did; errors that follow from our own Close
// say nothing about it.
func (c *conn) end(err error) {
	if err != nil && c.ended == nil && !c.closed && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.ended = err
	}
}

// Close closes both pipes, which also ends pending calls.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return errors.Join(ignoreClosed(c.out.Close()), ignoreClosed(c.in.Close()))
}

// CloseWrite closes the child's standard input, which asks it to end.
func (c *conn) CloseWrite() error { return ignoreClosed(c.out.Close()) }

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// settingsFrame reports whether b may be the beginning of a server's first
// frame, which is SETTINGS on stream 0 (RFC 9113, section 3.4): length of
// three bytes, type 4, flags 0, stream of four bytes.
func settingsFrame(b []byte) bool {
	for i, c := range b[:min(len(b), 9)] {
		switch i {
		case 1:
			if c > 0x40 {
				return false
			}
		case 2:
		case 3:
			if c != 4 {
				return false
			}
		default:
			if c != 0 {
				return false
			}
		}
	}
	return true
}

// report is what the connection knows about its own end.
type report struct {
	ended           error
	foreign, closed bool
	flooded         bool
	head            string
}

func (c *conn) report() report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return report{
		ended: c.ended, foreign: c.foreign, closed: c.closed, flooded: c.flooded,
		head: printable(string(c.head), 200),
	}
}

func (r report) endedHow() string {
	if errors.Is(r.ended, io.EOF) {
		return "it closed its standard output and went on running"
	}
	return fmt.Sprintf("it closed its standard input and went on running (%v)", reason(r.ended))
}

func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.in.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

type addr struct{}

func (addr) Network() string { return "stdio" }
func (addr) String() string  { return "stdio" }
