package report

import (
	"errors"
	"os"
)

// swapInTwoSteps exchanges two folders where that is not one system call. When
// the second step fails the first is undone.
func swapInTwoSteps(dir, target string) error {
	aside := dir + "-old"
	if err := os.Rename(target, aside); err != nil {
		return err
	}
	if err := os.Rename(dir, target); err != nil {
		return errors.Join(err, os.Rename(aside, target))
	}
	return os.Rename(aside, dir)
}
