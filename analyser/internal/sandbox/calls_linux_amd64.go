package sandbox

import "golang.org/x/sys/unix"

const (
	arch = uint32(unix.AUDIT_ARCH_X86_64)
	// numbers is the end of the numbers of this architecture's calls.
	numbers = uint32(0x40000000)

	statAt       = "newfstatat"
	numberStatAt = unix.SYS_NEWFSTATAT
)
