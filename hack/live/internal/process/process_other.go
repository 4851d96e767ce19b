//go:build !linux

package process

import "syscall"

// attributes keeps the interrupt of a terminal from the child.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
