package process

import "syscall"

// attributes has the kernel end the child when we end, and keeps the
// interrupt of a terminal from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
