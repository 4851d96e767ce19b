package serve

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

// badLimitError: a limit of a request is none.
type badLimitError struct {
	name  string
	value int64
}

func (e *badLimitError) Error() string {
	return fmt.Sprintf("limits.%s is %d: a limit is a number from 1 to %d, or 0 for its default", e.name, e.value, reachv1.MaxLimit)
}

// checkLimits refuses limits that no arithmetic should be done with.
func checkLimits(l *reachv1.Limits) (err error) {
	l.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if n := v.Int(); n < 0 || n > reachv1.MaxLimit {
			err = &badLimitError{string(f.Name()), n}
		}
		return err == nil
	})
	return err
}
