package cli

import (
	"errors"
	"fmt"
)

// The exit codes of reach.
const (
	// exitDone: what was asked for is done.
	exitDone = 0
	// exitFailed: it could not be done; nothing was left behind.
	exitFailed = 1
	// exitUsage: the command line or the configuration says something that
	// cannot be meant.
	exitUsage = 2
	// exitFindings: it is done, and there are findings at or above --fail-on,
	// an audit found a violation, or a check a real name.
	exitFindings = 3
)

// usageError is a mistake in the command line or the configuration.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// findingsError says that there are findings at or above --fail-on.
type findingsError struct {
	count    int
	severity string
	// hidden says what was not counted, if anything.
	hidden string
}

func (e findingsError) Error() string {
	if e.count == 1 {
		return e.withHidden(fmt.Sprintf("1 finding at or above %s", e.severity))
	}
	return e.withHidden(fmt.Sprintf("%d findings at or above %s", e.count, e.severity))
}

// violationError says that an audit convicted the analyser.
type violationError struct{}

func (violationError) Error() string { return "the audit found a violation" }

// leakError says that a real name stands where it should not.
type leakError struct{}

func (leakError) Error() string { return "a real name was found: do not hand this on" }

// exitCode is the code for the error with which a command ended.
func exitCode(err error) int {
	var usage usageError
	var findings findingsError
	var violation violationError
	var leak leakError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &findings), errors.As(err, &violation), errors.As(err, &leak):
		return exitFindings
	}
	return exitFailed
}
