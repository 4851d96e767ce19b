package report

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// swap moves the folder dir to target. A target that exists takes the place of
// dir in the same step.
func swap(dir, target string) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(dir, target)
	}
	err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, target, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// The file system cannot exchange.
		return swapInTwoSteps(dir, target)
	}
	return err
}
