package commit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// openFile is the only place of this package that opens anything, and it opens
// for reading. What is neither a file nor a directory does not exist: a pipe
// in place of a file would block whoever opens it.
func openFile(name string) (*os.File, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() && !st.IsDir() {
		return nil, fmt.Errorf("%s is not a file: %w", name, fs.ErrNotExist)
	}
	return os.Open(name)
}

// readFile returns a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes: %w", name, limit, ErrLimit)
	}
	return data, nil
}

// readDir lists a directory in no particular order; a missing one is empty.
func readDir(name string) ([]fs.DirEntry, error) {
	f, err := openFile(name)
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func isDirectory(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

// notThere reports that a path leads to nothing, be it because a parent is a
// file.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readUpTo fills p as far as the file goes.
func readUpTo(r io.Reader, p []byte) (int, error) {
	n, err := io.ReadFull(r, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}
