// Command reach-oracle renders a commit with the tools themselves and tells where
// each Flux Kustomization lands: the second opinion of `reach oracle`, which
// starts it. It knows the repository, what the user declared, and nothing of the
// analyser.
//
//	reach-oracle REPOSITORY < request > result
//
// The request is a reach.v1.CensusRequest as JSON, of which revision, roots,
// sources, spokes and clusters are read; the result is reach.oracle/v1 as JSON.
// An error is a sentence on standard error and exit code 1.
//
// The tools are made for repositories that one trusts. So git is asked for the
// commit first, and then the environment is emptied, no program can be found any
// more, and where Linux can, the process is shut off from the network. Values of
// Secrets are in memory while it builds; nothing but names, classes, counts and
// codes leaves it, and no error text of a tool, which may quote what it read.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gitops-reach/reach/hack/oracle/render"
	reachv1 "github.com/gitops-reach/reach/proto/reach/v1"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// maxRequest bounds a request: 16 MiB.
const maxRequest = 16 << 20

func run(args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("usage: reach-oracle REPOSITORY < request > result")
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRequest))
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	request := &reachv1.CensusRequest{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, request); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return errors.New("git is needed to read the commit, and is not on the PATH")
	}
	dir, err := os.MkdirTemp("", "reach-oracle-")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); e != nil && err == nil {
			err = e
		}
	}()
	removeOnSignal(dir)
	// Flux wants a root without symbolic links.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	t, err := checkout(git, args[0], request.GetRevision(), dir)
	if err != nil {
		return err
	}
	render.Isolate()
	shutOff()
	w := newWorld(t, request)
	if err := w.follow(); err != nil {
		return err
	}
	return write(out, t.commit, w.rows())
}

// row is a Kustomization in the result.
type row struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Class     string `json:"class"`
	Target    string `json:"target"`
	State     string `json:"state"`
	Reason    string `json:"reason,omitempty"`
	Objects   *int   `json:"objects,omitempty"`
}

func write(out io.Writer, commit string, rows []row) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{
		"schema": "reach.oracle/v1", "tool": "reach oracle: " + versions(), "commit": commit, "kustomizations": rows,
	})
}
