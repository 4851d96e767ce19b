//go:build unix && !linux

package launch

import (
	"os"
	"runtime"
	"syscall"
)

// attributes puts the child into a process group of its own, so that it can
// be ended with all it started. That we end, it learns from the end of its
// standard input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func ownName(f *os.File) string { return f.Name() }

func hideDescriptors() { hideEach() }

func awaitExit(*os.Process) bool { return false }

// ResidentPeak is not known here.
func ResidentPeak(int) int64 { return 0 }

func maxResident(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return usage.Maxrss // bytes there, KiB elsewhere
	}
	return int64(usage.Maxrss) << 10
}
