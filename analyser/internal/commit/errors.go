package commit

import "errors"

// Errors of this package wrap one of these, for errors.Is.
var (
	// ErrNotRepository: the path does not lead to a git repository.
	ErrNotRepository = errors.New("not a git repository")
	// ErrUnsupported: the repository or the revision needs something that
	// this package does not do.
	ErrUnsupported = errors.New("not supported")
	// ErrUnknownRevision: nothing in the repository has that name.
	ErrUnknownRevision = errors.New("unknown revision")
	// ErrAmbiguous: a short id has several meanings; the message names them.
	ErrAmbiguous = errors.New("ambiguous revision")
	// ErrAbsent: the clone does not hold an object that the repository has,
	// most often because it is shallow or partial.
	ErrAbsent = errors.New("history or object absent")
	// ErrCorrupt: what is stored is not what git writes.
	ErrCorrupt = errors.New("corrupt repository")
	// ErrLimit: a bound of Limits was reached.
	ErrLimit = errors.New("a limit is reached")
)
