package sandbox

import "golang.org/x/sys/unix"

const (
	arch = uint32(unix.AUDIT_ARCH_AARCH64)
	// numbers is the end of the numbers of this architecture's calls.
	numbers = uint32(0x80000000)

	statAt       = "newfstatat"
	numberStatAt = unix.SYS_FSTATAT
)
