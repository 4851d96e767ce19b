package symbols

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// amd64 decodes x86 in 64-bit mode. Registers are numbered as the processor
// numbers them: AX, CX, DX, BX, SP, BP, SI, DI, R8 to R15.
type amd64 struct{}

// Source: Go's internal ABI, cmd/compile/abi-internal.md, "amd64 architecture".
var amd64Arguments = []register{0, 3, 1, 7, 6, 8, 9, 10, 11}

func (amd64) argument(n int) (register, bool) {
	if n < 0 || n >= len(amd64Arguments) {
		return 0, false
	}
	return amd64Arguments[n], true
}

// references looks at every four bytes, whether an instruction begins there or
// not: a distance in the code is counted from its end.
func (amd64) references(text []byte, base uint64, targets map[uint64]bool, found func(at, target uint64)) {
	for i := 0; i+4 <= len(text); i++ {
		end := base + uint64(i) + 4
		if target := end + uint64(int64(int32(binary.LittleEndian.Uint32(text[i:])))); targets[target] {
			found(base+uint64(i), target)
		}
	}
}

func (amd64) decode(b []byte, address uint64) (instruction, error) {
	x, err := x86asm.Decode(b, 64)
	if err != nil {
		return instruction{}, err
	}
	i := instruction{address: address, length: x.Len, relative: x.PCRelOff, effect: func(r register) effect { return amd64Effect(x, r) }}
	switch x.Op {
	case x86asm.CALL:
		i.flow = call
	case x86asm.JMP:
		i.flow = jump
	case x86asm.RET, x86asm.UD2, x86asm.INT, x86asm.HLT, x86asm.UD1:
		i.flow = stop
	case x86asm.LJMP, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ, x86asm.LCALL:
		return instruction{}, fmt.Errorf("%v", x.Op)
	default:
		if _, ok := x.Args[0].(x86asm.Rel); ok {
			i.flow = branch
		}
	}
	if rel, ok := x.Args[0].(x86asm.Rel); ok {
		i.target = address + uint64(x.Len) + uint64(int64(rel))
	} else if i.flow == jump {
		i.flow = indirect
	}
	return i, nil
}

// amd64Read are instructions that change none of their arguments.
var amd64Read = []x86asm.Op{x86asm.CMP, x86asm.TEST, x86asm.BT, x86asm.PUSH, x86asm.NOP}

// amd64Plain are instructions that change their first argument and nothing else
// that is counted here. All others are taken to change everything, so that an
// instruction nobody thought of makes the answer unknown, never wrong.
var amd64Plain = []x86asm.Op{
	x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.NOT, x86asm.NEG,
	x86asm.INC, x86asm.DEC, x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.POP,
	x86asm.MOVUPS, x86asm.MOVAPS, x86asm.MOVDQU, x86asm.MOVDQA, x86asm.MOVQ, x86asm.MOVD, x86asm.XORPS, x86asm.PXOR,
	x86asm.SETE, x86asm.SETNE, x86asm.SETL, x86asm.SETLE, x86asm.SETG, x86asm.SETGE, x86asm.SETB, x86asm.SETBE, x86asm.SETA, x86asm.SETAE,
	x86asm.CMOVE, x86asm.CMOVNE, x86asm.CMOVL, x86asm.CMOVLE, x86asm.CMOVG, x86asm.CMOVGE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVA, x86asm.CMOVAE,
}

func amd64Effect(x x86asm.Inst, r register) effect {
	if slices.Contains(amd64Read, x.Op) || x.Op == x86asm.JMP {
		return effect{kind: kept}
	}
	if _, ok := x.Args[0].(x86asm.Rel); ok && x.Op != x86asm.CALL && x.Op != x86asm.LOOP && x.Op != x86asm.LOOPE && x.Op != x86asm.LOOPNE {
		return effect{kind: kept}
	}
	if !slices.Contains(amd64Plain, x.Op) {
		return effect{kind: computed}
	}
	first, ok := x.Args[0].(x86asm.Reg)
	if !ok || amd64Number(first) != r {
		return effect{kind: kept}
	}
	// Writing 32 bits clears the upper half; writing fewer keeps the rest.
	if first < x86asm.EAX || first > x86asm.R15 {
		return effect{kind: computed}
	}
	switch second := x.Args[1].(type) {
	case x86asm.Imm:
		if x.Op == x86asm.MOV {
			return effect{kind: constant, value: uint64(second)}
		}
	case x86asm.Reg:
		if x.Op == x86asm.XOR && second == first {
			return effect{kind: constant}
		}
		if x.Op == x86asm.MOV && amd64Number(second) >= 0 {
			return effect{kind: copied, from: amd64Number(second)}
		}
	}
	return effect{kind: computed}
}

// amd64Number is the number of the register of which r is a part, -1 for
// registers that hold no integers.
func amd64Number(r x86asm.Reg) register {
	switch {
	case r >= x86asm.AL && r <= x86asm.BL:
		return register(r - x86asm.AL)
	case r >= x86asm.AH && r <= x86asm.BH:
		return register(r - x86asm.AH)
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return register(r-x86asm.SPB) + 4
	case r >= x86asm.AX && r <= x86asm.R15W:
		return register(r - x86asm.AX)
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return register(r - x86asm.EAX)
	case r >= x86asm.RAX && r <= x86asm.R15:
		return register(r - x86asm.RAX)
	}
	return -1
}
