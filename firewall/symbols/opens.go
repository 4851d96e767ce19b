package symbols

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gitops-reach/reach/firewall/policy"
)

// Readonly is a function that opens files with flags, of which every caller
// must be seen to hand over constants that neither write nor create.
type Readonly struct {
	policy.Line
	Function string
	// Word is the place of the flags among the words of the arguments,
	// counted from 0; a string is two words.
	Word int
	// Except are callers that hand over what they were given; each has rules
	// of its own.
	Except []string
}

// Open is a call of such a function, as the machine code has it.
type Open struct {
	Function, Caller string
	// Flags are the values that the caller hands over. Nil: those it was
	// given itself.
	Flags []uint64
}

// Describe says what is handed over, for people.
func (o Open) Describe() string {
	if o.Flags == nil {
		return "the flags that it was given itself"
	}
	var names []string
	for _, f := range o.Flags {
		names = append(names, FlagNames(f))
	}
	return strings.Join(names, " or ")
}

// writing are the flags of Linux, the same on amd64 and arm64, that open for
// writing or change what is there.
var writing = []struct {
	bit  uint64
	name string
}{
	{0x1, "O_WRONLY"}, {0x2, "O_RDWR"}, {0x40, "O_CREAT"}, {0x200, "O_TRUNC"}, {0x400, "O_APPEND"}, {0x400000, "O_TMPFILE"},
}

const writes = 0x1 | 0x2 | 0x40 | 0x200 | 0x400 | 0x400000

// FlagNames names flags of open, as much as this audit cares for.
func FlagNames(flags uint64) string {
	names := []string{}
	if flags&3 == 0 {
		names = append(names, "O_RDONLY")
	}
	for _, w := range writing {
		if flags&w.bit != 0 {
			names = append(names, w.name)
			flags &^= w.bit
		}
	}
	for _, other := range []struct {
		bit  uint64
		name string
	}{{0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"}} {
		if flags&other.bit != 0 {
			names = append(names, other.name)
			flags &^= other.bit
		}
	}
	if flags &^= 3; flags != 0 {
		names = append(names, fmt.Sprintf("%#x", flags))
	}
	return strings.Join(names, "|")
}

func (r *Rules) addReadonly(l policy.Line) error {
	word, err := strconv.Atoi(l.Options["word"])
	if err != nil {
		return l.Errorf("word=N says which word of the arguments holds the flags: %v", err)
	}
	r.Readonlys = append(r.Readonlys, Readonly{Line: l, Function: l.Fields[0], Word: word, Except: l.List("except")})
	return nil
}

// checkReadonlys: whoever is excepted must be judged itself.
func (r *Rules) checkReadonlys() error {
	for _, o := range r.Readonlys {
		for _, e := range o.Except {
			if !slices.ContainsFunc(r.Readonlys, func(r Readonly) bool { return r.Function == e }) {
				return o.Errorf("%s is excepted, and no readonly line judges its own callers", e)
			}
		}
	}
	return nil
}

// opens judges the callers of one function. An error means that it could not
// tell.
func (b *Binary) opens(rule Readonly) ([]Open, []Violation, error) {
	c := b.code
	targets := map[uint64]bool{}
	for _, e := range c.entries(rule.Function) {
		targets[e] = true
	}
	if len(targets) == 0 {
		return nil, []Violation{{DeadRule, rule.Function, rule.Errorf("it is not in the binary any more; remove the line").Error()}}, nil
	}
	if c.machine == nil {
		return nil, nil, rule.Errorf("who calls %s cannot be read: no decoder for %s", rule.Function, c.arch)
	}
	if c.moves {
		return nil, nil, rule.Errorf("who calls %s cannot be read: the program can be loaded anywhere", rule.Function)
	}
	reg, ok := c.machine.argument(rule.Word)
	if !ok {
		return nil, nil, rule.Errorf("word %d is not handed over in a register", rule.Word)
	}
	if where := c.pointers(targets); where != "" {
		return nil, nil, rule.Errorf("its address stands in %s: it may be called as a value, with any flags", where)
	}
	var out []Open
	var vs []Violation
	var failed error
	c.machine.references(c.text, c.base, targets, func(at, target uint64) {
		if failed != nil {
			return
		}
		open, err := c.open(rule, reg, at, target)
		switch {
		case err != nil:
			failed = rule.Errorf("%v", err)
		case open != nil:
			out = append(out, *open)
			for _, flags := range open.Flags {
				if flags&writes != 0 {
					vs = append(vs, Violation{"write", open.Caller, fmt.Sprintf("it calls %s with %s", rule.Function, FlagNames(flags))})
				}
			}
		}
	})
	if failed == nil && len(out) == 0 {
		// The linker keeps what something calls: this reading is blind.
		failed = rule.Errorf("%s is in the binary, and nothing is seen to call it", rule.Function)
	}
	return out, vs, failed
}

// open reads a place in the code that may be a call of target. Nil: it is
// none.
func (c *code) open(rule Readonly, reg register, at, target uint64) (*Open, error) {
	f, ok := c.at(at)
	if !ok {
		return nil, nil // padding between functions
	}
	r, err := c.decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s may call %s, and is not understood: %w", f.name, rule.Function, err)
	}
	n := r.find(at)
	i := r.instructions[n]
	calls := (i.flow == call || i.flow == jump || i.flow == branch) && i.target == target
	switch {
	case !calls && i.address+uint64(i.relative) != at:
		return nil, nil // bytes that look like a distance
	case !calls:
		return nil, fmt.Errorf("%s takes the address of %s and may call it with any flags", f.name, rule.Function)
	case i.flow != call && target == f.entry:
		return nil, nil // once more, with a larger stack
	case slices.Contains(rule.Except, f.name):
		return &Open{Function: rule.Function, Caller: f.name}, nil
	}
	values, err := r.constants(n, reg)
	if err != nil {
		return nil, fmt.Errorf("the flags with which %s calls %s at %#x: %w", f.name, rule.Function, i.address, err)
	}
	// The flags are an int, of which the kernel reads 32 bits.
	return &Open{Function: rule.Function, Caller: f.name, Flags: values}, nil
}
