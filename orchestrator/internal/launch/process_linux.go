package launch

import (
	"bufio"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts the child into a process group of its own, so that it can
// be ended with all it started, and has the kernel end it when we end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ownName is a name of the open file itself. A child that is started by it
// cannot be another file that was moved to the same path meanwhile.
func ownName(f *os.File) string {
	fd := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	if _, err := os.Stat(fd); err != nil {
		return f.Name() // no /proc
	}
	return fd
}

// hideDescriptors has descriptors that we inherited without knowing, from a
// shell or a build tool, closed in every program that we start. Those that Go
// opens are so from the beginning.
func hideDescriptors() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		hideEach()
	}
}

// awaitExit waits until the child has ended without reaping it, and reports
// whether it could.
func awaitExit(p *os.Process) bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// ResidentPeak returns the largest resident set of a running process so far,
// in bytes, and 0 when it is not known. The kernel counts it from exec on,
// unlike the figure of maxResident.
func ResidentPeak(pid int) int64 {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// maxResident returns what the kernel accounted to a process that has ended.
// It is never less than what we ourselves used when we started it.
func maxResident(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return int64(usage.Maxrss) << 10
	}
	return 0
}
