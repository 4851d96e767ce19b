package commit

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"sync"
)

// section reads a file from a place on, in small steps and without a file
// position, so that many can read one file.
type section struct {
	r   io.ReaderAt
	pos int64
	end int64
}

func (s *section) Read(p []byte) (int, error) {
	if s.pos >= s.end {
		return 0, io.EOF
	}
	if rest := s.end - s.pos; int64(len(p)) > rest {
		p = p[:rest]
	}
	n, err := s.r.ReadAt(p, s.pos)
	s.pos += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// inflater is a reusable pair of buffered reader and decompressor.
type inflater struct {
	section section
	buf     *bufio.Reader
	zlib    io.ReadCloser
}

var inflaters = sync.Pool{New: func() any {
	return &inflater{buf: bufio.NewReaderSize(nil, 4096)}
}}

// openInflater positions an inflater at the bytes [pos, end) of r.
func openInflater(r io.ReaderAt, pos, end int64) *inflater {
	f := inflaters.Get().(*inflater)
	f.section = section{r, pos, end}
	f.buf.Reset(&f.section)
	return f
}

func (f *inflater) close() {
	f.section = section{}
	inflaters.Put(f)
}

// start begins a zlib stream at the current position.
func (f *inflater) start() error {
	if f.zlib == nil {
		z, err := zlib.NewReader(f.buf)
		if err != nil {
			return unexpected(err)
		}
		f.zlib = z
		return nil
	}
	return unexpected(f.zlib.(zlib.Resetter).Reset(f.buf, nil))
}

// maxInflation is the highest ratio of a deflate stream, see zlib's technical
// notes.
const maxInflation = 1032

// read returns the next size bytes, which must be the last of the stream. What
// is allocated is never far from what the stream really holds.
func (f *inflater) read(size int64) ([]byte, error) {
	available := f.section.end - f.section.pos + int64(f.buf.Buffered())
	if size/maxInflation > available+64 {
		return nil, fmt.Errorf("%d bytes cannot come from %d compressed ones", size, available)
	}
	const step = 1 << 20
	data := make([]byte, min(size, step))
	for have := int64(0); ; {
		n, err := io.ReadFull(f.zlib, data[have:])
		if have += int64(n); err != nil {
			return nil, unexpected(err)
		}
		if have == size {
			break
		}
		grown := make([]byte, min(size, 4*have))
		copy(grown, data)
		data = grown
	}
	var one [1]byte
	switch n, err := io.ReadFull(f.zlib, one[:]); {
	case n > 0:
		return nil, errors.New("longer than its header says")
	case err != io.EOF:
		return nil, unexpected(err)
	}
	return data, nil
}

// unexpected turns an end of file in the middle into what it is.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
