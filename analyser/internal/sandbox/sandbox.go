// Package sandbox is the third wall of the seal: it makes the kernel refuse
// what the analyser must never do, whatever code runs in it.
//
// Two mechanisms stand together, because each leaves holes alone. Landlock
// takes away all files but those below the directories given, which can only
// be read, and TCP, and signals and abstract sockets to other processes.
// Seccomp then reduces the system calls to those that a Go program needs that
// reads files and speaks over descriptors which are open already; any other
// call ends the process at once.
//
// What the seal does not hide: descriptors that are open when it is entered
// stay usable (Enter refuses those above 2 that could write a file), and the
// metadata of files outside of the directories can be asked for (stat,
// readlink): Landlock does not cover that, and git's object store needs stat.
// It is no defence against the kernel, nor against one who reads the memory or
// the answers of the process; use of time, memory and processors is not
// limited here.
//
// On systems other than Linux on amd64 and arm64 there is no such wall, and
// the report says so.
package sandbox

// Wall is one mechanism.
type Wall struct {
	// Name is "landlock" or "seccomp".
	Name string
	// Stands reports whether the kernel enforces it on every thread.
	Stands bool
	// Detail says what is enforced, or why nothing is.
	Detail string
}

// Report says which walls stand in this process.
type Report struct {
	Landlock, Seccomp Wall
}

// Walls returns both walls in the order in which they were entered.
func (r Report) Walls() []Wall { return []Wall{r.Landlock, r.Seccomp} }

// Complete reports whether everything stands.
func (r Report) Complete() bool { return r.Landlock.Stands && r.Seccomp.Stands }

// symbols is set by the linker, when the binary is made by a build that audits
// the symbols of what it has made.
var symbols string

// Symbols is the second wall: what the linker left in this binary.
func Symbols() Wall {
	w := Wall{Name: "symbols", Stands: symbols == "audited"}
	w.Detail = "built by go build, without the audit: make build"
	if w.Stands {
		w.Detail = "the build audited the binary: no code that starts a process, dials, listens or changes a file"
	}
	return w
}

func absent(why string) Report {
	return Report{Wall{Name: "landlock", Detail: why}, Wall{Name: "seccomp", Detail: why}}
}
