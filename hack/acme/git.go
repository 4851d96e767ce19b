package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// gitRepository writes the files below repo/ of an archive to a new or empty
// directory, commits them on the branch main with a fixed author and date, and
// returns the id of the commit, which is the same everywhere. With config it
// copies the archive's reach.yaml, empty when there is none, to that file.
func gitRepository(archive, dir, config string) (commit string, err error) {
	a, err := txtar.ParseFile(archive)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty", dir)
	}
	var reach []byte
	for _, f := range a.Files {
		if f.Name == "reach.yaml" {
			reach = f.Data
		}
		name, ok := strings.CutPrefix(f.Name, "repo/")
		if !ok {
			continue
		}
		if !filepath.IsLocal(name) {
			return "", fmt.Errorf("%s: %q leads out of the repository", archive, f.Name)
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			return "", err
		}
	}
	if config != "" {
		if err := os.WriteFile(config, reach, 0o644); err != nil {
			return "", err
		}
	}
	steps := [][]string{
		{"init", "-q", "-b", "main", "--object-format=sha1"},
		{"remote", "add", "origin", "https://github.com/acme-corp/acme-platform.git"},
		{"add", "-A", "-f"},
		{"commit", "-q", "-m", "The state of the platform"},
	}
	for _, args := range steps {
		if _, err := git(dir, args...); err != nil {
			return "", err
		}
	}
	return git(dir, "rev-parse", "HEAD")
}

// git runs git in dir with nothing of the user's configuration.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{
		"-c", "core.autocrlf=false", "-c", "core.fileMode=false", "-c", "core.symlinks=true",
		"-c", "init.templateDir=", "-c", "commit.gpgSign=false",
	}, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	const who, mail, when = "Platform Team", "platform@acme.example", "2026-11-16T09:30:00+00:00"
	cmd.Env = append(cmd.Env,
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME="+who, "GIT_AUTHOR_EMAIL="+mail, "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+who, "GIT_COMMITTER_EMAIL="+mail, "GIT_COMMITTER_DATE="+when,
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}
