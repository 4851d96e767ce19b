package pinned

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// beside puts a file where the analyser would be beside this test.
func beside(t *testing.T) string {
	t.Helper()
	binary, err := Beside()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(binary) })
	return binary
}

func TestAhead(t *testing.T) {
	defer func() { Tree = "" }()
	binary := beside(t)
	f, err := Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := TreeOf(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}

	if c := begin([]string{"reach", "census"}); c != nil {
		t.Error("a check was begun though nothing is linked")
	}
	Tree = "linked"
	for _, args := range [][]string{nil, {"reach"}, {"reach", "version"}, {"reach", "help", "census"}} {
		if c := begin(args); c != nil {
			t.Errorf("%q needs no analyser", args)
		}
	}
	for _, command := range commands {
		c := begin([]string{"reach", command, "."})
		if f, _ := c.take(t.Context(), binary+"2"); f != nil {
			t.Error("the check of another program was taken")
		}
		got, tree := c.take(t.Context(), binary)
		if got == nil || tree != want {
			t.Fatalf("%s: %v, tree %q, want %q", command, got, tree, want)
		}
		if text, err := io.ReadAll(got); err != nil || string(text) != "a program" {
			t.Errorf("%s: the file says %q, %v", command, text, err)
		}
		got.Close()
		if got, _ := c.take(t.Context(), binary); got != nil {
			t.Error("the check was taken twice")
		}
	}

	if err := os.Remove(binary); err != nil {
		t.Fatal(err)
	}
	if got, _ := begin([]string{"reach", "census"}).take(t.Context(), binary); got != nil {
		t.Error("a file that is not there was opened")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	hung := &check{binary: binary, done: make(chan struct{})}
	if got, _ := hung.take(ctx, binary); got != nil {
		t.Error("a check that did not end was taken")
	}
	var none *check
	if got, _ := none.take(t.Context(), binary); got != nil {
		t.Error("no check was taken")
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for name, binary := range map[string]string{"a folder": dir, "nothing": filepath.Join(dir, "none")} {
		if f, err := Open(binary); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}
