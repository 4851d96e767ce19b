package symbols

import "encoding/binary"

// arm64 decodes A64, whose instructions are four bytes each and say in fixed
// places what they do. Registers are numbered 0 to 30; 31 is zero or the stack.
//
// Source: Arm Architecture Reference Manual, "A64 instruction set encoding".
type arm64 struct{}

const arm64Zero = 31

// Source: Go's internal ABI, cmd/compile/abi-internal.md, "arm64 architecture".
func (arm64) argument(n int) (register, bool) { return register(n), n >= 0 && n < 16 }

func (arm64) references(text []byte, base uint64, targets map[uint64]bool, found func(at, target uint64)) {
	pages := map[uint64]bool{}
	for t := range targets {
		pages[t>>12] = true
	}
	// How far after an ADRP the low bits of the address may be added.
	const near = 64
	for i := 0; i+4 <= len(text); i += 4 {
		w, at := binary.LittleEndian.Uint32(text[i:]), base+uint64(i)
		if target, ok := arm64Target(w, at); ok && targets[target] {
			found(at, target)
		}
		if w&0x9f000000 != 0x90000000 { // ADRP
			continue
		}
		page := at>>12 + uint64(signed(w>>5&0x7ffff<<2|w>>29&3, 21))
		if !pages[page] {
			continue
		}
		for j := i + 4; j+4 <= len(text) && j <= i+4*near; j += 4 {
			add := binary.LittleEndian.Uint32(text[j:])
			if target := page<<12 + uint64(add>>10&0xfff); add&0xffc00000 == 0x91000000 && add>>5&31 == w&31 && targets[target] {
				found(base+uint64(j), target)
			}
		}
	}
}

func signed(bits uint32, width uint) int64 {
	return int64(uint64(bits)<<(64-width)) >> (64 - width)
}

// arm64Target is where a call, jump or branch leads.
func arm64Target(w uint32, at uint64) (uint64, bool) {
	var distance int64
	switch {
	case w&0x7c000000 == 0x14000000: // B, BL
		distance = signed(w&0x3ffffff, 26)
	case w&0xff000000 == 0x54000000, w&0x7e000000 == 0x34000000: // B.cond, CBZ, CBNZ
		distance = signed(w>>5&0x7ffff, 19)
	case w&0x7e000000 == 0x36000000: // TBZ, TBNZ
		distance = signed(w>>5&0x3fff, 14)
	default:
		return 0, false
	}
	return at + uint64(4*distance), true
}

func (arm64) decode(b []byte, address uint64) (instruction, error) {
	w := binary.LittleEndian.Uint32(b)
	i := instruction{address: address, length: 4, effect: func(r register) effect { return arm64Effect(w, r) }}
	var leads bool
	i.target, leads = arm64Target(w, address)
	switch {
	case leads && w>>31 == 1 && w&0x7c000000 == 0x14000000, w&0xfffffc1f == 0xd63f0000: // BL, BLR
		i.flow = call
	case leads && w&0x7c000000 == 0x14000000:
		i.flow = jump
	case leads:
		i.flow = branch
	case w&0xfffffc1f == 0xd65f0000, w&0xffe0001f == 0xd4200000, w>>16 == 0: // RET, BRK, UDF
		i.flow = stop
	case w&0xfe000000 == 0xd6000000: // BR and its relatives
		i.flow = indirect
	}
	return i, nil
}

// arm64Effect takes an instruction that it does not know to change everything.
func arm64Effect(w uint32, r register) effect {
	writes := func(fields ...uint32) effect {
		for _, f := range fields {
			if register(f&31) == r {
				return effect{kind: computed}
			}
		}
		return effect{kind: kept}
	}
	switch w >> 25 & 15 {
	case 8, 9: // with an immediate
		if register(w&31) == r {
			switch {
			case w&0x7f800000 == 0x52800000: // MOVZ
				return effect{kind: constant, value: uint64(w>>5&0xffff) << (w >> 21 & 3 * 16)}
			case w&0x7f800000 == 0x72800000: // MOVK
				shift := w >> 21 & 3 * 16
				return effect{kind: replaced, mask: 0xffff << shift, value: uint64(w>>5&0xffff) << shift}
			case w&0x7f800000 == 0x32000000 && w>>5&31 == arm64Zero: // MOV of a bit pattern
				value := pattern(w>>22&1 == 1, w>>16&63, w>>10&63)
				if w>>31 == 0 {
					value &= 1<<32 - 1
				}
				return effect{kind: constant, value: value}
			}
		}
		return writes(w)
	case 10, 11: // branches and the system
		switch {
		case w&0xfc000000 == 0x94000000, w&0xfffffc1f == 0xd63f0000, w&0xff000000 == 0xd4000000: // BL, BLR, SVC and BRK
			return effect{kind: computed}
		case w&0xfff00000 == 0xd5300000: // MRS
			return writes(w)
		}
		return effect{kind: kept}
	case 4, 6, 12, 14: // loads and stores
		return arm64Memory(w, writes)
	case 5, 13: // with registers
		if w&0x7fe0ffe0 == 0x2a0003e0 && register(w&31) == r { // MOV
			if w>>16&31 == arm64Zero {
				return effect{kind: constant}
			}
			return effect{kind: copied, from: register(w >> 16 & 31)}
		}
		return writes(w)
	case 7, 15: // floating point, which may end in an integer
		return writes(w)
	}
	return effect{kind: computed}
}

func arm64Memory(w uint32, writes func(...uint32) effect) effect {
	simd, base := w>>26&1 == 1, w>>5
	switch {
	case w&0x3a000000 == 0x28000000: // pairs
		var changed []uint32
		if w>>22&1 == 1 && !simd {
			changed = append(changed, w, w>>10)
		}
		if w>>23&1 == 1 { // before or after, the base moves
			changed = append(changed, base)
		}
		return writes(changed...)
	case w&0x3b000000 == 0x39000000, w&0x3b200000 == 0x38000000, w&0x3b200c00 == 0x38200800: // one register
		var changed []uint32
		if w>>22&3 != 0 && !simd {
			changed = append(changed, w)
		}
		if w&0x3b200400 == 0x38000400 {
			changed = append(changed, base)
		}
		return writes(changed...)
	}
	return writes(w, base, w>>10, w>>16)
}

// pattern is the immediate of a logical instruction: a run of ones in elements
// of 2, 4, 8, 16, 32 or, when wide, 64 bits, turned to the right.
func pattern(wide bool, turn, run uint32) uint64 {
	size := uint32(64)
	if !wide {
		size = 32
		for size > 2 && run&size != 0 {
			size /= 2
		}
	}
	ones, turned := run&(size-1)+1, turn&(size-1)
	whole := ^uint64(0) >> (64 - size)
	element := ^uint64(0) >> (64 - ones)
	element = (element>>turned | element<<(size-turned)) & whole
	for ; size < 64; size *= 2 {
		element |= element << size
	}
	return element
}
