//go:build !linux || !(amd64 || arm64)

package sandbox

import "runtime"

// Enter reports that this system has no wall to enter.
func Enter(dirs []string) (Report, error) {
	return absent("not available on " + runtime.GOOS + "/" + runtime.GOARCH), nil
}
