package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is something that a sealed process must not be able to do. It
// returns nil when it could.
type attempt struct {
	name string
	run  func(e env) error
	// root: only root can do it, sealed or not.
	root bool
	// landlock: Landlock alone refuses it, with an error and from this
	// version of its interface on.
	landlock int
}

// env is where attempts are made. dir is what a sealed process may read.
type env struct {
	dir, outside string
	// tcp and udp listen on the loopback interface, unixSocket in outside.
	tcp, udp, unixSocket, abstract string
}

func (e env) in(name string) string { return filepath.Join(e.dir, name) }

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

func opened(file string, flags int) error {
	fd, err := unix.Open(file, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err == nil {
		_, err = c.Write([]byte("x"))
		c.Close()
	}
	return err
}

// attempts is everything tried; those that only exist on some architectures
// are in moreAttempts.
var attempts = append(moreAttempts, []attempt{
	// Reading what was not given.
	{name: "read another file", landlock: 1, run: func(e env) error { return opened(filepath.Join(e.outside, "file"), unix.O_RDONLY) }},
	{name: "read another file through a link", landlock: 1, run: func(e env) error { return opened(e.in("link"), unix.O_RDONLY) }},
	{name: "read another file by going up", landlock: 1, run: func(e env) error { return opened(e.in("../outside/file"), unix.O_RDONLY) }},
	{name: "list another directory", landlock: 1, run: func(e env) error { return opened(e.outside, unix.O_RDONLY|unix.O_DIRECTORY) }},
	{name: "read its environment", landlock: 1, run: func(env) error { return opened("/proc/self/environ", unix.O_RDONLY) }},
	{name: "read its memory", landlock: 1, run: func(env) error { return opened("/proc/self/mem", unix.O_RDONLY) }},
	{name: "read the system's users", landlock: 1, run: func(env) error { return opened("/etc/passwd", unix.O_RDONLY) }},

	// Writing, where reading is allowed.
	{name: "write", landlock: 1, run: func(e env) error { return opened(e.in("file"), unix.O_WRONLY) }},
	{name: "read and write", landlock: 1, run: func(e env) error { return opened(e.in("file"), unix.O_RDWR) }},
	{name: "append", landlock: 1, run: func(e env) error { return opened(e.in("file"), unix.O_WRONLY|unix.O_APPEND) }},
	{name: "create", landlock: 1, run: func(e env) error { return opened(e.in("new"), unix.O_WRONLY|unix.O_CREAT) }},
	{name: "create for reading", landlock: 1, run: func(e env) error { return opened(e.in("new"), unix.O_RDONLY|unix.O_CREAT) }},
	{name: "truncate by opening", landlock: 3, run: func(e env) error { return opened(e.in("file"), unix.O_RDONLY|unix.O_TRUNC) }},
	{name: "truncate", landlock: 3, run: func(e env) error { return unix.Truncate(e.in("file"), 0) }},
	{name: "make a temporary file", landlock: 1, run: func(e env) error { return opened(e.dir, unix.O_WRONLY|unix.O_TMPFILE) }},
	{name: "write elsewhere", landlock: 1, run: func(e env) error { return opened(filepath.Join(e.outside, "file"), unix.O_WRONLY) }},
	{name: "rename", landlock: 1, run: func(e env) error { return unix.Rename(e.in("file"), e.in("renamed")) }},
	{name: "remove", landlock: 1, run: func(e env) error { return unix.Unlink(e.in("file")) }},
	{name: "make a directory", landlock: 1, run: func(e env) error { return unix.Mkdir(e.in("d"), 0o700) }},
	{name: "remove a directory", landlock: 1, run: func(e env) error { return unix.Rmdir(e.in("empty")) }},
	{name: "make a symbolic link", landlock: 1, run: func(e env) error { return unix.Symlink("file", e.in("s")) }},
	{name: "make a hard link", landlock: 1, run: func(e env) error { return unix.Link(e.in("file"), e.in("hard")) }},
	{name: "make a pipe in a directory", landlock: 1, run: func(e env) error { return unix.Mknod(e.in("fifo"), unix.S_IFIFO|0o600, 0) }},
	{name: "change the mode", run: func(e env) error { return unix.Chmod(e.in("file"), 0o644) }},
	{name: "change the mode by descriptor", run: func(e env) error {
		fd, err := unix.Open(e.in("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Fchmod(fd, 0o644)
	}},
	{name: "change the owner", run: func(e env) error { return unix.Chown(e.in("file"), os.Getuid(), os.Getgid()) }},
	{name: "change times", run: func(e env) error { return unix.Utimes(e.in("file"), make([]unix.Timeval, 2)) }},
	{name: "lock", run: func(e env) error {
		fd, err := unix.Open(e.in("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Flock(fd, unix.LOCK_EX)
	}},
	{name: "change the directory", run: func(e env) error { return unix.Chdir(e.dir) }},
	{name: "openat2 for reading", run: func(e env) error {
		_, err := unix.Openat2(unix.AT_FDCWD, e.in("file"), &unix.OpenHow{})
		return err
	}},

	// The network.
	{name: "tcp", landlock: 4, run: func(e env) error { return dial("tcp", e.tcp) }},
	{name: "udp", landlock: 10, run: func(e env) error { return dial("udp", e.udp) }},
	{name: "unix socket", landlock: 9, run: func(e env) error { return dial("unix", e.unixSocket) }},
	{name: "abstract socket", landlock: 6, run: func(e env) error { return dial("unix", e.abstract) }},
	// Landlock alone does not know multipath TCP, Go's default here.
	{name: "listen", run: func(env) error {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{name: "bind", landlock: 4, run: func(env) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}},
	{name: "socket", run: func(env) error { return raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0) }},
	{name: "netlink socket", run: func(env) error { return raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
	{name: "socket pair", run: func(env) error {
		var fds [2]int32
		return raw(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, uintptr(unsafe.Pointer(&fds)))
	}},

	// Other processes.
	{name: "run a program", run: func(env) error { return exec.Command("/bin/true").Run() }},
	{name: "become a program", landlock: 1, run: func(env) error {
		return syscall.Exec("/bin/echo", []string{"echo", succeeded}, nil)
	}},
	{name: "fork", run: func(env) error {
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	}},
	{name: "signal the parent", landlock: 6, run: func(env) error { return unix.Kill(unix.Getppid(), 0) }},
	{name: "signal a thread of the parent", landlock: 6, run: func(env) error { return unix.Tgkill(unix.Getppid(), unix.Getppid(), 0) }},
	{name: "signal itself", run: func(env) error { return unix.Kill(unix.Getpid(), 0) }},
	// A tracee stops at every signal of the scheduler, so the control must
	// not become one: that nothing is traced is the answer of the call.
	{name: "trace", run: func(env) error {
		if err := raw(unix.SYS_PTRACE, unix.PTRACE_DETACH, 0); err != unix.ESRCH {
			return err
		}
		return nil
	}},
	{name: "read memory of a process", run: func(env) error {
		from, to := []byte("secret"), make([]byte, 6)
		local := []unix.Iovec{{Base: &to[0], Len: 6}}
		remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from[0])), Len: 6}}
		_, err := unix.ProcessVMReadv(unix.Getpid(), local, remote, 0)
		return err
	}},
	{name: "look at the parent", run: func(env) error { _, err := unix.PidfdOpen(unix.Getppid(), 0); return err }},
	{name: "limit the parent", run: func(env) error {
		var r unix.Rlimit
		return unix.Prlimit(unix.Getppid(), unix.RLIMIT_CORE, nil, &r)
	}},

	// New code, new descriptors, new powers.
	{name: "map code", run: func(env) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	}},
	{name: "map a file as code", run: func(e env) error {
		fd, err := unix.Open(e.in("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		return err
	}},
	{name: "make memory code", run: func(env) error {
		m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		return unix.Mprotect(m, unix.PROT_READ|unix.PROT_EXEC)
	}},
	{name: "file in memory", run: func(env) error { _, err := unix.MemfdCreate("m", 0); return err }},
	{name: "duplicate a descriptor", run: func(env) error { _, err := unix.Dup(1); return err }},
	{name: "make a pipe", run: func(env) error { return unix.Pipe2(make([]int, 2), 0) }},
	{name: "ioctl", run: func(e env) error {
		fd, err := unix.Open(e.in("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	}},
	{name: "own signals of a descriptor", run: func(env) error {
		_, err := unix.FcntlInt(0, unix.F_SETOWN, unix.Getpid())
		return err
	}},
	{name: "watch a directory", run: func(env) error { _, err := unix.InotifyInit1(0); return err }},
	{name: "io_uring", run: func(env) error {
		var params [120]byte
		return raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{name: "allow dumps", run: func(env) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
	{name: "change its user", run: func(env) error { return raw(unix.SYS_SETRESUID, ^uintptr(0), ^uintptr(0), ^uintptr(0)) }},
	{name: "leave its namespaces", root: true, run: func(env) error {
		runtime.LockOSThread()
		return unix.Unshare(unix.CLONE_NEWUTS)
	}},
	{name: "enter a namespace", root: true, run: func(env) error {
		runtime.LockOSThread()
		fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	{name: "change the root", root: true, run: func(e env) error { return unix.Chroot(e.dir) }},
	{name: "mount", root: true, run: func(e env) error {
		runtime.LockOSThread()
		if err := raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return err
		}
		return unix.Mount("tmpfs", e.in("empty"), "tmpfs", 0, "")
	}},
	{name: "loosen seccomp", run: func(env) error {
		action := retAllow
		return raw(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	}},
	{name: "ask for another Landlock", run: func(env) error {
		return raw(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	}},
}...)

// works is what a sealed process must be able to do for as long as it lives.
func works(e env) error {
	done := make(chan error)
	const readers = 2000
	for i := range readers {
		go func() {
			if i%40 == 0 {
				runtime.LockOSThread() // a thread that ends with it
			}
			done <- read(e)
		}()
	}
	for range readers {
		if err := <-done; err != nil {
			return err
		}
	}
	// Longer than the runtime takes between two looks at its limits.
	end := time.Now().Add(1500 * time.Millisecond)
	for time.Now().Before(end) {
		waste = make([]byte, 1<<20)
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	func() {
		defer func() { _ = recover() }()
		var p *env
		_ = p.dir // a fault that the runtime turns into a panic
	}()
	return read(e)
}

var waste []byte

// oldThreads starts threads and returns a function that has each of them open
// a file, and returns an error when all are refused.
func oldThreads(file string, flags int) func(env) error {
	const threads = 20
	try, failed := make(chan struct{}), make(chan error)
	var ready sync.WaitGroup
	for range threads {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			ready.Done()
			<-try
			failed <- opened(file, flags)
		}()
	}
	ready.Wait()
	return func(env) error {
		close(try)
		refusals := 0
		for range threads {
			if err := <-failed; err != nil {
				refusals++
			}
		}
		if refusals < threads {
			return nil
		}
		return fmt.Errorf("all %d", refusals)
	}
}

func read(e env) error {
	b, err := os.ReadFile(e.in("file"))
	if err != nil {
		return err
	}
	if want := bytes.Repeat([]byte("x"), 5000); !bytes.Equal(b, want) {
		return fmt.Errorf("read %d bytes", len(b))
	}
	f, err := os.Open(e.in("file"))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 10), 4990); err != nil {
		return err
	}
	if _, err := f.Seek(10, 0); err != nil {
		return err
	}
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, err := entry.Info(); err != nil {
			return err
		}
	}
	if _, err := os.Readlink(e.in("link")); err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(e.dir, "absent"))
	if !os.IsNotExist(err) {
		return fmt.Errorf("a file that does not exist: %v", err)
	}
	return nil
}
