//go:build !linux

package report

import (
	"errors"
	"io/fs"
	"os"
)

// swap moves the folder dir to target. A target that exists takes the place of
// dir.
func swap(dir, target string) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(dir, target)
	}
	return swapInTwoSteps(dir, target)
}
