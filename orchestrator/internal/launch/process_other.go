//go:build !unix

package launch

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func ownName(f *os.File) string { return f.Name() }

func hideDescriptors() {}

func awaitExit(*os.Process) bool { return false }

func killGroup(p *os.Process) { _ = p.Kill() }

func signalName(syscall.WaitStatus) string { return "" }

// ResidentPeak is not known here.
func ResidentPeak(int) int64 { return 0 }

func maxResident(*os.ProcessState) int64 { return 0 }
