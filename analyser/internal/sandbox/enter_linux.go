//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"iter"

	"golang.org/x/sys/unix"
)

// Enter seals the process for the rest of its life: from then on it can read
// files below dirs, use the descriptors that are open, and compute. The
// directories must exist; symbolic links in their own paths are followed now,
// links below them do not lead out. Without any, no file can be opened at all.
// Everything that needs a file outside of dirs must have happened before.
//
// A wall that the kernel does not have does not stand in the report, without
// an error. An error means that a wall which could stand does not: the caller
// must not go on. Enter is called once; it may be called while other
// goroutines run.
func Enter(dirs []string) (Report, error) {
	if err := checkDescriptors(); err != nil {
		return absent("not entered"), err
	}
	// Nobody of the same user may attach to this process, and what it has
	// read does not end in a core file.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return absent("not entered"), fmt.Errorf("making the process undumpable: %w", err)
	}
	var r Report
	var err error
	// Landlock first: its system calls are not on seccomp's list.
	if r.Landlock, err = enterLandlock(dirs); err != nil {
		return r, err
	}
	r.Seccomp, err = enterSeccomp()
	return r, err
}

// maxDescriptor bounds the search for open descriptors. The analyser is
// started with three and opens a handful.
const maxDescriptor = 4096

// openDescriptors yields the numbers below maxDescriptor that are open, in order.
// Poll says of many at once which are not, where a call for each takes a
// millisecond.
func openDescriptors() iter.Seq[int] {
	return func(yield func(int) bool) {
		// Poll takes no more at once than the process may have open.
		var asked [256]unix.PollFd
		for first := 0; first < maxDescriptor; first += len(asked) {
			for i := range asked {
				asked[i] = unix.PollFd{Fd: int32(first + i)}
			}
			_, err := unix.Poll(asked[:], 0)
			for i, a := range asked {
				// When it could not tell, each is looked at.
				if (err != nil || a.Revents&unix.POLLNVAL == 0) && !yield(first+i) {
					return
				}
			}
		}
	}
}

// checkDescriptors returns an error when a descriptor above standard error
// leads to a file or device that it can write: somebody left it to us, and no
// wall takes it away. A duplicate of a standard descriptor is none.
func checkDescriptors() error {
	var standard []unix.Stat_t
	for fd := range openDescriptors() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			continue
		}
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return fmt.Errorf("looking at descriptor %d: %w", fd, err)
		}
		if fd <= 2 {
			standard = append(standard, stat)
			continue
		}
		kind := stat.Mode & unix.S_IFMT
		writes := flags&unix.O_ACCMODE != unix.O_RDONLY && flags&unix.O_PATH == 0
		device := kind == unix.S_IFBLK || kind == unix.S_IFCHR && stat.Rdev != unix.Mkdev(1, 3) // which is /dev/null
		if !writes || kind != unix.S_IFREG && !device {
			continue
		}
		if !same(standard, stat) {
			return fmt.Errorf("descriptor %d can write to a file: start the analyser with a pipe as standard output and no descriptor above 2", fd)
		}
	}
	return nil
}

func same(stats []unix.Stat_t, s unix.Stat_t) bool {
	for _, t := range stats {
		if t.Dev == s.Dev && t.Ino == s.Ino {
			return true
		}
	}
	return false
}
