package launch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	plugin "github.com/hashicorp/go-plugin"

	"github.com/gitops-reach/reach/orchestrator/internal/launch/pinned"
)

// program is the name of the analyser's binary.
const program = pinned.Program

// Linked is the digest of the analyser that was built together with this
// program, in hexadecimal; empty when none was linked.
func Linked() string { return pinned.Digest }

// Beside returns the path of the analyser next to the running program, where
// the build puts it.
func Beside() (string, error) { return pinned.Beside() }

// Pin returns the digest that the binary is expected to have: the one that
// was linked into this program, else the first field of the file
// binary.sha256 (the format of sha256sum), else "" when there is neither.
func Pin(binary string) (string, error) {
	if pinned.Digest != "" {
		return pinned.Digest, nil
	}
	f, err := os.Open(binary + ".sha256")
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the expected digest: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("reading the expected digest: %w", err)
	}
	digest, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if _, err := parseDigest(digest); err != nil {
		return "", fmt.Errorf("reading the expected digest: %s.sha256: %w", binary, err)
	}
	return digest, nil
}

func parseDigest(s string) ([]byte, error) {
	sum, err := hex.DecodeString(strings.TrimPrefix(s, "sha256:"))
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("%q is not a SHA-256 digest in hexadecimal", printable(s, 100))
	}
	return sum, nil
}

// Verification is the check of one binary, under way or done.
type Verification struct {
	binary, want string
	done         chan struct{}
	// Set when done is closed. The file is taken by the start, once.
	file   *os.File
	digest string
	err    error
}

// Verify begins to check that the binary is the one with the digest want, which
// may be empty, as Options say; see Options.Verified. It ends early with ctx.
func Verify(ctx context.Context, binary, want string) *Verification {
	v := &Verification{binary: binary, want: want, done: make(chan struct{})}
	go func() {
		defer close(v.done)
		v.file, v.digest, v.err = verify(ctx, binary, want)
	}()
	return v
}

// Wait returns when the check has ended, whatever it found.
func (v *Verification) Wait() { <-v.done }

// result waits for the check and hands over the open file, which the caller
// closes, and the digest in hexadecimal.
func (v *Verification) result() (*os.File, string, error) {
	<-v.done
	return v.file, v.digest, v.err
}

// verify opens the binary, computes its digest and compares it with want,
// which may be empty. It returns the open file, which the caller closes, and
// the digest in hexadecimal.
//
// The file is held open so that it can be started through its descriptor
// where the system allows: then the program that runs is the file that was
// read, whatever its name leads to by now.
func verify(ctx context.Context, binary, want string) (*os.File, string, error) {
	linked := want != "" && want == pinned.Digest && pinned.Tree != ""
	var f *os.File
	var tree string
	if linked {
		f, tree = pinned.Ahead(ctx, binary)
	}
	if f == nil {
		var err error
		if f, err = pinned.Open(binary); err != nil {
			return nil, "", &StartError{binary, reason(err)}
		}
		if linked {
			tree, _ = pinned.TreeOf(ctx, f)
		}
	}
	if linked && tree == pinned.Tree {
		return f, want, nil
	}
	// Whatever is wrong, the whole digest decides, and is what is told.
	if err := context.Cause(ctx); err != nil {
		f.Close()
		return nil, "", &StartError{binary, err}
	}
	got, ok, err := check(ownName(f), want)
	if err != nil {
		f.Close()
		return nil, "", &StartError{binary, err}
	}
	if !ok {
		f.Close()
		return nil, "", &DigestError{Binary: binary, Want: want, Got: got}
	}
	return f, got, nil
}

// check has go-plugin compute and compare the digest; an empty want agrees
// with everything. It does so here because go-plugin's own start looks at the
// command line of a process that it starts itself, and ours is started by a
// runner.
func check(path, want string) (got string, ok bool, err error) {
	// go-plugin refuses an empty checksum; this one is nobody's.
	sum := make([]byte, sha256.Size)
	if want != "" {
		if sum, err = parseDigest(want); err != nil {
			return "", false, err
		}
	}
	h := sha256.New()
	ok, err = (&plugin.SecureConfig{Checksum: sum, Hash: h}).Check(path)
	if err != nil {
		return "", false, fmt.Errorf("computing its digest: %w", reason(err))
	}
	return hex.EncodeToString(h.Sum(nil)), ok || want == "", nil
}

// reason strips the operation and the path, which the caller names better.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
