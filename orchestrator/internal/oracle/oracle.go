// Package oracle compares the Kustomizations of a census with a second opinion:
// the user's own render-based check, or that of `reach oracle`. It reads such a
// result from CSV, from JSON, or from a folder of rendered Kustomizations, and
// says of each Kustomization whether both sides agree on where it lands.
//
// It never decides who is right. What it cannot see: whether the other side
// looked at all of a cluster. A cluster of which it says nothing is counted as
// not asked; of any other cluster it is taken to know everything.
package oracle

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gitops-reach/reach/orchestrator/internal/bounded"
)

// Schema names the JSON form of an oracle file and its major version.
const Schema = "reach.oracle/v1"

// SchemaID is the $id of the JSON Schema of the JSON form.
const SchemaID = "urn:gitops-reach:reach.oracle:v1"

// The states of a Row.
const (
	// Rendered: it was built, and Objects counts what came of it.
	Rendered = "rendered"
	// NotRendered: where it lands is known, what it builds is not.
	NotRendered = "not_rendered"
	// Failed: building it failed, so nothing is said about it.
	Failed = "failed"
)

// Row is one Kustomization as the other side has it.
type Row struct {
	// Cluster on which the Kustomization lives; empty when the file does not say.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Class is a class of the output contract.
	Class string `json:"class"`
	// Target is the cluster to which it applies; empty with class local means
	// the cluster itself.
	Target string `json:"target"`
	// State is one of the states above; empty means Rendered without a count.
	State string `json:"state,omitempty"`
	// Reason is a code of small letters and underscores, for a State that is not
	// Rendered.
	Reason string `json:"reason,omitempty"`
	// Objects that it builds, when that is known.
	Objects *int `json:"objects,omitempty"`
	// Line of the file, from 1; 0 when there is none.
	Line int `json:"-"`
}

// File is what the other side says.
type File struct {
	// Format is "csv", "json" or "folder".
	Format string
	// Tool that made it, in its own words; may be empty.
	Tool string
	// Commit that it is about; may be empty.
	Commit string
	Rows   []Row
}

// Error is a mistake in an oracle file.
type Error struct {
	File string
	// Line counts from 1; 0 is the whole file.
	Line    int
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// maxFile bounds an oracle file: 64 MiB, far more than any fleet needs.
const maxFile = 64 << 20

// Load reads an oracle file, or a folder of rendered Kustomizations. A mistake
// in it is an *Error.
func Load(name string, spokes Spokes) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading the oracle: %w", err)
	}
	if info.IsDir() {
		return loadFolder(name, spokes)
	}
	data, large, err := bounded.ReadFile(name, "the oracle", maxFile)
	if err != nil {
		return nil, err
	}
	if large {
		return nil, &Error{File: name, Message: fmt.Sprintf("larger than %d bytes, which no list of Kustomizations is", maxFile)}
	}
	out, line, message := Parse(data)
	if message != "" {
		return nil, &Error{File: name, Line: line, Message: message}
	}
	return out, nil
}

// Parse reads CSV or JSON: text that begins with a brace or a bracket is JSON.
// message is what is wrong, at line, or empty.
func Parse(data []byte) (f *File, line int, message string) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var at *mistake
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) == 0 {
		return nil, 1, "it is empty: it wants a line with the names of the columns, or JSON"
	} else if text[0] == '{' || text[0] == '[' {
		f, at = parseJSON(data)
	} else {
		f, at = parseCSV(data)
	}
	if at == nil {
		at = check(f.Rows)
	}
	if at != nil {
		return nil, at.line, at.message
	}
	return f, 0, ""
}

// mistake is an error at a line.
type mistake struct {
	line    int
	message string
}

func wrong(line int, format string, args ...any) *mistake {
	return &mistake{line, fmt.Sprintf(format, args...)}
}

// Classes that a Kustomization can have, as in the output contract.
var Classes = []string{"local", "remote_direct", "remote_hub_render", "uncovered", "unresolved"}

var reasonCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// check looks at the values of rows, and completes them.
func check(rows []Row) *mistake {
	seen := map[[3]string]int{}
	for i := range rows {
		r := &rows[i]
		r.State = cmp.Or(r.State, Rendered)
		switch {
		case r.Name == "":
			return wrong(r.Line, "a Kustomization without name")
		case strings.Contains(r.Namespace+r.Name, "/"):
			return wrong(r.Line, "namespace %q and name %q hold no slash", r.Namespace, r.Name)
		case !slices.Contains([]string{Rendered, NotRendered, Failed}, r.State):
			return wrong(r.Line, "the state %q is none of rendered, not_rendered, failed", r.State)
		case r.Class == "" && r.State != Failed:
			return wrong(r.Line, "a Kustomization without class: it is one of %s", strings.Join(Classes, ", "))
		case r.Class != "" && !slices.Contains(Classes, r.Class):
			return wrong(r.Line, "the class %q is none of %s", r.Class, strings.Join(Classes, ", "))
		case r.Class == "remote_direct" && r.Target == "":
			return wrong(r.Line, "a Kustomization that is remote_direct needs its target")
		case r.Reason != "" && !reasonCode().MatchString(r.Reason):
			return wrong(r.Line, "the reason %q is no code: small letters, digits and underscores", r.Reason)
		case r.Objects != nil && *r.Objects < 0:
			return wrong(r.Line, "objects is a number from 0")
		}
		if r.Class == "local" {
			r.Target = cmp.Or(r.Target, r.Cluster)
		}
		if r.Cluster == "" {
			continue // the same name on several clusters is no repetition
		}
		key := [3]string{r.Cluster, r.Namespace, r.Name}
		if first, twice := seen[key]; twice {
			return wrong(r.Line, "the Kustomization %s/%s of %s stands at line %d already", r.Namespace, r.Name, r.Cluster, first)
		}
		seen[key] = r.Line
	}
	return nil
}
