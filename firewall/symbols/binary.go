// Package symbols is the second wall of the seal: what the linker left in the
// analyser's binary.
//
// The Go linker drops every function that nothing can reach. A capability
// whose functions are absent from the binary cannot be used by it, whatever
// its source imports. The audit reads the function names from the symbol table
// and from the table that the runtime itself needs for stack traces, which
// stripping does not remove. Where a function stays that opens files with
// flags, its callers are disassembled, and each must be seen to hand over
// constants that neither write nor create.
//
// What it cannot see: machine code that is written at run time (the third wall
// refuses executable memory), system calls made with a number through the
// allowed raw functions (the third wall again), and a binary that was made to
// deceive: build it from the source and compare digests.
package symbols

import (
	"debug/buildinfo"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Binary is what was read from a linked program.
type Binary struct {
	// Functions are the names of all functions, sorted.
	Functions []string
	// Stripped reports that there is no symbol table.
	Stripped bool
	// Dynamic names the libraries and the loader that the program needs;
	// a program in pure Go needs none.
	Dynamic []string
	// Build is the settings of the build, as `go version -m` prints them.
	Build map[string]string

	code *code
}

// Read reads a program for Linux. An error means that nothing can be said
// about it.
func Read(file string) (*Binary, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	defer f.Close()
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading how %s was built: %w", file, err)
	}
	b := &Binary{Build: map[string]string{}}
	for _, s := range info.Settings {
		b.Build[s.Key] = s.Value
	}
	names := map[string]bool{}
	table, err := runtimeTable(f, names)
	if err != nil {
		return nil, fmt.Errorf("reading the functions of %s: %w", file, err)
	}
	if b.code, err = readCode(f, table); err != nil {
		return nil, fmt.Errorf("reading the code of %s: %w", file, err)
	}
	if b.Stripped, err = symbolTable(f, names); err != nil {
		return nil, fmt.Errorf("reading the symbols of %s: %w", file, err)
	}
	b.Functions = slices.Sorted(maps.Keys(names))
	if b.Dynamic, err = f.ImportedLibraries(); err != nil {
		return nil, fmt.Errorf("reading the libraries of %s: %w", file, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b.Dynamic = append(b.Dynamic, "a dynamic loader")
		}
	}
	return b, nil
}

// runtimeTable adds the functions of the table by which the runtime finds
// stack frames.
func runtimeTable(f *elf.File, names map[string]bool) (*gosym.Table, error) {
	section, text := f.Section(".gopclntab"), f.Section(".text")
	if section == nil || text == nil {
		return nil, errors.New("no Go function table")
	}
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, textStart(f, text)))
	if err != nil {
		return nil, err
	}
	if len(table.Funcs) == 0 {
		return nil, errors.New("the Go function table is empty or of an unknown version")
	}
	for _, fn := range table.Funcs {
		names[fn.Name] = true
	}
	return table, nil
}

// textStart is the address from which the table counts: that of the section,
// unless a C linker put something before Go's code.
func textStart(f *elf.File, text *elf.Section) uint64 {
	symbols, err := f.Symbols()
	if err != nil {
		return text.Addr
	}
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			return s.Value
		}
	}
	return text.Addr
}

// symbolTable adds the functions of the ELF symbol table.
func symbolTable(f *elf.File, names map[string]bool) (stripped bool, err error) {
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			// The assembly side of a function that the other table
			// calls by its Go name.
			names[strings.TrimSuffix(s.Name, ".abi0")] = true
		}
	}
	return false, nil
}
