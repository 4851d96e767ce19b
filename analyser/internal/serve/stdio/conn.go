// Package stdio makes one connection out of standard input and output, and a
// listener that accepts it once, for a gRPC server whose only peer is the
// process that started it.
//
// After [Take] the stream belongs to the connection alone: whatever else in
// the process prints to standard output reaches standard error, whatever else
// reads standard input sees its end. The package opens no file and no socket.
//
// It cannot see whether its peer is alive other than by the end of standard
// input, which is why a tool that wants the process to end closes that.
package stdio

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a net.Conn that reads from one file and writes to another. The peer
// has gone when Read returns io.EOF. Deadlines and the unblocking of pending
// calls by Close work where the operating system can poll the files, which
// holds for pipes and sockets on Unix.
type Conn struct {
	in, out *os.File
	once    sync.Once
	done    chan struct{}
	err     error
}

// New makes a connection of the two files and owns them from then on.
func New(in, out *os.File) *Conn {
	return &Conn{in: in, out: out, done: make(chan struct{})}
}

// Read reads what the peer sent.
func (c *Conn) Read(p []byte) (int, error) { return c.in.Read(p) }

// Write sends to the peer.
func (c *Conn) Write(p []byte) (int, error) { return c.out.Write(p) }

// Close closes both files. Calls after the first return the same error.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.done)
		c.err = errors.Join(c.in.Close(), c.out.Close())
	})
	return c.err
}

// LocalAddr names standard input and output.
func (c *Conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr names standard input and output.
func (c *Conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline returns os.ErrNoDeadline when the file cannot be polled.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.in.SetReadDeadline(t) }

// SetWriteDeadline returns os.ErrNoDeadline when the file cannot be polled.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }

// Listen returns a listener whose first Accept yields c. The second waits
// until c is closed and returns io.EOF, or until the listener is closed and
// returns net.ErrClosed. Closing the listener leaves c open.
func Listen(c *Conn) net.Listener {
	return &listener{conn: c, done: make(chan struct{})}
}

type listener struct {
	conn   *Conn
	accept sync.Once
	close  sync.Once
	done   chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	default:
	}
	var conn net.Conn
	l.accept.Do(func() { conn = l.conn })
	if conn != nil {
		return conn, nil
	}
	select {
	case <-l.done:
		return nil, net.ErrClosed
	case <-l.conn.done:
		return nil, io.EOF
	}
}

func (l *listener) Close() error {
	l.close.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "stdio" }
func (addr) String() string  { return "stdio" }
