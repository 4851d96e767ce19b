package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// oracleProgram is the name of the program that renders for reach oracle.
const oracleProgram = "reach-oracle"

// maxOracle bounds what it may say: 64 MiB.
const maxOracle = 64 << 20

// waitOracle is how long it may take to clean up.
const waitOracle = 5 * time.Second

// Oracle has a repository rendered and returns what the program says. request is
// a census request as JSON. program is its path; empty is the one beside this
// program. It gets the variables that git needs and no others.
func Oracle(ctx context.Context, program, repository string, request []byte, env map[string]string) ([]byte, error) {
	if program == "" {
		beside, err := Beside()
		if err != nil {
			return nil, err
		}
		program = filepath.Join(filepath.Dir(beside), oracleProgram)
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("there is no %s: it is a program of its own; put that of the archive reach-oracle of the same release beside reach, or run make oracle in the source, or name its place with --renderer", program)
	}
	cmd := exec.CommandContext(ctx, program, repository)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "SYSTEMROOT"} {
		if v, ok := env[name]; ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var out, log limited
	out.left, log.left = maxOracle, 64<<10
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &out, &log
	// It removes what it laid on the disk when it is asked to end.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = waitOracle
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.left < 0:
		return nil, errors.New("the oracle says more than a list of Kustomizations can be")
	case err != nil:
		text := strings.TrimSpace(log.String())
		if text == "" {
			text = err.Error()
		}
		line, _, _ := strings.Cut(text, "\n")
		return nil, fmt.Errorf("the oracle could not render the commit: %s", line)
	}
	return out.Bytes(), nil
}

// limited keeps the beginning of what is written.
type limited struct {
	bytes.Buffer
	left int
}

// Write refuses what is beyond.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, io.ErrShortWrite
	}
	return l.Buffer.Write(p)
}
