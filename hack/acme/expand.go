package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"
)

//go:embed source/*.txtar
var sources embed.FS

// repository returns the files of the repository in the order of the sources.
//
// Every source archive starts with a line that says how often it is expanded:
// "once", as it is, or "each: NAME", once for every element of the data set of
// that name. Then the archive is one text/template (delimiters [[ and ]])
// whose result is an archive again; files that come out blank are left out.
func repository() ([]txtar.File, error) {
	names, err := fs.Glob(sources, "source/*.txtar")
	if err != nil {
		return nil, err
	}
	var files []txtar.File
	seen := map[string]string{}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		expanded, err := expand(name, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range expanded {
			if other, ok := seen[f.Name]; ok {
				return nil, fmt.Errorf("%s: %s is in %s too", name, f.Name, other)
			}
			if path.Clean(f.Name) != f.Name {
				return nil, fmt.Errorf("%s: %q is not a clean path", name, f.Name)
			}
			seen[f.Name] = name
			files = append(files, f)
		}
	}
	return files, nil
}

func expand(name string, text []byte) ([]txtar.File, error) {
	first, _, _ := bytes.Cut(text, []byte{'\n'})
	if string(first) == "once" {
		return txtar.Parse(text).Files, nil
	}
	set, ok := strings.CutPrefix(string(first), "each: ")
	if !ok {
		return nil, fmt.Errorf("starts with %q, want \"once\" or \"each: NAME\"", first)
	}
	elements, ok := data[set]
	if !ok {
		return nil, fmt.Errorf("no data set %q", set)
	}
	t := template.New(path.Base(name)).Delims("[[", "]]").Option("missingkey=error")
	t.Funcs(template.FuncMap{
		"lower":  strings.ToLower,
		"indent": indent,
		"include": func(name string, arg any) (string, error) {
			var b strings.Builder
			err := t.ExecuteTemplate(&b, name, arg)
			return strings.TrimPrefix(b.String(), "\n"), err
		},
	})
	if _, err := t.Parse(string(text)); err != nil {
		return nil, err
	}
	var files []txtar.File
	for _, element := range elements {
		var b bytes.Buffer
		if err := t.Execute(&b, element); err != nil {
			return nil, err
		}
		for _, f := range txtar.Parse(b.Bytes()).Files {
			f.Data = append(bytes.Trim(f.Data, "\n"), '\n')
			if len(f.Data) > 1 {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// indent puts n spaces before every line of s that is not empty.
func indent(n int, s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", n) + line
		}
	}
	return strings.Join(lines, "\n")
}

// rewrite replaces the files below repo/ in an archive, which need not exist.
// They stand between the hand-written parts: after everything that does not
// start with want/, before the expectation.
func rewrite(archive string) error {
	text, err := os.ReadFile(archive)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old := txtar.Parse(text)
	files, err := repository()
	if err != nil {
		return err
	}
	result := &txtar.Archive{Comment: old.Comment}
	var want []txtar.File
	for _, f := range old.Files {
		switch {
		case strings.HasPrefix(f.Name, "want/"):
			want = append(want, f)
		case !strings.HasPrefix(f.Name, "repo/"):
			result.Files = append(result.Files, f)
		}
	}
	for _, f := range files {
		result.Files = append(result.Files, txtar.File{Name: "repo/" + f.Name, Data: f.Data})
	}
	result.Files = append(result.Files, want...)
	return os.WriteFile(archive, txtar.Format(result), 0o644)
}
