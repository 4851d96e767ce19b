//go:build amd64 || arm64

package sandbox

import "golang.org/x/sys/unix"

const (
	// opensToWrite are the flags of openat that write, create or change a
	// file. O_TMPFILE includes O_DIRECTORY, which reading a directory needs.
	opensToWrite = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | unix.O_TMPFILE&^unix.O_DIRECTORY
	// threadFlags are those with which Go and glibc start a thread.
	threadFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM |
		unix.CLONE_THREAD | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID
)

// absentCalls look as if the kernel had none of them: glibc then starts
// threads by clone, whose flags the filter can see.
var absentCalls = []uint32{unix.SYS_CLONE3}

// allowed are the system calls of a sealed process: what the Go runtime makes
// (with or without cgo, whose threads are glibc's), reading files by openat,
// and reading and writing descriptors that are open. self is the process id.
func allowed(self uint32) []call {
	return []call{
		// Descriptors.
		{name: "read", number: unix.SYS_READ},
		{name: "pread64", number: unix.SYS_PREAD64},
		{name: "write", number: unix.SYS_WRITE},
		{name: "lseek", number: unix.SYS_LSEEK},
		{name: "close", number: unix.SYS_CLOSE},
		{name: "fcntl", number: unix.SYS_FCNTL, tests: []test{is(1, unix.F_GETFL, unix.F_SETFL)}},
		// Files and directories, for reading.
		{name: "openat", number: unix.SYS_OPENAT, tests: []test{without(2, opensToWrite)}},
		{name: "fstat", number: unix.SYS_FSTAT},
		{name: statAt, number: numberStatAt},
		{name: "readlinkat", number: unix.SYS_READLINKAT},
		{name: "getdents64", number: unix.SYS_GETDENTS64},
		// Memory, never executable.
		{name: "mmap", number: unix.SYS_MMAP, tests: []test{without(2, unix.PROT_EXEC)}},
		{name: "mprotect", number: unix.SYS_MPROTECT, tests: []test{without(2, unix.PROT_EXEC)}},
		{name: "munmap", number: unix.SYS_MUNMAP},
		{name: "madvise", number: unix.SYS_MADVISE},
		{name: "brk", number: unix.SYS_BRK},
		// Threads of this process, and signals between them.
		{name: "clone", number: unix.SYS_CLONE, tests: []test{with(0, unix.CLONE_THREAD), without(0, ^uint32(threadFlags))}},
		{name: "futex", number: unix.SYS_FUTEX},
		{name: "tgkill", number: unix.SYS_TGKILL, tests: []test{is(0, self)}},
		{name: "getpid", number: unix.SYS_GETPID},
		{name: "gettid", number: unix.SYS_GETTID},
		{name: "sched_yield", number: unix.SYS_SCHED_YIELD},
		{name: "sched_getaffinity", number: unix.SYS_SCHED_GETAFFINITY},
		{name: "rt_sigaction", number: unix.SYS_RT_SIGACTION},
		{name: "rt_sigprocmask", number: unix.SYS_RT_SIGPROCMASK},
		{name: "rt_sigreturn", number: unix.SYS_RT_SIGRETURN},
		{name: "sigaltstack", number: unix.SYS_SIGALTSTACK},
		{name: "set_robust_list", number: unix.SYS_SET_ROBUST_LIST},
		{name: "rseq", number: unix.SYS_RSEQ},
		// Names of memory mappings, which the Go runtime gives.
		{name: "prctl", number: unix.SYS_PRCTL, tests: []test{is(0, unix.PR_SET_VMA)}},
		// Waiting.
		{name: "nanosleep", number: unix.SYS_NANOSLEEP},
		{name: "clock_gettime", number: unix.SYS_CLOCK_GETTIME},
		{name: "restart_syscall", number: unix.SYS_RESTART_SYSCALL},
		{name: "epoll_create1", number: unix.SYS_EPOLL_CREATE1},
		{name: "epoll_ctl", number: unix.SYS_EPOLL_CTL},
		{name: "epoll_pwait", number: unix.SYS_EPOLL_PWAIT},
		{name: "eventfd2", number: unix.SYS_EVENTFD2},
		// The rest.
		{name: "getrandom", number: unix.SYS_GETRANDOM},
		{name: "exit", number: unix.SYS_EXIT},
		{name: "exit_group", number: unix.SYS_EXIT_GROUP},
	}
}
