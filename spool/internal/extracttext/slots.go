package extracttext

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Slot is a slot in an extract: its lines "Name = expression".
type Slot struct {
	Name  string
	Seq   uint64
	Lines []byte
}

// slotID is an attribute that tells a machine's slots apart. They share what they have besides.
const slotID = "SlotID"

// OfSlots returns the lines of an extract of slots but for the first and the last.
func OfSlots(list []Slot) []byte {
	own := ownOf(list)
	var names, shared, kinds, rows []byte
	for _, name := range slices.Sorted(maps.Keys(own)) {
		names = append(append(names, name...), '\n')
	}
	lines, known, places := map[string]int64{}, map[string]int64{}, []int64(nil)
	for _, s := range list {
		var mine, kind []byte
		places = places[:0]
		for line := range bytes.Lines(s.Lines) {
			if own[string(AttributeOf(line))] {
				mine = append(mine, line...)
				continue
			}
			at, is := lines[string(line)]
			if !is {
				at = int64(len(lines))
				lines[string(line)], shared = at, append(shared, line...)
			}
			places = append(places, at)
		}
		kind = append(WithNumbers(append(kind, 'K'), append([]int64{int64(len(places))}, places...)...), '\n')
		of, is := known[string(kind)]
		if !is {
			of = int64(len(known))
			known[string(kind)], kinds = of, append(kinds, kind...)
		}
		rows = WithNumbers(strconv.AppendQuote(append(rows, "S "...), s.Name), of, int64(s.Seq), int64(len(mine)))
		rows = append(append(rows, '\n'), mine...)
	}
	return slices.Concat(withLength('O', names), withLength('L', shared), kinds, rows)
}

// ownOf returns which attributes slots do not share. It takes the attributes with few values first, and leaves out one
// such as LastHeardFrom that tells most slots apart which are alike in those before.
func ownOf(list []Slot) map[string]bool {
	numbers, values := map[string]int{}, map[string][]int{} // by line and by attribute: which value each slot has, from 1
	most := map[string]int{}                                // by attribute, how many values there are
	for i, s := range list {
		for line := range bytes.Lines(s.Lines) {
			name := string(AttributeOf(line))
			if values[name] == nil {
				values[name] = make([]int, len(list))
			}
			if numbers[string(line)] == 0 {
				most[name]++
				numbers[string(line)] = most[name]
			}
			values[name][i] = numbers[string(line)]
		}
	}
	order := slices.SortedFunc(maps.Keys(most), func(a, b string) int { return cmp.Or(most[a]-most[b], strings.Compare(a, b)) })
	own, kinds, next, count := map[string]bool{slotID: true}, make([]int, len(list)), make([]int, len(list)), 1
	for _, name := range order {
		if name == slotID {
			continue
		}
		apart := map[[2]int]int{}
		for i, v := range values[name] {
			k := [2]int{kinds[i], v}
			if _, is := apart[k]; !is {
				apart[k] = len(apart)
			}
			next[i] = apart[k]
		}
		if len(apart) > count && len(apart) > max(len(list)*3/4, 4) {
			own[name] = true
			continue
		}
		kinds, next, count = next, kinds, len(apart)
	}
	return own
}

// withLength returns lines behind their letter and length.
func withLength(letter byte, lines []byte) []byte {
	return append(append(WithNumbers([]byte{letter}, int64(len(lines))), '\n'), lines...)
}

// Kinds reads extracts of slots, and makes something of the lines that slots share, once for all extracts.
type Kinds[A any] struct {
	// Make makes it of the lines that slots share which have lines of their own for the names in own, a name a
	// line. It reports whether the lines are right.
	Make    func(own string, lines []byte) (A, bool)
	numbers map[string]uint64 // of lines
	made    map[string]A      // by the numbers of lines

	lines [][]byte // of the extract that is read, as the others
	known []uint64 // their numbers
	kinds []A
	key   []byte
}

// Read reads the lines of an extract, and reports whether they are right. do is told what slots are of, and their own
// lines; it reports whether these are right. The name is good until do returns.
func (k *Kinds[A]) Read(r Lines, do func(name []byte, of A, seq uint64, own []byte) bool) bool {
	k.lines, k.known, k.kinds = k.lines[:0], k.known[:0], k.kinds[:0]
	var own []byte
	for len(r.Rest) > 2 && !r.Bad {
		letter := r.Rest[0]
		r.Rest = r.Rest[2:]
		switch letter {
		case 'O':
			own = r.Ad()
		case 'L':
			for line := range bytes.Lines(r.Ad()) {
				k.lines, k.known = append(k.lines, line), append(k.known, k.number(line))
			}
		case 'K':
			a, ok := k.kind(&r, own)
			if !ok {
				return false
			}
			k.kinds = append(k.kinds, a)
		case 'S':
			name := r.Name()
			of, seq, own := r.Number(), r.Number(), r.Ad()
			if r.Bad || of < 0 || of >= len(k.kinds) || !do(name, k.kinds[of], uint64(seq), own) {
				return false
			}
		default:
			return false
		}
	}
	return !r.Bad && len(r.Rest) == 0
}

// kind reads the places of lines, and returns what is made of these.
func (k *Kinds[A]) kind(r *Lines, own []byte) (a A, ok bool) {
	from := *r
	k.key = binary.AppendUvarint(k.key[:0], k.number(own))
	for range r.Number() {
		i := r.Number()
		if r.Bad = r.Bad || i < 0 || i >= len(k.lines); r.Bad {
			return a, false
		}
		k.key = binary.AppendUvarint(k.key, k.known[i])
	}
	if a, ok = k.made[string(k.key)]; ok || r.Bad {
		return a, ok
	}
	var lines []byte
	for range from.Number() {
		lines = append(lines, k.lines[from.Number()]...)
	}
	if a, ok = k.Make(string(own), lines); ok {
		k.made[string(k.key)] = a
	}
	return a, ok
}

// number returns the number of a text among those of all extracts.
func (k *Kinds[A]) number(text []byte) uint64 {
	n, is := k.numbers[string(text)]
	if is {
		return n
	}
	if k.numbers == nil {
		k.numbers, k.made = map[string]uint64{}, map[string]A{}
	}
	n = uint64(len(k.numbers))
	k.numbers[string(text)] = n
	return n
}
