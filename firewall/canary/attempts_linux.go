// Package canary tries what a sealed analyser must not be able to do. It is
// part of the tests of the seal and of a build of the analyser that nobody
// installs (build tag canary); the firewall convicts a binary that holds it.
//
// An attempt that the seal answers with death ends the process, so that each
// needs one of its own.
package canary

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attempt is something that a sealed process must not be able to do. It
// returns nil when it could.
type Attempt struct {
	Name string
	Run  func(e Env) error
	// Root: only root can do it, sealed or not.
	Root bool
	// Landlock: Landlock alone refuses it, with an error and from this
	// version of its interface on.
	Landlock int
}

// Env is where attempts are made.
type Env struct {
	// Dir is what a sealed process may read: it holds "file", of 5000 times
	// "x", "link" to ../outside/file, and the directory "empty". Outside
	// holds "file" and lies beside Dir.
	Dir, Outside string
	// TCP and UDP listen on the loopback interface, Unix in a directory,
	// Abstract without one.
	TCP, UDP, Unix, Abstract string
}

// In is a path below Dir.
func (e Env) In(name string) string { return filepath.Join(e.Dir, name) }

// Succeeded is what becomes of the process that becomes a program: it prints
// this and exits with ExitSucceeded.
const (
	Succeeded     = "succeeded"
	ExitSucceeded = 42
)

func raw(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func ptr(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

var kept []*byte // what a system call was given as a number

// Opened opens a file and closes it again.
func Opened(file string, flags int) error {
	fd, err := unix.Open(file, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// patience is how long a connection may take that nothing forbids: an emulated
// machine needs seconds where a real one needs microseconds, and an attempt that
// gives up by itself shows nothing.
const patience = 30 * time.Second

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, patience)
	if err == nil {
		_, err = c.Write([]byte("x"))
		c.Close()
	}
	return err
}

// Attempts is everything tried; those that only exist on some architectures
// are in moreAttempts.
var Attempts = append(moreAttempts, []Attempt{
	// Reading what was not given.
	{Name: "read another file", Landlock: 1, Run: func(e Env) error { return Opened(filepath.Join(e.Outside, "file"), unix.O_RDONLY) }},
	{Name: "read another file through a link", Landlock: 1, Run: func(e Env) error { return Opened(e.In("link"), unix.O_RDONLY) }},
	{Name: "read another file by going up", Landlock: 1, Run: func(e Env) error { return Opened(e.In("../outside/file"), unix.O_RDONLY) }},
	{Name: "list another directory", Landlock: 1, Run: func(e Env) error { return Opened(e.Outside, unix.O_RDONLY|unix.O_DIRECTORY) }},
	{Name: "read its environment", Landlock: 1, Run: func(Env) error { return Opened("/proc/self/environ", unix.O_RDONLY) }},
	{Name: "read its memory", Landlock: 1, Run: func(Env) error { return Opened("/proc/self/mem", unix.O_RDONLY) }},
	{Name: "read the system's users", Landlock: 1, Run: func(Env) error { return Opened("/etc/passwd", unix.O_RDONLY) }},

	// Writing, where reading is allowed.
	{Name: "write", Landlock: 1, Run: func(e Env) error { return Opened(e.In("file"), unix.O_WRONLY) }},
	{Name: "read and write", Landlock: 1, Run: func(e Env) error { return Opened(e.In("file"), unix.O_RDWR) }},
	{Name: "append", Landlock: 1, Run: func(e Env) error { return Opened(e.In("file"), unix.O_WRONLY|unix.O_APPEND) }},
	{Name: "create", Landlock: 1, Run: func(e Env) error { return Opened(e.In("new"), unix.O_WRONLY|unix.O_CREAT) }},
	{Name: "create for reading", Landlock: 1, Run: func(e Env) error { return Opened(e.In("new"), unix.O_RDONLY|unix.O_CREAT) }},
	{Name: "truncate by opening", Landlock: 3, Run: func(e Env) error { return Opened(e.In("file"), unix.O_RDONLY|unix.O_TRUNC) }},
	{Name: "truncate", Landlock: 3, Run: func(e Env) error { return unix.Truncate(e.In("file"), 0) }},
	{Name: "make a temporary file", Landlock: 1, Run: func(e Env) error { return Opened(e.Dir, unix.O_WRONLY|unix.O_TMPFILE) }},
	{Name: "write elsewhere", Landlock: 1, Run: func(e Env) error { return Opened(filepath.Join(e.Outside, "file"), unix.O_WRONLY) }},
	{Name: "rename", Landlock: 1, Run: func(e Env) error { return unix.Rename(e.In("file"), e.In("renamed")) }},
	{Name: "remove", Landlock: 1, Run: func(e Env) error { return unix.Unlink(e.In("file")) }},
	{Name: "make a directory", Landlock: 1, Run: func(e Env) error { return unix.Mkdir(e.In("d"), 0o700) }},
	{Name: "remove a directory", Landlock: 1, Run: func(e Env) error { return unix.Rmdir(e.In("empty")) }},
	{Name: "make a symbolic link", Landlock: 1, Run: func(e Env) error { return unix.Symlink("file", e.In("s")) }},
	{Name: "make a hard link", Landlock: 1, Run: func(e Env) error { return unix.Link(e.In("file"), e.In("hard")) }},
	{Name: "make a pipe in a directory", Landlock: 1, Run: func(e Env) error { return unix.Mknod(e.In("fifo"), unix.S_IFIFO|0o600, 0) }},
	{Name: "change the mode", Run: func(e Env) error { return unix.Chmod(e.In("file"), 0o644) }},
	{Name: "change the mode by descriptor", Run: func(e Env) error {
		fd, err := unix.Open(e.In("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Fchmod(fd, 0o644)
	}},
	{Name: "change the owner", Run: func(e Env) error { return unix.Chown(e.In("file"), os.Getuid(), os.Getgid()) }},
	{Name: "change times", Run: func(e Env) error { return unix.Utimes(e.In("file"), make([]unix.Timeval, 2)) }},
	{Name: "lock", Run: func(e Env) error {
		fd, err := unix.Open(e.In("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Flock(fd, unix.LOCK_EX)
	}},
	{Name: "change the directory", Run: func(e Env) error { return unix.Chdir(e.Dir) }},
	{Name: "openat2 for reading", Run: func(e Env) error {
		_, err := unix.Openat2(unix.AT_FDCWD, e.In("file"), &unix.OpenHow{})
		return err
	}},

	// The network.
	{Name: "tcp", Landlock: 4, Run: func(e Env) error { return dial("tcp", e.TCP) }},
	{Name: "udp", Landlock: 10, Run: func(e Env) error { return dial("udp", e.UDP) }},
	{Name: "resolve a name", Run: func(Env) error {
		// Answered from the table of hosts, else asked of the network.
		_, err := (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "localhost")
		return err
	}},
	{Name: "unix socket", Landlock: 9, Run: func(e Env) error { return dial("unix", e.Unix) }},
	{Name: "abstract socket", Landlock: 6, Run: func(e Env) error { return dial("unix", e.Abstract) }},
	// Landlock alone does not know multipath TCP, Go's default here.
	{Name: "listen", Run: func(Env) error {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{Name: "bind", Landlock: 4, Run: func(Env) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}},
	{Name: "socket", Run: func(Env) error { return raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0) }},
	{Name: "netlink socket", Run: func(Env) error { return raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
	{Name: "socket pair", Run: func(Env) error {
		var fds [2]int32
		return raw(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&fds)))
	}},

	// Other processes.
	{Name: "run a program", Run: func(Env) error { return exec.Command("/bin/true").Run() }},
	{Name: "become a program", Landlock: 1, Run: func(Env) error {
		return syscall.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("echo %s; exit %d", Succeeded, ExitSucceeded)}, nil)
	}},
	{Name: "fork", Run: func(Env) error {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	}},
	{Name: "signal the parent", Landlock: 6, Run: func(Env) error { return unix.Kill(unix.Getppid(), 0) }},
	{Name: "signal a thread of the parent", Landlock: 6, Run: func(Env) error { return unix.Tgkill(unix.Getppid(), unix.Getppid(), 0) }},
	{Name: "signal itself", Run: func(Env) error { return unix.Kill(unix.Getpid(), 0) }},
	// A tracee stops at every signal of the scheduler, so the control must
	// not become one: that nothing is traced is the answer of the call.
	{Name: "trace", Run: func(Env) error {
		if err := raw(unix.SYS_PTRACE, unix.PTRACE_DETACH, 0); err != unix.ESRCH {
			return err
		}
		return nil
	}},
	{Name: "read memory of a process", Run: func(Env) error {
		from, to := []byte("secret"), make([]byte, 6)
		local := []unix.Iovec{{Base: &to[0], Len: 6}}
		remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from[0])), Len: 6}}
		_, err := unix.ProcessVMReadv(unix.Getpid(), local, remote, 0)
		return err
	}},
	{Name: "look at the parent", Run: func(Env) error { _, err := unix.PidfdOpen(unix.Getppid(), 0); return err }},
	{Name: "limit the parent", Run: func(Env) error {
		var r unix.Rlimit
		return unix.Prlimit(unix.Getppid(), unix.RLIMIT_CORE, nil, &r)
	}},

	// New code, new descriptors, new powers.
	{Name: "map code", Run: func(Env) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	}},
	{Name: "map a file as code", Run: func(e Env) error {
		fd, err := unix.Open(e.In("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		return err
	}},
	{Name: "make memory code", Run: func(Env) error {
		m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		return unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC)
	}},
	{Name: "file in memory", Run: func(Env) error { _, err := unix.MemfdCreate("m", 0); return err }},
	{Name: "duplicate a descriptor", Run: func(Env) error { _, err := unix.Dup(1); return err }},
	{Name: "make a pipe", Run: func(Env) error { return unix.Pipe2(make([]int, 2), 0) }},
	{Name: "ioctl", Run: func(e Env) error {
		fd, err := unix.Open(e.In("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	}},
	{Name: "own signals of a descriptor", Run: func(Env) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, unix.Getpid())
		return err
	}},
	{Name: "watch a directory", Run: func(Env) error { _, err := unix.InotifyInit1(0); return err }},
	{Name: "io_uring", Run: func(Env) error {
		var params [120]byte
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{Name: "allow dumps", Run: func(Env) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
	{Name: "change its user", Run: func(Env) error { return raw(unix.SYS_SETRESUID, ^uintptr(0), ^uintptr(0), ^uintptr(0)) }},
	{Name: "leave its namespaces", Root: true, Run: func(Env) error {
		runtime.LockOSThread()
		return unix.Unshare(unix.CLONE_NEWUTS)
	}},
	{Name: "enter a namespace", Root: true, Run: func(Env) error {
		runtime.LockOSThread()
		fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	{Name: "change the root", Root: true, Run: func(e Env) error { return unix.Chroot(e.Dir) }},
	{Name: "mount", Root: true, Run: func(e Env) error {
		runtime.LockOSThread()
		if err := raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return err
		}
		return unix.Mount("tmpfs", e.In("empty"), "tmpfs", 0, "")
	}},
	{Name: "loosen seccomp", Run: func(Env) error {
		action := uint32(unix.SECCOMP_RET_ALLOW)
		return raw(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	}},
	{Name: "ask for another Landlock", Run: func(Env) error {
		return raw(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	}},
}...)
