//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// levels are what can be restricted at each version of Landlock's interface,
// beginning with 1.
var levels = []landlock.Config{
	landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
	landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
}

// erratumSignal is set when the kernel lets threads of one process signal each
// other across Landlock domains, which Go's scheduler does.
// Source: Documentation/userspace-api/landlock.rst, errata 2.
const erratumSignal = 1 << 1

// enterLandlock restricts all threads to reading below dirs, at the highest
// level that the kernel has.
func enterLandlock(dirs []string) (Wall, error) {
	w := Wall{Name: "landlock"}
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		w.Detail = "not in this kernel"
		return w, nil
	case errors.Is(err, unix.EOPNOTSUPP):
		w.Detail = "in this kernel, but not switched on at boot"
		return w, nil
	case err != nil:
		w.Detail = "not available: " + err.Error()
		return w, nil
	}
	config := levels[min(abi, len(levels))-1]
	if abi < 8 {
		// Below 8 each thread enters a domain of its own.
		if errata, err := ll.LandlockGetErrata(); err != nil || errata&erratumSignal == 0 {
			config.Scoped &^= ll.ScopeSignal
		}
	}
	// Reading and listing only: executing is no way of reading.
	read := landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, dirs...)
	if err := config.Restrict(read); err != nil {
		w.Detail = "failed"
		return w, fmt.Errorf("entering Landlock: %w", err)
	}
	w.Stands = true
	w.Detail = describe(abi, config, len(dirs))
	return w, nil
}

// describe says what a configuration refuses.
func describe(abi int, c landlock.Config, dirs int) string {
	// How many directories there are depends on how the repository was cloned.
	where := "only files below the git directories of the repository can be read"
	if dirs == 0 {
		where = "no file can be opened"
	}
	parts := []string{fmt.Sprintf("interface version %d: %s", abi, where)}
	switch {
	case c.HandledAccessNet&landlock.V10.HandledAccessNet == landlock.V10.HandledAccessNet:
		parts = append(parts, "no TCP or UDP")
	case c.HandledAccessNet != 0:
		parts = append(parts, "no TCP")
	}
	if c.Scoped&ll.ScopeSignal != 0 {
		parts = append(parts, "no signals to others")
	}
	if c.Scoped&ll.ScopeAbstractUnixSocket != 0 {
		parts = append(parts, "no abstract sockets of others")
	}
	return strings.Join(parts, "; ")
}
