package report

import (
	"cmp"
	"strings"
)

// Flag declares the root on a command line, quoted for a POSIX shell.
func (p ProposedRoot) Flag() string {
	value := Printable(p.Cluster) + "=" + cmp.Or(Printable(p.Path), ".")
	if strings.ContainsFunc(value, func(r rune) bool { return !strings.ContainsRune(shellWord, r) }) {
		value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	return "--root " + value
}

// shellWord are the characters that mean themselves to a shell.
const shellWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=@:+,"
