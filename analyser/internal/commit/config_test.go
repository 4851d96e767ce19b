package commit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var configs = []string{
	"",
	"[core]\n\tbare = true\n",
	"\xef\xbb\xbf[core]\nbare\n",
	"[Core]\r\n  BARE=Yes\r\n",
	"[remote \"Origin\"]\n url = https://example.com/a.git # comment\n fetch = +refs/heads/*:refs/remotes/Origin/*\n",
	"[branch \"a.b\\\"c\\\\\"]\nmerge = \"refs/heads/x y\"  ; comment\n",
	"[a]b=c[d]e=f\n",
	"[a] b = c\n[d] e = f",
	"[a.B]\nc = d\n",
	"[a]\nb = one \\\n  two\n",
	"[a]\nb = \"quoted \\t \\n # kept \" tail   \n",
	"[a]\nb =\nc = \"\"\nd\n",
	"[a]\nb = x  y  z \n",
	"b = c\n",
	"# only\n; comments\n",
	"[a]\nb = 1\nb = 2\n[a]\nb = 3\n",
	"[a \"\"]\nb = c\n",
	"[a]\nb-c1 = d\n",
	// malformed
	"[a\nb = c\n", "[a]\nb c\n", "[a]\n1b = c\n", "[a]\nb = \"open\n", "[a]\nb = \\x\n",
	"[a \"b\nc\"]\nd = e\n", "[a \"b\" c]\nd = e\n", "[]\nb = c\n", "[a]\nb # = c\n", "[a_b]\nc = d\n", "[a] = b\n",
}

// git's reading of a configuration file is ours.
func TestConfigLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, text := range configs {
		t.Run(fmt.Sprintf("%.30q", text), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			out, gitErr := exec.Command("git", "config", "--file", file, "-z", "--list").Output()
			want := config{}
			for item := range bytes.SplitSeq(out, []byte{0}) {
				if len(item) == 0 {
					continue
				}
				key, value, set := strings.Cut(string(item), "\n")
				if !set {
					value = "true"
				}
				want[key] = append(want[key], value)
			}
			got, err := parseConfig([]byte(text))
			if (err != nil) != (gitErr != nil) {
				t.Fatalf("the error is %v, git's is %v", err, gitErr)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "line ") {
					t.Errorf("%v: names no line", err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("git has -, we have +:\n%s", diff)
			}
		})
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range configs {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err == nil {
			isPartial(c)
			size := 0
			for _, vs := range c {
				for _, v := range vs {
					size += len(v)
				}
			}
			if size > len(data)*4+4 {
				t.Errorf("%d bytes of values out of %d", size, len(data))
			}
		}
	})
}

func TestWithoutUser(t *testing.T) {
	tests := map[string]string{
		"https://example.com/org/repo.git":                       "https://example.com/org/repo.git",
		"https://user@example.com/org/repo.git":                  "https://example.com/org/repo.git",
		"https://user:p%40ss@example.com:8443/org/repo.git":      "https://example.com:8443/org/repo.git",
		"https://user:p@ss@example.com/org/repo.git":             "https://example.com/org/repo.git",
		"https://user:p/ss@example.com/org/repo.git":             "",
		"https://example.com/org/repo.git?token=hunter2#hunter2": "https://example.com/org/repo.git",
		"ssh://git@example.com:22/org/repo.git":                  "ssh://example.com:22/org/repo.git",
		"git@example.com:org/repo.git":                           "example.com:org/repo.git",
		"user:secret@example.com:org/repo.git":                   "example.com:org/repo.git",
		"example.com:org/re@po.git":                              "example.com:org/re@po.git",
		"/srv/git/re@po:x.git":                                   "/srv/git/re@po:x.git",
		"../relative":                                            "../relative",
		"file:///srv/git/repo.git":                               "file:///srv/git/repo.git",
		"helper::https://user:secret@example.com/x":              "",
		"https://[broken":                                        "",
		"://user:secret@x":                                       "",
	}
	for remote, want := range tests {
		got := withoutUser(remote)
		if got != want {
			t.Errorf("%s: got %q, want %q", remote, got, want)
		}
	}
}

func TestRefspecs(t *testing.T) {
	tests := []struct {
		spec, name, want string
	}{
		{"+refs/heads/*:refs/remotes/origin/*", "refs/heads/a/b", "refs/remotes/origin/a/b"},
		{"refs/heads/main:refs/heads/copy", "refs/heads/main", "refs/heads/copy"},
		{"refs/heads/main:refs/heads/copy", "refs/heads/other", ""},
		{"+refs/heads/rel-*-x:refs/x/*", "refs/heads/rel-1-x", "refs/x/1"},
		{"+refs/heads/rel-*-x:refs/x/*", "refs/heads/rel-x", ""},
		{"^refs/heads/*", "refs/heads/main", ""},
		{"refs/heads/main", "refs/heads/main", ""},
	}
	for _, tt := range tests {
		if got, ok := mapRefspec(tt.spec, tt.name); ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s of %s is %q, %t; want %q", tt.spec, tt.name, got, ok, tt.want)
		}
	}
}

// git-check-ref-format is the oracle of names.
func TestRefNamesLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	names := []string{
		"HEAD", "a", "a/b", "a//b", "/a", "a/", ".a", "a/.b", "a.", "a.b", "a..b", "a.lock", "a.lock/b", "a/b.lock", "a.lockx",
		"a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", "a\x01b", "a\x7fb", "a@{b", "@", "a@", "@a", "ä", "\xff", "a/-b", "{a}", "a/@", "../a", "a/../b",
	}
	for _, name := range names {
		err := exec.Command("git", "check-ref-format", "--allow-onelevel", name).Run()
		if want := err == nil; validRefName(name) != want {
			t.Errorf("%q: valid is %t, git says %t", name, !want, want)
		}
	}
	if slices.Contains(names, "") || validRefName("") || validRefName("a\x00b") {
		t.Error("an empty name, or one with NUL, is valid")
	}
}
