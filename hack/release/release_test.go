package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSameBytes: a release of one commit is the same bytes twice, in folders of
// other names, and holds what a person unpacks: programs that start, manual
// pages, completions, bills of materials, and sums that are right.
func TestSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("links both programs twice: not in the short tests")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1790000000")
	target := "linux/" + runtime.GOARCH
	first, second := filepath.Join(t.TempDir(), "dist"), filepath.Join(t.TempDir(), "another", "dist")
	for _, dir := range []string{first, second} {
		if err := run([]string{"-C", "../..", "-version", "1.2.3", "-o", dir, "-targets", target}, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	name := "reach_1.2.3_linux_" + runtime.GOARCH
	archive := read(t, filepath.Join(first, name+".tar.gz"))
	if !bytes.Equal(archive, read(t, filepath.Join(second, name+".tar.gz"))) {
		t.Error("the same commit gives two archives")
	}
	beside := "reach-oracle_1.2.3_linux_" + runtime.GOARCH
	oracle := read(t, filepath.Join(first, beside+".tar.gz"))
	if !bytes.Equal(oracle, read(t, filepath.Join(second, beside+".tar.gz"))) {
		t.Error("the same commit gives two archives of the oracle")
	}
	if got, want := string(read(t, filepath.Join(first, "SHA256SUMS"))), fmt.Sprintf("%x  %s.tar.gz\n%x  %s.tar.gz\n", sha256.Sum256(oracle), beside, sha256.Sum256(archive), name); got != want {
		t.Errorf("SHA256SUMS is %q, want %q", got, want)
	}
	files := unpack(t, archive)
	for _, want := range []string{
		"reach", "reach-analyser", "reach.cdx.json", "reach-analyser.cdx.json", "LICENSE", "README.md", "CHANGELOG.md",
		"SECURITY-REVIEW.md", "reach.example.yaml", "man/reach.1", "man/reach-census.1", "completions/reach.bash", "completions/reach.fish", "completions/reach.zsh",
	} {
		if len(files[name+"/"+want]) == 0 {
			t.Errorf("the archive has no %s", want)
		}
	}
	dir := t.TempDir()
	for program, content := range map[string][]byte{
		"reach": files[name+"/reach"], "reach-analyser": files[name+"/reach-analyser"], "reach-oracle": unpack(t, oracle)[beside+"/reach-oracle"],
	} {
		if err := os.WriteFile(filepath.Join(dir, program), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Unpacked beside reach, reach oracle finds it.
	clone := filepath.Join(dir, "clone")
	for _, args := range [][]string{{"init", "-q", clone}, {"-C", clone, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	if out, err := exec.Command(filepath.Join(dir, "reach"), "oracle", clone).CombinedOutput(); err != nil || !strings.Contains(string(out), "reach.oracle/v1") {
		t.Errorf("reach oracle: %s (%v)", out, err)
	}
	out, err := exec.Command(filepath.Join(dir, "reach"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "reach 1.2.3") {
		t.Errorf("reach version: %s (%v)", out, err)
	}
}

// TestArchiveIsPlain: nothing of the machine is in an archive.
func TestArchiveIsPlain(t *testing.T) {
	r := &release{time: time.Unix(1790000000, 0)}
	files := []file{{"b", 0o755, []byte("2")}, {"a", 0o644, []byte("1")}}
	packed, err := r.pack("reach_1", files)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.pack("reach_1", []file{files[1], files[0]})
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("the order in which files come shows in the archive (%v)", err)
	}
	other := &release{time: time.Unix(1790000001, 0)}
	if changed, err := other.pack("reach_1", files); err != nil || bytes.Equal(packed, changed) {
		t.Errorf("the time of the commit does not show (%v)", err)
	}
	if got := unpack(t, packed); string(got["reach_1/a"]) != "1" || string(got["reach_1/b"]) != "2" {
		t.Errorf("the archive holds %q", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, args := range [][]string{{}, {"-version", "1;2"}, {"-version", "1.2.3", "-o", filepath.Join(t.TempDir(), "x"), "-targets", "plan9/386", "-C", "../.."}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func unpack(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "root" {
			t.Errorf("%s belongs to %s", header.Name, header.Uname)
		}
		if out[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
