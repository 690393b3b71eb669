package lazydfa

import "math/bits"

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
