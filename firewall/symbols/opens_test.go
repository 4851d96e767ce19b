package symbols

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each planted program opens files in its own way. What writes is a violation,
// what cannot be told is an error, on both processors, with and without a
// symbol table.
func TestOpens(t *testing.T) {
	rules, err := ParseRules("policy", strings.NewReader("readonly os.OpenFile word=2 -- r\n"))
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("../testdata/planted/opens/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("programs %v, error %v", dirs, err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, dir := range dirs {
			t.Run(arch+" "+filepath.Base(dir), func(t *testing.T) {
				if arch != "amd64" && testing.Short() {
					t.Skip("links the runtime for another processor: not in the short tests")
				}
				want := strings.Join(wants(t, dir), " ")
				b, err := Read(linkFor(t, dir, arch, filepath.Base(dir) == "writes"))
				if err != nil {
					t.Fatal(err)
				}
				verdict, err := rules.Audit(b)
				got := "reads"
				switch {
				case err != nil:
					got = "unknown"
				case len(verdict.Violations) > 0:
					got = verdict.Violations[0].Rule + "s"
				case len(verdict.Opens) == 0:
					got = "nothing"
				}
				if got != want {
					t.Errorf("%s, want %s: %+v, error %v", got, want, verdict, err)
				}
			})
		}
	}
}

func linkFor(t *testing.T, dir, arch string, stripped bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", file}
	if stripped {
		args = append(args, "-ldflags=-s -w")
	}
	c := exec.Command("go", append(args, "./"+dir)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-mod=readonly", "GOARCH="+arch)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("linking %s: %v\n%s", dir, err, out)
	}
	return file
}

// A rule that excepts a caller which nobody judges would be a hole.
func TestExceptIsJudged(t *testing.T) {
	for policy, want := range map[string]string{
		"readonly os.open word=2 except=os.openFileNolog -- r\n":                                        "judges its own callers",
		"readonly os.open word=2 except=os.openFileNolog -- r\nreadonly os.openFileNolog word=2 -- r\n": "",
		"readonly os.open -- r\n": "word=N",
	} {
		_, err := ParseRules("policy", strings.NewReader(policy))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", policy, err, want)
		}
	}
}

// A processor nobody wrote a decoder for, and a program that can be loaded
// anywhere, give no verdict.
func TestUnknownCode(t *testing.T) {
	rules, err := ParseRules("policy", strings.NewReader("readonly f word=2 -- r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*code{
		{arch: "EM_S390", funcs: []function{{"f", 1, 2}}},
		{machine: amd64{}, moves: true, funcs: []function{{"f", 1, 2}}},
	} {
		if v, err := rules.Audit(&Binary{Build: map[string]string{"CGO_ENABLED": "0"}, code: c}); err == nil {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// The immediates of arm64's logical instructions.
func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		wide      bool
		turn, run uint32
		want      uint64
	}{
		{true, 0, 0, 1},
		{true, 63, 0, 2},
		{true, 58, 0, 0x40},
		{false, 0, 0, 0x1_0000_0001},
		{false, 0, 0b111100, 0x5555_5555_5555_5555},
		{true, 0, 62, 1<<63 - 1},
		{false, 8, 0b100111, 0xff00_ff00_ff00_ff00},
	} {
		if got := pattern(tt.wide, tt.turn, tt.run); got != tt.want {
			t.Errorf("wide %t, turned by %d, run %b: %#x, want %#x", tt.wide, tt.turn, tt.run, got, tt.want)
		}
	}
}
