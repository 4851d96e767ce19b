//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const self = 4711

// answer runs the filter as the kernel would. The virtual machine loads big
// endian words, so the packet holds each word of struct seccomp_data that way.
func answer(t *testing.T, vm *bpf.VM, architecture, number uint32, args ...uint32) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], number)
	binary.BigEndian.PutUint32(data[offsetArch:], architecture)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], a)
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func filterVM(t *testing.T) *bpf.VM {
	t.Helper()
	var raw []bpf.RawInstruction
	for _, f := range program(arch, numbers, allowed(self), absentCalls) {
		raw = append(raw, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K})
	}
	instructions, all := bpf.Disassemble(raw)
	if !all {
		t.Fatal("the filter holds an instruction that does not exist")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func TestFilterArguments(t *testing.T) {
	vm := filterVM(t)
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	for _, tt := range []struct {
		name   string
		number uint32
		args   []uint32
		want   uint32
	}{
		{"read", unix.SYS_READ, nil, retAllow},
		{"openat for reading", unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_CLOEXEC}, retAllow},
		{"openat of a directory", unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_DIRECTORY}, retAllow},
		{"openat for writing", unix.SYS_OPENAT, []uint32{0, 0, unix.O_WRONLY}, retKill},
		{"openat for both", unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDWR | unix.O_CLOEXEC}, retKill},
		{"openat with both bits", unix.SYS_OPENAT, []uint32{0, 0, unix.O_ACCMODE}, retKill},
		{"openat that creates", unix.SYS_OPENAT, []uint32{0, 0, unix.O_CREAT}, retKill},
		{"openat that truncates", unix.SYS_OPENAT, []uint32{0, 0, unix.O_TRUNC}, retKill},
		{"openat that appends", unix.SYS_OPENAT, []uint32{0, 0, unix.O_APPEND}, retKill},
		{"openat of a temporary file", unix.SYS_OPENAT, []uint32{0, 0, unix.O_TMPFILE}, retKill},
		{"mmap", unix.SYS_MMAP, []uint32{0, 0, unix.PROT_READ | unix.PROT_WRITE}, retAllow},
		{"mmap of code", unix.SYS_MMAP, []uint32{0, 0, unix.PROT_READ | unix.PROT_EXEC}, retKill},
		{"mprotect", unix.SYS_MPROTECT, []uint32{0, 0, unix.PROT_NONE}, retAllow},
		{"mprotect of code", unix.SYS_MPROTECT, []uint32{0, 0, unix.PROT_EXEC}, retKill},
		{"clone of a thread", unix.SYS_CLONE, []uint32{thread}, retAllow},
		{"clone of a process", unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, retKill},
		{"clone of a process like a thread", unix.SYS_CLONE, []uint32{thread &^ unix.CLONE_THREAD}, retKill},
		{"clone into a namespace", unix.SYS_CLONE, []uint32{thread | unix.CLONE_NEWNET}, retKill},
		{"clone of a tracee", unix.SYS_CLONE, []uint32{thread | unix.CLONE_PTRACE}, retKill},
		{"clone3", unix.SYS_CLONE3, nil, retErrno | uint32(unix.ENOSYS)},
		{"tgkill to itself", unix.SYS_TGKILL, []uint32{self, 1, 23}, retAllow},
		{"tgkill to another", unix.SYS_TGKILL, []uint32{self + 1, self + 1, 9}, retKill},
		{"fcntl that asks", unix.SYS_FCNTL, []uint32{0, unix.F_GETFL}, retAllow},
		{"fcntl that sets", unix.SYS_FCNTL, []uint32{0, unix.F_SETFL}, retAllow},
		{"fcntl that signals", unix.SYS_FCNTL, []uint32{0, unix.F_SETOWN}, retKill},
		{"fcntl that duplicates", unix.SYS_FCNTL, []uint32{0, unix.F_DUPFD}, retKill},
		{"prctl that names memory", unix.SYS_PRCTL, []uint32{unix.PR_SET_VMA}, retAllow},
		{"prctl that allows dumps", unix.SYS_PRCTL, []uint32{unix.PR_SET_DUMPABLE, 1}, retKill},
		{"another convention", unix.SYS_READ | 0x40000000<<(numbers>>31), nil, retKill},
	} {
		if got := answer(t, vm, arch, tt.number, tt.args...); got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

// Every number that is not on the list kills, also under a foreign
// architecture where it may mean something else.
func TestFilterNumbers(t *testing.T) {
	vm := filterVM(t)
	listed := map[uint32]bool{}
	for _, c := range allowed(self) {
		listed[c.number] = true
	}
	for _, n := range absentCalls {
		listed[n] = true
	}
	for n := range uint32(2048) {
		if got := answer(t, vm, arch, n); got == retKill && listed[n] && len(tests(n)) == 0 {
			t.Errorf("call %d is listed but kills", n)
		} else if got != retKill && !listed[n] {
			t.Errorf("call %d is not listed but gives %#x", n, got)
		}
		for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, arch ^ 1} {
			if got := answer(t, vm, other, n); got != retKill {
				t.Errorf("call %d of architecture %#x gives %#x", n, other, got)
			}
		}
	}
}

func tests(number uint32) []test {
	for _, c := range allowed(self) {
		if c.number == number {
			return c.tests
		}
	}
	return nil
}

// A call stands once: an alternative after the first could never be reached.
func TestCallsAreDistinct(t *testing.T) {
	seen := map[uint32]string{}
	for _, c := range allowed(self) {
		if seen[c.number] != "" {
			t.Errorf("%s and %s are one call", seen[c.number], c.name)
		}
		seen[c.number] = c.name
	}
}
