package symbols

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// code is the machine code of a program and what surrounds it.
type code struct {
	machine machine // nil when nobody wrote a decoder for it
	arch    string
	text    []byte
	base    uint64 // address of text[0]
	funcs   []function
	// data are the sections in which the address of a function can stand.
	data []section
	// moves: the program can be loaded anywhere, and its data hold other
	// addresses than they will in memory.
	moves bool
}

// function is the code of one function, without those inlined into it, which
// are part of it.
type function struct {
	name       string
	entry, end uint64
}

type section struct {
	name string
	base uint64
	data []byte
}

// machine knows the instructions of a processor.
type machine interface {
	// argument is the register in which Go hands over the n-th word of
	// integer arguments, counted from 0, and whether there is one.
	argument(n int) (register, bool)
	// decode reads the instruction at the beginning of b.
	decode(b []byte, address uint64) (instruction, error)
	// references calls found with each place in text that may lead to one of
	// the targets: it may report too much, never too little.
	references(text []byte, base uint64, targets map[uint64]bool, found func(at, target uint64))
}

var machines = map[elf.Machine]machine{elf.EM_X86_64: amd64{}, elf.EM_AARCH64: arm64{}}

type register int

// instruction is what the search for a constant needs to know of one.
type instruction struct {
	address uint64
	length  int
	flow    flow
	target  uint64 // of call, jump and branch
	// relative is where in it a distance stands that leads somewhere.
	relative int
	// effect says what becomes of a register.
	effect func(register) effect
}

type flow int

const (
	next     flow = iota // the following one runs after it
	call                 // as next, and another function runs before
	jump                 // the target runs after it
	branch               // the target or the following one
	stop                 // nothing in this function
	indirect             // something that is computed
)

type effect struct {
	kind  effectKind
	value uint64   // of constant and replaced
	mask  uint64   // of replaced: which bits
	from  register // of copied
}

type effectKind int

const (
	kept effectKind = iota
	constant
	copied
	replaced // some bits, the others stay
	computed
)

func readCode(f *elf.File, table *gosym.Table) (*code, error) {
	c := &code{machine: machines[f.Machine], arch: f.Machine.String(), moves: f.Type != elf.ET_EXEC}
	text := f.Section(".text")
	var err error
	if c.text, err = text.Data(); err != nil {
		return nil, err
	}
	c.base = text.Addr
	for _, fn := range table.Funcs {
		c.funcs = append(c.funcs, function{fn.Name, fn.Entry, fn.End})
	}
	slices.SortFunc(c.funcs, func(a, b function) int { return cmp.Compare(a.entry, b.entry) })
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_ALLOC == 0 || s == text {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		c.data = append(c.data, section{s.Name, s.Addr, data})
	}
	return c, nil
}

// at is the function that holds an address.
func (c *code) at(address uint64) (function, bool) {
	i, found := slices.BinarySearchFunc(c.funcs, address, func(f function, a uint64) int { return cmp.Compare(f.entry, a) })
	if !found {
		i--
	}
	if i < 0 || address >= c.funcs[i].end {
		return function{}, false
	}
	return c.funcs[i], true
}

// entries are where a function begins. There may be several of one name.
func (c *code) entries(name string) []uint64 {
	var out []uint64
	for _, f := range c.funcs {
		if f.name == name {
			out = append(out, f.entry)
		}
	}
	return out
}

// pointers names a section that holds the address of a target, by which code
// that cannot be seen to call it may call it; "" when none does.
func (c *code) pointers(targets map[uint64]bool) string {
	for _, s := range c.data {
		for i := int(-s.base & 7); i+8 <= len(s.data); i += 8 {
			if targets[binary.LittleEndian.Uint64(s.data[i:])] {
				return fmt.Sprintf("%s at %#x", s.name, s.base+uint64(i))
			}
		}
	}
	return ""
}

// routine is a decoded function.
type routine struct {
	function
	instructions []instruction
	before       [][]int // the instructions that may run before each
	// opaque says that it jumps to where only it knows.
	opaque bool
}

func (c *code) decode(f function) (*routine, error) {
	if f.entry < c.base || f.end > c.base+uint64(len(c.text)) || f.end < f.entry {
		return nil, errors.New("its code lies outside of the program's")
	}
	r := &routine{function: f}
	index := map[uint64]int{}
	body := c.text[f.entry-c.base : f.end-c.base]
	for at := 0; at < len(body); {
		i, err := c.machine.decode(body[at:], f.entry+uint64(at))
		if err != nil {
			return nil, fmt.Errorf("its instruction at %#x: %w", f.entry+uint64(at), err)
		}
		index[i.address] = len(r.instructions)
		r.instructions = append(r.instructions, i)
		at += i.length
	}
	r.before = make([][]int, len(r.instructions))
	for n, i := range r.instructions {
		if n+1 < len(r.instructions) && (i.flow == next || i.flow == call || i.flow == branch) {
			r.before[n+1] = append(r.before[n+1], n)
		}
		if i.flow == jump || i.flow == branch {
			if target, ok := index[i.target]; ok {
				r.before[target] = append(r.before[target], n)
			} else if i.target > f.entry && i.target < f.end {
				return nil, fmt.Errorf("it jumps into the middle of an instruction at %#x", i.target)
			}
		}
		r.opaque = r.opaque || i.flow == indirect
	}
	return r, nil
}

// find is the number of the instruction that covers an address.
func (r *routine) find(address uint64) int {
	i, found := slices.BinarySearchFunc(r.instructions, address, func(i instruction, a uint64) int { return cmp.Compare(i.address, a) })
	if !found {
		i--
	}
	return i
}

// constants are the values that a register may hold before an instruction. An
// error says why that cannot be told.
func (r *routine) constants(n int, reg register) ([]uint64, error) {
	if r.opaque {
		return nil, errors.New("it jumps to computed addresses")
	}
	// A place is before an instruction; bits of mask are replaced on the
	// way from there.
	type place struct {
		n           int
		reg         register
		mask, value uint64
	}
	seen := map[place]bool{}
	todo := []place{{n: n, reg: reg}}
	var values []uint64
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[p] {
			continue
		}
		seen[p] = true
		if p.n == 0 {
			return nil, errors.New("the value comes from its own caller")
		}
		if len(r.before[p.n]) == 0 {
			return nil, fmt.Errorf("nothing is seen to lead to %#x", r.instructions[p.n].address)
		}
		for _, b := range r.before[p.n] {
			i := r.instructions[b]
			switch e := i.effect(p.reg); e.kind {
			case kept:
				todo = append(todo, place{b, p.reg, p.mask, p.value})
			case copied:
				todo = append(todo, place{b, e.from, p.mask, p.value})
			case replaced:
				todo = append(todo, place{b, p.reg, p.mask | e.mask, e.value&^p.mask | p.value})
			case constant:
				values = append(values, e.value&^p.mask|p.value)
			case computed:
				return nil, fmt.Errorf("the value is computed at %#x", i.address)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}
