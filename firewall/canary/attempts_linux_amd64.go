package canary

import "golang.org/x/sys/unix"

// The calls of old that later architectures do not have.
var moreAttempts = []Attempt{
	{Name: "legacy open", Run: func(e Env) error { return raw(unix.SYS_OPEN, ptr(e.In("file")), unix.O_RDONLY) }},
	{Name: "legacy open for writing", Landlock: 1, Run: func(e Env) error { return raw(unix.SYS_OPEN, ptr(e.In("file")), unix.O_RDWR) }},
	{Name: "legacy creat", Landlock: 1, Run: func(e Env) error { return raw(unix.SYS_CREAT, ptr(e.In("created")), 0o600) }},
	{Name: "legacy unlink", Landlock: 1, Run: func(e Env) error { return raw(unix.SYS_UNLINK, ptr(e.In("file"))) }},
	{Name: "legacy utime", Run: func(e Env) error { return raw(unix.SYS_UTIME, ptr(e.In("file")), 0) }},
}
