//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call that the filter lets through when all tests hold.
type call struct {
	name   string
	number uint32
	tests  []test
}

// test looks at the low 32 bits of an argument. None of the arguments that
// are tested has a meaning above them.
type test struct {
	arg    int
	kind   kind
	values []uint32
}

type kind int

const (
	among  kind = iota // the argument is one of values
	hasAll             // all bits of the one value are set
	none               // no bit of the one value is set
)

func is(arg int, values ...uint32) test { return test{arg, among, values} }
func with(arg int, bits uint32) test    { return test{arg, hasAll, []uint32{bits}} }
func without(arg int, bits uint32) test { return test{arg, none, []uint32{bits}} }

// What the filter answers.
const (
	retAllow = uint32(unix.SECCOMP_RET_ALLOW)
	retKill  = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	retErrno = uint32(unix.SECCOMP_RET_ERRNO)
)

// Offsets in struct seccomp_data, which is little endian on both platforms.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

const (
	load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jeq   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jge   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jset  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	retK  = unix.BPF_RET | unix.BPF_K
	andK  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	limit = unix.BPF_MAXINSNS
)

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

// jump skips yes instructions when the comparison holds and no otherwise.
func jump(code uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no}
}

// program assembles the filter: another architecture or an unknown call kills,
// a call whose tests fail kills, a call in absent looks as if the kernel did
// not have it.
func program(arch, numbers uint32, calls []call, absent []uint32) []unix.SockFilter {
	p := []unix.SockFilter{
		stmt(load, offsetArch),
		jump(jeq, arch, 1, 0),
		stmt(retK, retKill),
		stmt(load, offsetNumber),
		// Numbers from here on belong to another convention of calling
		// on the same processor (x32).
		jump(jge, numbers, 0, 1),
		stmt(retK, retKill),
	}
	for _, c := range calls {
		block := c.block()
		p = append(p, jump(jeq, c.number, 0, uint8(len(block))))
		p = append(p, block...)
	}
	for _, n := range absent {
		p = append(p, jump(jeq, n, 0, 1), stmt(retK, retErrno|uint32(unix.ENOSYS)))
	}
	return append(p, stmt(retK, retKill))
}

// block decides about one call. It loads arguments over the number, so every
// way through it returns.
func (c call) block() []unix.SockFilter {
	var b []unix.SockFilter
	for _, t := range c.tests {
		b = append(b, stmt(load, uint32(offsetArgs+8*t.arg)))
		switch t.kind {
		case among:
			for i, v := range t.values {
				b = append(b, jump(jeq, v, uint8(len(t.values)-i), 0))
			}
		case hasAll:
			b = append(b, stmt(andK, t.values[0]), jump(jeq, t.values[0], 1, 0))
		case none:
			b = append(b, jump(jset, t.values[0], 0, 1))
		}
		b = append(b, stmt(retK, retKill))
	}
	return append(b, stmt(retK, retAllow))
}

// enterSeccomp puts the filter on all threads.
func enterSeccomp() (Wall, error) {
	w := Wall{Name: "seccomp"}
	calls := allowed(uint32(unix.Getpid()))
	filter := program(arch, numbers, calls, absentCalls)
	if len(filter) > limit {
		return w, fmt.Errorf("the filter has %d instructions, more than %d", len(filter), limit)
	}
	// The kernel looks at the calling thread's privileges.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	action := retKill
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); e != 0 {
		w.Detail = "not in this kernel, or without killing a process: " + e.Error()
		return w, nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return w, fmt.Errorf("giving up new privileges: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		w.Detail = "failed"
		return w, fmt.Errorf("entering seccomp: %w", e)
	}
	if thread != 0 {
		w.Detail = "failed"
		return w, errors.New("entering seccomp: a thread has a filter of its own")
	}
	w.Stands = true
	w.Detail = fmt.Sprintf("%d system calls on all threads; any other ends the process", len(calls))
	return w, nil
}
