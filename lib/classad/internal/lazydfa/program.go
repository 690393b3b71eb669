package lazydfa

import (
	"regexp/syntax"
	"unicode"
)

// Kinds of instruction. Those of package syntax that read a character are
// one kind here, as are those that do nothing.
const (
	opFail   = iota
	opMatch  // the pattern is found
	opPass   // go on at out
	opFork   // go on at out and at arg
	opAssert // go on at out where the conditions arg hold
	opRead   // read a byte of sets[arg], go on at out
)

// inst is one instruction.
type inst struct {
	op       uint8
	out, arg uint32
}

// program is a syntax.Prog for texts of bytes.
type program struct {
	insts []inst
	sets  []byteSet // those that the opReads have, each once
	start uint32
	// asked has the conditions that occur in the program.
	asked syntax.EmptyOp
}

// boundaries are the conditions that ask whether a word begins or ends.
const boundaries = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary

// lines are the conditions that ask whether a line begins or ends.
const lines = syntax.EmptyBeginLine | syntax.EmptyEndLine

// newProgram translates p, and divides the bytes by what p can tell apart.
func newProgram(p *syntax.Prog) (*program, *classes) {
	t := &program{insts: make([]inst, len(p.Inst)), start: uint32(p.Start)}
	c := newClasses()
	known := map[byteSet]uint32{}
	for i := range p.Inst {
		from, to := &p.Inst[i], &t.insts[i]
		*to = inst{out: from.Out, arg: from.Arg}
		switch from.Op {
		case syntax.InstMatch:
			to.op = opMatch
		case syntax.InstCapture, syntax.InstNop:
			to.op = opPass
		case syntax.InstAlt, syntax.InstAltMatch:
			to.op = opFork
		case syntax.InstEmptyWidth:
			to.op = opAssert
			t.asked |= syntax.EmptyOp(from.Arg)
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			set := bytesOf(from)
			if set == (byteSet{}) {
				continue // only characters that are no bytes: opFail
			}
			n, ok := known[set]
			if !ok {
				n = uint32(len(t.sets))
				known[set] = n
				t.sets = append(t.sets, set)
				c.split(set)
			}
			to.op, to.arg = opRead, n
		}
	}
	t.divideContexts(c)
	return t, c
}

// divideContexts divides the classes by what the conditions in the program
// ask of the characters on both sides.
func (t *program) divideContexts(c *classes) {
	if t.asked&lines != 0 {
		c.split(byteSet{1 << '\n'})
	}
	if t.asked&boundaries != 0 {
		var words byteSet
		for b := range rune(256) {
			if syntax.IsWordChar(b) {
				words.addRange(b, b)
			}
		}
		c.split(words)
	}
}

// bytesOf returns the bytes that an instruction reads.
func bytesOf(i *syntax.Inst) byteSet {
	var s byteSet
	switch {
	case i.Op == syntax.InstRuneAny:
		s.addRange(0, 255)
	case i.Op == syntax.InstRuneAnyNotNL:
		s.addRange(0, '\n'-1)
		s.addRange('\n'+1, 255)
	case len(i.Rune) == 1:
		// A letter that stands for its other cases too, which may be bytes
		// where it is none: U+212A, the Kelvin sign, for k and K.
		r := i.Rune[0]
		s.addRange(r, r)
		if i.Op == syntax.InstRune && syntax.Flags(i.Arg)&syntax.FoldCase != 0 {
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				s.addRange(other, other)
			}
		}
	default: // ranges, in order and with all cases in them
		for j := 0; j+1 < len(i.Rune) && i.Rune[j] <= 255; j += 2 {
			s.addRange(i.Rune[j], i.Rune[j+1])
		}
	}
	return s
}
