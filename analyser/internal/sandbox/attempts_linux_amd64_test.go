package sandbox

import "golang.org/x/sys/unix"

// The calls of old that later architectures do not have.
var moreAttempts = []attempt{
	{name: "legacy open", run: func(e env) error { return raw(unix.SYS_OPEN, ptr(e.in("file")), unix.O_RDONLY) }},
	{name: "legacy open for writing", landlock: 1, run: func(e env) error { return raw(unix.SYS_OPEN, ptr(e.in("file")), unix.O_RDWR) }},
	{name: "legacy creat", landlock: 1, run: func(e env) error { return raw(unix.SYS_CREAT, ptr(e.in("created")), 0o600) }},
	{name: "legacy unlink", landlock: 1, run: func(e env) error { return raw(unix.SYS_UNLINK, ptr(e.in("file"))) }},
	{name: "legacy utime", run: func(e env) error { return raw(unix.SYS_UTIME, ptr(e.in("file")), 0) }},
}
