// Package bounded reads the files that users name, no further than such a file
// can be long.
package bounded

import (
	"fmt"
	"io"
	"os"
)

// ReadFile returns the content of a file, and large when it has more than limit
// bytes; the content is then nil. An error says what was being read.
func ReadFile(name, what string, limit int) (data []byte, large bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", what, err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("reading %s: %w", what, err)
	case len(data) > limit:
		return nil, true, nil
	}
	return data, false, nil
}
