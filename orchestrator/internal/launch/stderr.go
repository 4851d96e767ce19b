package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	maxLine = 4 << 10 // bytes of a line that are kept
	tailLen = 20      // lines that an error can quote
	burst   = 1000    // lines that pass at once
	perSec  = 200     // lines that pass in a second after that
)

// stderr reads the child's standard error: it keeps the last lines for
// errors, and passes on lines at a bounded rate and of bounded size.
type stderr struct {
	limit int64 // bytes in all; more is a flood
	flood func()

	mu       sync.Mutex
	tail     []string
	headline string // line of a panic
}

// pump copies lines from r to w until r ends, and closes w. Longer lines are
// cut; lines beyond the rate are counted and reported in one line.
func (s *stderr) pump(r io.Reader, w io.WriteCloser) {
	defer w.Close()
	in := bufio.NewReaderSize(r, maxLine)
	var total, dropped int64
	bucket := rate{tokens: burst, last: time.Now()}
	report := func() {
		if dropped > 0 {
			fmt.Fprintf(w, "[WARN] %d lines of the analyser's log were dropped\n", dropped)
			dropped = 0
		}
	}
	defer report()
	for {
		line, n, err := readLine(in)
		total += n
		if total > s.limit {
			s.flood()
			// Read on, without keeping anything, until the child is gone.
			_, _ = io.Copy(io.Discard, in)
			return
		}
		if line != "" {
			s.keep(line)
			if bucket.take(time.Now()) {
				report()
				// An error here means that nobody listens any more; the
				// child must not notice.
				_, _ = io.WriteString(w, line+"\n")
			} else {
				dropped++
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line without its end, cut after maxLine bytes,
// and how many bytes it took from r.
func readLine(r *bufio.Reader) (line string, n int64, err error) {
	part, err := r.ReadSlice('\n')
	line, n = string(part), int64(len(part))
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.ReadSlice('\n')
		n += int64(len(part))
	}
	line = strings.TrimRight(line, "\r\n")
	if cut := n - int64(len(line)) - 1; n > maxLine && cut > 0 {
		line += fmt.Sprintf("... (%d more bytes)", cut)
	}
	return line, n, err
}

func (s *stderr) keep(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headline == "" && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		s.headline = printable(line, 1000)
	}
	if len(s.tail) == tailLen {
		s.tail = append(s.tail[:0], s.tail[1:]...)
	}
	s.tail = append(s.tail, line)
}

// last returns the last lines and the one that explains most.
func (s *stderr) last() (lines []string, cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.tail {
		lines = append(lines, printable(line, 1000))
	}
	switch {
	case s.headline != "":
		cause = s.headline
	case len(lines) > 0:
		cause = lines[len(lines)-1]
	}
	return lines, cause
}

// rate is a token bucket of lines.
type rate struct {
	tokens float64
	last   time.Time
}

func (b *rate) take(now time.Time) bool {
	b.tokens = min(burst, b.tokens+now.Sub(b.last).Seconds()*perSec)
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// childLog is the logger that go-plugin gets. What go-plugin itself says
// about the life of the child is detail, since errors tell it better; what
// the child says keeps its level. Both are made printable, because a message
// may quote the repository.
type childLog struct {
	hclog.Logger
	child bool
}

// Named is how go-plugin marks lines of the child.
func (l childLog) Named(name string) hclog.Logger {
	return childLog{l.Logger.Named(name), name == program}
}

func (l childLog) Log(level hclog.Level, msg string, args ...any) {
	if !l.child && level > hclog.Debug {
		level = hclog.Debug
	}
	for i, arg := range args {
		switch arg := arg.(type) {
		case bool, int, int64, uint64, float64:
		default:
			args[i] = printable(fmt.Sprint(arg), 2*maxLine)
		}
	}
	l.Logger.Log(level, printable(msg, 2*maxLine), args...)
}

func (l childLog) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l childLog) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l childLog) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l childLog) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l childLog) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }
