package commit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// loose returns an object that has a file of its own. The error is
// fs.ErrNotExist when there is none.
func (s *store) loose(id plumbing.Hash) (object, error) {
	hex := id.String()
	var broken error
	for _, dir := range s.dirs {
		name := filepath.Join(dir, hex[:2], hex[2:])
		o, err := s.looseFile(name)
		switch {
		case err == nil:
			if err = verify(id, o); err == nil {
				return o, nil
			}
			broken = fmt.Errorf("loose object %s: %w", hex, err)
		case !notThere(err):
			broken = fmt.Errorf("loose object %s: %w", hex, err)
		}
	}
	if broken != nil {
		return object{}, broken
	}
	return object{}, fs.ErrNotExist
}

// maxLooseHeader is the length of "commit 9223372036854775807\0", about.
const maxLooseHeader = 32

func (s *store) looseFile(name string) (object, error) {
	file, err := openFile(name)
	if err != nil {
		return object{}, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return object{}, err
	}
	return s.readLoose(file, st.Size())
}

// readLoose reads an object from the size bytes of its file.
func (s *store) readLoose(r io.ReaderAt, size int64) (object, error) {
	f := openInflater(r, 0, size)
	defer f.close()
	if err := f.start(); err != nil {
		return object{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	kind, size, err := looseHeader(f)
	if err != nil {
		return object{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	budget := s.limits.MaxWork
	if err := s.spend(size, &budget); err != nil {
		return object{}, err
	}
	data, err := f.read(size)
	if err != nil {
		return object{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return object{kind, data}, nil
}

// looseHeader reads "blob 12\0".
func looseHeader(f *inflater) (plumbing.ObjectType, int64, error) {
	var head [maxLooseHeader]byte
	n := 0
	for ; ; n++ {
		if n == len(head) {
			return 0, 0, errors.New("no header")
		}
		if m, err := f.zlib.Read(head[n : n+1]); m == 0 {
			return 0, 0, unexpected(err)
		}
		if head[n] == 0 {
			break
		}
	}
	word, digits, _ := strings.Cut(string(head[:n]), " ")
	kind, err := plumbing.ParseObjectType(word)
	if err != nil || kind.IsDelta() {
		return 0, 0, fmt.Errorf("object type %q", word)
	}
	size, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, 0, errors.New("bad size in header")
	}
	return kind, int64(size), nil
}

// looseWithPrefix calls found for every loose object whose id begins with the
// hexadecimal digits of prefix, at least two.
func (s *store) looseWithPrefix(prefix string, found func(plumbing.Hash) bool) error {
	for _, dir := range s.dirs {
		entries, err := readDir(filepath.Join(dir, prefix[:2]))
		if err != nil {
			return err
		}
		for _, e := range entries {
			hex := prefix[:2] + e.Name()
			if strings.HasPrefix(hex, prefix) && isID(hex) && !found(plumbing.NewHash(hex)) {
				return nil
			}
		}
	}
	return nil
}

// isID reports 40 hexadecimal digits in either case.
func isID(s string) bool { return len(s) == 2*idSize && isHex(s) }

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; !isDigit(s[i]) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
