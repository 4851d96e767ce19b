package cli

import "golang.org/x/sys/unix"

// peakMemory is the largest resident set of this process, in bytes.
func peakMemory() int64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return r.Maxrss << 10
}
