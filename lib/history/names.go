package history

import (
	"bytes"
	"hash/crc32"
	"strconv"
)

// Names gives each name a number for good, its ID in samples. It is written as
// a line for each name: the ID, the name in quotes, the ID of the Names, and the
// CRC-32C of all before.
type Names struct {
	// ID tells these names from others: samples are of no use with others.
	ID     uint32
	list   map[int]string
	ids    map[string]int
	last   int
	unsaid []byte
}

// maxID bounds the numbers, so that a table of them is no danger.
const maxID = 1<<22 - 1

// NewNames returns Names without any.
func NewNames(id uint32) *Names { return newNames(id, 0) }

// newNames returns Names with room for so many.
func newNames(id uint32, room int) *Names {
	return &Names{ID: id, list: make(map[int]string, room), ids: make(map[string]int, room)}
}

// shortestName is how many bytes the line of almost any name takes at least.
const shortestName = 40

// ParseNames reads names, and returns also how many bytes of the text count: behind
// them is a line that was never written to its end. Lines that do not read
// as they were written are damage; their numbers are not given to others. Without
// any good line the answer is nil.
func ParseNames(text []byte) (n *Names, whole int, bad []Damage) {
	line := 0
	for {
		i := bytes.IndexByte(text[whole:], '\n')
		if i < 0 {
			break
		}
		one := text[whole : whole+i]
		whole += i + 1
		line++
		id, name, of, ok := parseName(one)
		if ok && n == nil {
			n = newNames(of, len(text)/shortestName)
		}
		if !ok || of != n.ID {
			bad = append(bad, Damage{line, errAltered.Error()})
			continue
		}
		n.list[id] = name
		n.ids[name] = id
		n.last = max(n.last, id)
	}
	if rest := text[whole:]; len(rest) > 0 {
		if _, _, _, ok := parseName(rest[:len(rest)-1]); ok { // its newline was changed
			whole = len(text)
			line++
			bad = append(bad, Damage{line, errAltered.Error()})
		}
	}
	if n != nil {
		n.last = max(n.last, line)
	}
	return n, whole, bad
}

func parseName(line []byte) (id int, name string, of uint32, ok bool) {
	line, ok = checked(line)
	at := len(line) - len(" 00000000")
	if !ok || at < 0 {
		return 0, "", 0, false
	}
	end := fields{line[at:]}
	of, ok = end.hex()
	number, quoted, cut := bytes.Cut(line[:at], []byte(" "))
	id, err := strconv.Atoi(string(number))
	if err != nil || !cut || !ok || id < 1 || id > maxID {
		return 0, "", 0, false
	}
	name, err = strconv.Unquote(string(quoted))
	return id, name, of, err == nil
}

// Of returns the name of an ID.
func (n *Names) Of(id int) (string, bool) {
	name, ok := n.list[id]
	return name, ok
}

// Len returns how many numbers were given.
func (n *Names) Len() int { return n.last }

// Number returns the ID of a name, a new one if it has none yet, and 0 when
// there are no more.
func (n *Names) Number(name string) int {
	if id, ok := n.ids[name]; ok {
		return id
	}
	if n.last == maxID {
		return 0
	}
	n.last++
	n.ids[name], n.list[n.last] = n.last, name
	n.unsaid = appendName(n.unsaid, n.last, name, n.ID)
	return n.last
}

// New returns the lines of the names that were given a number since the names
// were read, nil for none. They have to be durable before any sample with these
// numbers is written: else a number might be given twice.
func (n *Names) New() []byte { return n.unsaid }

// RenameNames returns the text of names with other ones for the same numbers, and whether any
// changed. Lines that do not read as they were written stay.
func RenameNames(text []byte, rename func(name string) string) (renamed []byte, changed bool) {
	for line := range bytes.Lines(text) {
		id, name, of, ok := parseName(bytes.TrimSuffix(line, []byte("\n")))
		if to := rename(name); ok && to != name {
			renamed, changed = appendName(renamed, id, to, of), true
		} else {
			renamed = append(renamed, line...)
		}
	}
	return renamed, changed
}

// appendName appends the line of a name.
func appendName(b []byte, id int, name string, of uint32) []byte {
	start := len(b)
	b = strconv.AppendInt(b, int64(id), 10)
	b = strconv.AppendQuote(append(b, ' '), name)
	b = appendHex(append(b, ' '), of)
	sum := crc32.Checksum(b[start:], castagnoli)
	return append(appendHex(append(b, ' '), sum), '\n')
}
