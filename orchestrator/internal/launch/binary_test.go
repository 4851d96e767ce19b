//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gitops-reach/reach/firewall/digest"
	"github.com/gitops-reach/reach/orchestrator/internal/launch/pinned"
)

func TestDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	for name, mode := range map[string]os.FileMode{"text": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("not a program"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	wrong := strings.Repeat("0", 64)
	for _, c := range []struct {
		name string
		with func(*Options)
		want string
		as   error
	}{
		{"missing", func(o *Options) { o.Binary = filepath.Join(dir, "none") }, "none: no such file or directory", &StartError{}},
		{"directory", func(o *Options) { o.Binary = dir }, ": not a regular file", &StartError{}},
		{"fifo", func(o *Options) { o.Binary = filepath.Join(dir, "fifo") }, "fifo: not a regular file", &StartError{}},
		{"not executable", func(o *Options) { o.Binary = filepath.Join(dir, "plain") }, "plain: permission denied", &StartError{}},
		{"not a program", func(o *Options) { o.Binary = text }, "text: exec format error", &StartError{}},
		{"wrong digest", func(o *Options) { o.Digest = wrong }, "is not the expected program and was not started: its sha256 is ", &DigestError{}},
		{"malformed digest", func(o *Options) { o.Digest = "abc" }, `"abc" is not a SHA-256 digest in hexadecimal`, &StartError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t, "none")
			c.with(&o)
			a, err := Start(t.Context(), o)
			if err == nil {
				a.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", c.as) {
				t.Errorf("%T: %v\nwant a %T with %q", err, err, c.as, c.want)
			}
		})
	}
}

func TestRightDigest(t *testing.T) {
	o := options(t, "none")
	f, digest, err := verify(t.Context(), o.Binary, "")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, d := range []string{digest, "sha256:" + digest, strings.ToUpper(digest)} {
		o.Digest = d
		if _, err := run(t, o); err != nil {
			t.Errorf("digest %s: %v", d, err)
		}
	}
}

func TestPin(t *testing.T) {
	binary := filepath.Join(t.TempDir(), program)
	if got, err := Pin(binary); got != "" || err != nil {
		t.Errorf("without a file: %q, %v", got, err)
	}
	want := strings.Repeat("ab", 32)
	for content, ok := range map[string]bool{
		want + "  reach-analyser\n": true,
		want:                        true,
		"abcd  reach-analyser\n":    false,
		"":                          false,
	} {
		if err := os.WriteFile(binary+".sha256", []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Pin(binary)
		if (err == nil) != ok || ok && got != want {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
	pinned.Digest = strings.Repeat("cd", 32)
	defer func() { pinned.Digest = "" }()
	if got, err := Pin(binary); got != pinned.Digest || err != nil {
		t.Errorf("linked: %q, %v", got, err)
	}
}

// Where a tree is linked it is what is compared, and where it is not the file's
// the whole digest decides: a program starts that has it, and no other.
func TestLinkedTree(t *testing.T) {
	o := options(t, "none")
	settings, err := digest.LinkerFlags(o.Binary)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(settings)
	_, sum, _ := strings.Cut(fields[1], "=")
	_, tree, _ := strings.Cut(fields[3], "=")
	nobody := strings.Repeat("ab", 32)
	defer func() { pinned.Digest, pinned.Tree = "", "" }()
	for _, c := range []struct {
		name, linked, tree, want string
		starts                   bool
	}{
		{"both", sum, tree, sum, true},
		{"the tree alone is looked at", nobody, tree, nobody, true},
		{"another tree", sum, nobody, sum, true},
		{"another program", nobody, nobody, nobody, false},
		{"a digest that is not the linked one", sum, tree, nobody, false},
	} {
		pinned.Digest, pinned.Tree = c.linked, c.tree
		f, got, err := verify(t.Context(), o.Binary, c.want)
		if err == nil {
			f.Close()
		}
		if (err == nil) != c.starts || c.starts && got != c.want {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pinned.Digest, pinned.Tree = sum, tree
	if _, _, err := verify(ctx, o.Binary, sum); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
}

// A check that was begun for another program or another digest is not used.
func TestVerifiedIsTheSame(t *testing.T) {
	o := options(t, "none")
	o.Verified = Verify(t.Context(), o.Binary, "")
	o.Digest = strings.Repeat("0", 64)
	a, err := Start(t.Context(), o)
	if err == nil {
		a.Close()
	}
	var other *DigestError
	if !errors.As(err, &other) {
		t.Errorf("got %v, want a *DigestError", err)
	}
}
