package report

import (
	"cmp"
	"strings"
)

// ProposedRoot is a directory of which nothing says that a cluster reconciles
// itself from it.
type ProposedRoot struct {
	// Cluster is a name made of the path.
	Cluster string `json:"cluster"`
	Path    string `json:"path"`
	Reason  string `json:"reason"`
}

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
