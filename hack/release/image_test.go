//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// imageProblems are what is wrong with a Containerfile: anything but one stage
// on a pinned distroless base, that runs as a user with a number who owns no
// program, and runs nothing while it is built.
func imageProblems(text string) []string {
	var out []string
	froms, user, entry := 0, "", ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "FROM":
			froms++
			if !regexp.MustCompile(`^gcr\.io/distroless/static[\w-]*:nonroot@sha256:[0-9a-f]{64}$`).MatchString(rest) {
				out = append(out, "the base is not distroless and pinned: "+rest)
			}
		case "USER":
			user = rest
		case "ENTRYPOINT":
			entry = rest
		case "RUN", "ADD":
			out = append(out, word+" is not for an image that holds files")
		case "COPY":
			if !strings.Contains(rest, "--chown=0:0") || !strings.Contains(rest, "--chmod=0555") {
				out = append(out, "programs may be changed: "+rest)
			}
		}
	}
	if froms != 1 {
		out = append(out, "there is more than one base, or none")
	}
	if !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(user) {
		out = append(out, "it does not run as a user with a number: "+user)
	}
	if entry != `["/usr/bin/reach"]` {
		out = append(out, "it starts "+entry)
	}
	return out
}

func TestImageDefinition(t *testing.T) {
	text := string(read(t, "../image/Containerfile"))
	for _, p := range imageProblems(text) {
		t.Error(p)
	}
	for want, edit := range map[string][2]string{
		"not distroless":     {"FROM gcr.io/distroless/static-debian12", "FROM debian"},
		"and pinned":         {"@sha256:", ":"},
		"a number":           {"USER 65532:65532", "USER root"},
		"is not for":         {"WORKDIR", "RUN true\nWORKDIR"},
		"may be changed":     {"--chmod=0555", ""},
		"more than one base": {"ARG TARGETARCH", "FROM scratch"},
		"it starts":          {"/usr/bin/reach\"]", "/bin/sh\"]"},
	} {
		if got := strings.Join(imageProblems(strings.Replace(text, edit[0], edit[1], 1)), "\n"); !strings.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
}

// TestRunsInAnEmptyRoot: what the image promises holds without the image: in a
// root that holds both programs and nothing else, none of which the user may
// write, a census works and writes the report alone.
func TestRunsInAnEmptyRoot(t *testing.T) {
	if testing.Short() {
		t.Skip("links both programs: not in the short tests")
	}
	if os.Getuid() != 0 {
		t.Skip("only root may change the root directory")
	}
	dir := t.TempDir()
	for name, pkg := range map[string]string{"reach": "orchestrator", "reach-analyser": "analyser"} {
		build := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", filepath.Join(dir, "usr", "bin", name), "../../"+pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
	repo := filepath.Join(dir, "repo")
	if err := os.MkdirAll(filepath.Join(repo, "clusters", "hub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repo, "clusters", "hub", "team.yaml"), []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "one"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	const nobody = 65532
	reports := filepath.Join(dir, "reports")
	if err := os.Mkdir(reports, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(reports, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Every container has a /proc, and one with a read-only root a --tmpfs /tmp.
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tmp, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	proc := filepath.Join(dir, "proc")
	if err := os.Mkdir(proc, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "--bind", "/proc", proc).CombinedOutput(); err != nil {
		t.Skipf("/proc cannot be had in another root here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", proc).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	census := exec.Command("/usr/bin/reach", "census", "/repo", "--root", "hub=clusters/hub", "--out", "/reports/platform")
	census.Dir, census.Env = "/", []string{}
	census.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := census.CombinedOutput(); err != nil {
		t.Fatalf("in an empty root a census fails: %v\n%s", err, out)
	}
	for _, name := range []string{"report.html", "census.json"} {
		if len(read(t, filepath.Join(reports, "platform", name))) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	written, err := os.ReadDir(dir)
	if err != nil || len(written) != 5 {
		t.Errorf("the root holds %v (%v)", written, err)
	}
}
