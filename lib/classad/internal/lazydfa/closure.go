package lazydfa

import (
	"math/bits"
	"regexp/syntax"
)

// closure collects what can be reached in a program without reading a byte.
type closure struct {
	prog    *program
	seen    []uint64 // all places, a bit each
	kept    []uint64 // those to wait at: opReads, and undecided opAsserts
	todo    []uint32
	matched bool // opMatch has been reached
}

func (c *closure) init(p *program) {
	words := (len(p.insts) + 63) / 64
	c.prog, c.seen, c.kept = p, make([]uint64, words), make([]uint64, words)
}

func (c *closure) clear() {
	clear(c.seen)
	clear(c.kept)
	c.matched = false
}

// visit makes sure that the place pc is looked at, once.
func (c *closure) visit(pc uint32) {
	if bit := uint64(1) << (pc & 63); c.seen[pc>>6]&bit == 0 {
		c.seen[pc>>6] |= bit
		c.todo = append(c.todo, pc)
	}
}

// follow adds what can be reached from pc where the conditions now hold and
// the others in known do not. An opAssert that asks for more than is known is
// kept, unless what is known fails it. All calls after a clear are with the
// same now and known.
func (c *closure) follow(pc uint32, now, known syntax.EmptyOp) {
	c.visit(pc)
	for len(c.todo) > 0 {
		pc := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		switch i := &c.prog.insts[pc]; i.op {
		case opMatch:
			c.matched = true
		case opPass:
			c.visit(i.out)
		case opFork:
			c.visit(i.out)
			c.visit(i.arg)
		case opAssert:
			asked := syntax.EmptyOp(i.arg)
			switch {
			case asked&known&^now != 0:
			case asked&^known != 0:
				c.keep(pc)
			default:
				c.visit(i.out)
			}
		case opRead:
			c.keep(pc)
		}
	}
}

func (c *closure) keep(pc uint32) { c.kept[pc>>6] |= 1 << (pc & 63) }

// empty says that there is nothing to wait for and no match.
func (c *closure) empty() bool {
	for _, word := range c.kept {
		if word != 0 {
			return false
		}
	}
	return !c.matched
}

// each calls f for every kept place, in ascending order.
func (c *closure) each(f func(pc uint32)) {
	for i, word := range c.kept {
		for ; word != 0; word &= word - 1 {
			f(uint32(i<<6 + bits.TrailingZeros64(word)))
		}
	}
}
