package lazydfa

import (
	"math/bits"
	"regexp/syntax"
	"unicode"
)

// Kinds of instruction. The instructions of package syntax that read a character are one
// kind here, as are those that do nothing.
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

// divideContexts divides the classes by the conditions in the program about the
// characters on both sides.
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
		// A letter also stands for its other cases. These may be bytes even if the letter
		// is not: U+212A, the Kelvin sign, for k and K.
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

// byteSet is a set of bytes, a bit each.
type byteSet [4]uint64

func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// addRange adds the characters lo to hi, as far as they are bytes.
func (s *byteSet) addRange(lo, hi rune) {
	hi = min(hi, 255)
	for lo <= hi {
		last := min(hi, lo|63) // within one word
		s[lo>>6] |= ^uint64(0) >> (63 - (last - lo)) << (lo & 63)
		lo = last + 1
	}
}

func (s *byteSet) size() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

// each calls f for every byte of the set, in order.
func (s *byteSet) each(f func(b byte)) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			f(byte(i<<6 + bits.TrailingZeros64(word)))
		}
	}
}

// classes divides the bytes into classes of those that a program cannot tell
// apart.
type classes struct {
	of    [256]uint8
	size  [256]uint16
	count int

	// For split: how many of a class are in the set, and the class to which
	// they move, which is a new one.
	inside [256]uint16
	half   [256]uint8
}

// newClasses has all bytes in one class.
func newClasses() *classes {
	c := &classes{count: 1}
	c.size[0] = 256
	return c
}

// split divides the classes that have bytes both in and outside set.
func (c *classes) split(set byteSet) {
	if set.size() > 128 { // outside is as good as inside, and shorter
		set = byteSet{^set[0], ^set[1], ^set[2], ^set[3]}
	}
	set.each(func(b byte) { c.inside[c.of[b]] = 0 })
	set.each(func(b byte) { c.inside[c.of[b]]++ })
	before := c.count
	set.each(func(b byte) {
		old := c.of[b]
		if c.inside[old] == c.size[old] {
			return // all of this class is in the set
		}
		if int(c.half[old]) < before {
			c.half[old] = uint8(c.count)
			c.count++
		}
		c.of[b] = c.half[old]
		c.size[old]--
		c.inside[old]--
		c.size[c.half[old]]++
	})
}

// samples returns one byte of each class.
func (c *classes) samples() []byte {
	out := make([]byte, c.count)
	for b := 255; b >= 0; b-- {
		out[c.of[b]] = byte(b)
	}
	return out
}
