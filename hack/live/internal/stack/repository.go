package stack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// declaredURL is where acme-platform says that it is.
const declaredURL = "ssh://git@github.com/acme-corp/acme-platform"

// makeRepository makes the clone of acme-platform that the hubs follow. It
// differs from hack/acme's in what only a real set-up needs: the repository is
// at our git server, and the definitions of Flux's kinds are the real ones, not
// the abridged ones that say nothing of defaults. The branch of the release
// train is there too.
func (s *Stack) makeRepository(ctx context.Context, source string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./hack/acme", "-git", s.Repository, "-config", s.Config)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("making acme-platform: %w: %s", err, out)
	}
	real, err := definitionsByName(s.Programs.CRDs("flux"))
	if err != nil {
		return err
	}
	url := s.git.URL("acme-platform.git")
	err = filepath.WalkDir(s.Repository, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content := bytes.ReplaceAll(old, []byte(declaredURL), []byte(url))
		if d.Name() == "gotk-components.yaml" {
			content = withDefinitions(content, real)
		}
		if bytes.Equal(old, content) {
			return nil
		}
		return os.WriteFile(path, content, 0o644)
	})
	if err != nil {
		return err
	}
	bare := filepath.Join(s.Dir, "git", "acme-platform.git")
	for _, args := range [][]string{
		{"remote", "set-url", "origin", url},
		{"commit", "-q", "-a", "-m", "The platform on loopback"},
		{"branch", "release-2026.10"},
		{"clone", "-q", "--bare", s.Repository, bare},
		{"remote", "add", "server", bare},
		{"push", "-q", "server", "main", "release-2026.10"},
	} {
		if _, err := s.Git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Git runs git in the clone, with nothing of the user's configuration.
func (s *Stack) Git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = s.Repository
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Platform Team", "GIT_AUTHOR_EMAIL=platform@acme.example",
		"GIT_COMMITTER_NAME=Platform Team", "GIT_COMMITTER_EMAIL=platform@acme.example")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// Push commits all changes of the clone and pushes them to the branch that the
// hubs follow. It returns the commit.
func (s *Stack) Push(ctx context.Context, message string) (string, error) {
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", message}, {"push", "-q", "server", "main"}} {
		if _, err := s.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	return s.Git(ctx, "rev-parse", "HEAD")
}

// definitionsByName are the definitions in a folder by their names, as they
// stand in their files.
func definitionsByName(folder string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	byName := map[string][]byte{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		content = bytes.TrimPrefix(bytes.TrimSpace(content), []byte("---\n"))
		byName[metadataName(content)] = content
	}
	return byName, nil
}

// withDefinitions puts the real definitions in place of those of the same name
// in a file of many documents.
func withDefinitions(components []byte, real map[string][]byte) []byte {
	documents := bytes.Split(components, []byte("\n---\n"))
	for i, d := range documents {
		if bytes.Contains(d, []byte("\nkind: CustomResourceDefinition\n")) {
			if r, ok := real[metadataName(d)]; ok {
				documents[i] = r
			}
		}
	}
	return bytes.Join(documents, []byte("\n---\n"))
}

// metadataName is metadata.name of a manifest as generators write it.
func metadataName(document []byte) string {
	inside := false
	for line := range bytes.Lines(document) {
		text := string(bytes.TrimRight(line, "\n"))
		switch {
		case text == "metadata:":
			inside = true
		case inside && strings.HasPrefix(text, "  name: "):
			return strings.TrimPrefix(text, "  name: ")
		case inside && !strings.HasPrefix(text, " "):
			inside = false
		}
	}
	return ""
}
