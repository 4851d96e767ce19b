//go:build amd64 || arm64

package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// KernelSeals reports whether this kernel has both mechanisms with which the
// analyser seals itself, Landlock and a seccomp that ends a process.
func KernelSeals() bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < 1 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
