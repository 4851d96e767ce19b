// Command seal builds the sealed analyser: the same source as `go build
// ./analyser`, linked without the code that could open a connection. Run it in
// the root of the repository:
//
//	go run ./hack/seal -o bin/reach-analyser
//
// The binary is audited (firewall/policy/symbols.txt) before it gets its name: one
// that holds more than it should is an error and is not left behind. That is
// why the analyser may say of itself that its symbols were audited. What reach is
// linked with, so that it starts this binary and no other, is printed by
//
//	go run ./hack/seal -pin bin/reach-analyser
//
// Two places keep dialers and resolvers alive in a program that never dials:
// the default HTTP client of the standard library, and the DNS resolver that
// gRPC registers for its clients. Both are edited in copies of the installed
// sources, made below build/seal at build time: nothing of them is part of
// this repository, and when a source no longer holds the text to be edited
// exactly once the build stops. The same source gives the same bytes in any
// folder.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gitops-reach/reach/firewall/digest"
	"github.com/gitops-reach/reach/firewall/imports"
	"github.com/gitops-reach/reach/firewall/symbols"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "seal:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("seal", flag.ContinueOnError)
	root := flags.String("C", ".", "`folder` that holds go.mod")
	output := flags.String("o", "bin/reach-analyser", "`file` to write, relative to -C")
	canary := flags.Bool("canary", false, "build the analyser that tries what the seal refuses, which no audit lets pass")
	version := flags.String("version", "", "`version` that the analyser says it is")
	strip := flags.Bool("s", false, "leave out the symbol table")
	pin := flags.String("pin", "", "only print what the linker of reach is told for it to start `file` and no other")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *pin != "" {
		settings, err := digest.LinkerFlags(*pin)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, settings)
		return err
	}
	b := build{root: *root, dir: "build/seal", canary: *canary}
	if err := b.derive(); err != nil {
		return err
	}
	linked := *output + ".unaudited"
	defer os.Remove(filepath.Join(*root, linked))
	if err := b.link(linked, *strip, *version); err != nil {
		return err
	}
	if err := b.audit(linked); (err == nil) == b.canary {
		return cmp.Or(err, errors.New("the audit passes the canary, which can do what it must not: the audit is broken"))
	}
	binary, err := os.ReadFile(filepath.Join(*root, linked))
	if err != nil {
		return err
	}
	// A copy, as an installer makes one: the linker writes through a mapping, page
	// by page, and what is cached like that takes longer to read and to start.
	copied := filepath.Join(*root, *output+".copy")
	defer os.Remove(copied)
	if err := os.WriteFile(copied, binary, 0o755); err != nil {
		return err
	}
	if err := os.Rename(copied, filepath.Join(*root, *output)); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%x  %s\n", sha256.Sum256(binary), *output)
	return nil
}

// build is one derivation of edited sources and what is linked from them.
type build struct {
	root string // of our module
	dir  string // below root: edited sources
	// canary links the attempts of firewall/canary.
	canary bool
}

const grpc = "google.golang.org/grpc"

// derive writes the edited sources, the overlay that puts one of them in the
// place of a file of the Go distribution, and the go.mod that puts the others
// in the place of a module.
func (b build) derive() error {
	goroot, err := b.goCommand("env", "GOROOT")
	if err != nil {
		return err
	}
	out, err := b.goCommand("list", "-m", "-json", grpc)
	if err != nil {
		return err
	}
	var module struct{ Dir, Version string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return fmt.Errorf("looking for %s: %w", grpc, err)
	}
	if module.Dir == "" {
		return fmt.Errorf("the source of %s is not installed: run `go mod download`", grpc)
	}
	if err := b.overlay(strings.TrimSpace(goroot)); err != nil {
		return err
	}
	return b.module(module.Dir, module.Version)
}

// overlay edits the Go distribution's file.
func (b build) overlay(goroot string) error {
	original := filepath.Join(goroot, "src", httpEdit.file)
	edited, err := httpEdit.apply(original)
	if err != nil {
		return err
	}
	if err := b.write("transport_default_other.go", edited); err != nil {
		return err
	}
	replacement, err := filepath.Abs(filepath.Join(b.root, b.dir, "transport_default_other.go"))
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		return err
	}
	return b.write("overlay.json", overlay)
}

// module copies gRPC's source with one file edited. The go command refuses to
// overlay files of the module cache, so that the whole module is copied.
func (b build) module(source, version string) error {
	// The version is part of the path: files of another one must not stay.
	folder := "grpc@" + version
	edited, err := grpcEdit.apply(filepath.Join(source, grpcEdit.file))
	if err != nil {
		return err
	}
	err = filepath.WalkDir(source, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if name != "." && nested == nil || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if name != "go.mod" && (!strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")) {
			return nil
		}
		content := edited
		if name != grpcEdit.file {
			if content, err = os.ReadFile(file); err != nil {
				return err
			}
		}
		return b.write(filepath.Join(folder, name), content)
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", grpc, err)
	}
	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
	if err != nil {
		return err
	}
	// Relative to the module's root, and so the same in every checkout.
	mod = fmt.Appendf(mod, "\nreplace %s => ./%s/%s\n", grpc, b.dir, folder)
	if err := b.write("go.mod", mod); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(b.root, "go.sum"))
	if err != nil {
		return err
	}
	return b.write("go.sum", sum)
}

// link builds the analyser from the edited sources.
func (b build) link(output string, strip bool, version string) error {
	// Debug information is a third of the file, and every census hashes all of it.
	flags := "-X github.com/gitops-reach/reach/analyser/internal/sandbox.symbols=audited -w"
	if strip {
		flags += " -s"
	}
	if version != "" {
		flags += " -X github.com/gitops-reach/reach/analyser/internal/serve.Version=" + version
	}
	tags := imports.Tags
	if b.canary {
		tags += ",canary"
	}
	_, err := b.goCommand("build", "-trimpath", "-buildvcs=false", "-tags="+tags, "-ldflags="+flags,
		"-overlay="+filepath.Join(b.dir, "overlay.json"), "-modfile="+filepath.Join(b.dir, "go.mod"),
		"-o", output, "./analyser")
	return err
}

// audit judges what was linked.
func (b build) audit(file string) error {
	read, err := symbols.Read(filepath.Join(b.root, file))
	if err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(b.root, symbols.PolicyFile))
	if err != nil {
		return err
	}
	defer f.Close()
	rules, err := symbols.ParseRules(symbols.PolicyFile, f)
	if err != nil {
		return err
	}
	verdict, err := rules.Audit(read)
	if err != nil {
		return err
	}
	var failed []error
	for _, v := range verdict.Violations {
		failed = append(failed, errors.New(v.String()))
	}
	return errors.Join(failed...)
}

// goCommand runs the go command in the root and returns what it prints. The
// settings that shape the binary are fixed, whatever the environment says.
func (b build) goCommand(args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = b.root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GODEBUG=")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return stdout.String(), nil
}

// write writes a file below dir, unless it holds that content already: several
// builds may run at once, and all write the same.
func (b build) write(name string, content []byte) error {
	file := filepath.Join(b.root, b.dir, name)
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".seal*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	if closing := temporary.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		os.Remove(temporary.Name())
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}
