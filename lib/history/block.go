// Package history explains the past of all priorities and usage. It is pure: it knows
// samples and how they are written, thinned and read, and no files.
//
// At the end of a cycle negotiate takes a sample of every submitter and accounting group
// with a change. The samples of one moment are a Block. Blocks go to files of several
// tiers: one has a block a minute and is kept for a day, one has a block a day and is
// kept forever, and some lie between (see Tiers). No file is ever rewritten: samples are
// thinned with age because the files of the finer tiers are removed.
//
// A block need not mention all submitters. For one that it omits nothing has happened
// since the tier's last block that mentions it: it has no demand, and RUP and usage
// follow accountant.Record's formula from that sample on. So a pool of ten thousand
// submitters, fifty of them at work, writes fifty lines. The first block of a file
// mentions all, so that each file can be read by itself.
//
// Samples have the accumulated usage, so the mean of the weight in use between any two of
// them is exact, however many between them are gone.
//
// A Reader makes Series of the blocks, to be tabled and drawn.
package history

import (
	"bytes"
	"errors"
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"fairspool/lib/accountant"
)

// Sample is the state of one submitter or group at its block's time.
type Sample struct {
	// ID stands for the name, see Names.
	ID int
	// Priority is the RUP.
	Priority float64
	// InUse is the weight in use, which the RUP follows; a group's with that of
	// all groups below.
	InUse accountant.Weight
	// Usage is the accumulated usage in weight time, a group's with that of all
	// groups below.
	Usage accountant.Usage
	// Demand is the weight that idle jobs asked for.
	Demand float64
	// Factor is the priority factor.
	Factor float64
}

// Block is the samples of one moment.
type Block struct {
	// Time is the policy time, in milliseconds.
	Time time.Time
	// HalfLife is PRIORITY_HALFLIFE, Factor the factor that most have.
	HalfLife time.Duration
	Factor   float64
	// Settings is a checksum of all that factors are computed from, and of Moment's Past:
	// if it differs from the last block's, any figure may have changed.
	Settings uint32
	// Names is the ID of the Names that its samples' IDs are of.
	Names uint32
	// All: a name that is not in the block exists no more.
	All     bool
	Samples []Sample
}

// Format of a block:
//
//	@ 2026-11-21T08:00:00.012Z 86400 1000 5407c828 77c9e3f0 all 43 6f20c1d5
//	12 3.25 4 123456.789 10 2000
//	13 0.5 0 99.5
//	= 2026-11-21T08:00:00.012Z 115 1a2b3c4d
//
// The @ line has time, half-life in seconds, the usual factor, the settings, the
// names, the length in bytes of the samples' lines, and the CRC-32C of all before it:
// so a block that was never written to its end differs from one that was changed.
// Each line of a sample has id, RUP, weight in use, usage in weight seconds,
// demand and factor: without the factor if it is the usual one, and without the
// demand if that is 0 too. The = line has the time again, the length in bytes of
// all before it and the CRC-32C of that.

// timeLayout is fixed in length, so that times sort as texts.
const timeLayout = "2006-01-02T15:04:05.000Z"

// digits is how many of a RUP count.
const digits = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the block as it is written.
func (b *Block) Append(to []byte) []byte {
	start := len(to)
	to = append(to, "@ "...)
	to = b.Time.UTC().AppendFormat(to, timeLayout)
	to = append(to, ' ')
	to = appendSeconds(to, accountant.Usage{Millis: b.HalfLife.Milliseconds()})
	to = append(to, ' ')
	to = strconv.AppendFloat(to, b.Factor, 'g', -1, 64)
	to = append(to, ' ')
	to = appendHex(to, b.Settings)
	to = append(to, ' ')
	to = appendHex(to, b.Names)
	if b.All {
		to = append(to, " all"...)
	}
	var samples []byte
	for i := range b.Samples {
		samples = b.Samples[i].append(samples, b.Factor)
	}
	to = append(to, ' ')
	to = strconv.AppendInt(to, int64(len(samples)), 10)
	to = append(appendHex(append(to, ' '), crc32.Checksum(to[start:], castagnoli)), '\n')
	to = append(to, samples...)
	length, sum := len(to)-start, crc32.Checksum(to[start:], castagnoli)
	to = append(to, "= "...)
	to = b.Time.UTC().AppendFormat(to, timeLayout)
	to = append(to, ' ')
	to = strconv.AppendInt(to, int64(length), 10)
	to = append(to, ' ')
	return append(appendHex(to, sum), '\n')
}

func (s *Sample) append(to []byte, usual float64) []byte {
	to = strconv.AppendInt(to, int64(s.ID), 10)
	to = append(to, ' ')
	to = strconv.AppendFloat(to, s.Priority, 'g', digits, 64)
	to = append(to, ' ')
	to = appendThousandths(to, int64(s.InUse))
	to = append(to, ' ')
	to = appendSeconds(to, s.Usage)
	if s.Demand != 0 || s.Factor != usual {
		to = append(to, ' ')
		to = strconv.AppendFloat(to, s.Demand, 'g', digits, 64)
	}
	if s.Factor != usual {
		to = append(to, ' ')
		to = strconv.AppendFloat(to, s.Factor, 'g', -1, 64)
	}
	return append(to, '\n')
}

// appendSeconds writes usage in weight seconds, exactly, without needless
// digits.
func appendSeconds(to []byte, u accountant.Usage) []byte {
	if u.Rest == 0 {
		return appendThousandths(to, u.Millis)
	}
	to = strconv.AppendInt(to, u.Millis/1000, 10)
	to = append(to, '.')
	return trimZeros(appendPadded(appendPadded(to, u.Millis%1000), u.Rest))
}

func appendThousandths(to []byte, n int64) []byte {
	to = strconv.AppendInt(to, n/1000, 10)
	if n%1000 == 0 {
		return to
	}
	return trimZeros(appendPadded(append(to, '.'), n%1000))
}

func appendPadded(to []byte, n int64) []byte {
	return append(to, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

func trimZeros(b []byte) []byte {
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

func appendHex(to []byte, n uint32) []byte {
	for shift := 28; shift >= 0; shift -= 4 {
		to = append(to, "0123456789abcdef"[n>>shift&15])
	}
	return to
}

var (
	errAltered = errors.New("it does not read as it was written")
	errEnd     = errors.New("its last line does not read as it was written")
)

// end is the content of the last line of a block.
type end struct {
	time   []byte
	length int
	sum    uint32
}

// parseEnd reads a block's last line, without its line break.
func parseEnd(line []byte) (e end, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("= "))
	if !ok || len(rest) < len(timeLayout) {
		return e, false
	}
	e.time = rest[:len(timeLayout)]
	f := fields{rest[len(timeLayout):]}
	n, ok := f.whole()
	if !ok || n > math.MaxInt32 {
		return e, false
	}
	e.length = int(n)
	e.sum, ok = f.hex()
	return e, ok && len(f.rest) == 0
}

// parse reads a block except its last line, and keeps the room for its samples.
func (b *Block) parse(text []byte) error {
	head, text, _ := bytes.Cut(text, newline)
	if length, ok := b.parseHead(head); !ok || len(text) != length {
		return errAltered
	}
	b.Samples = b.Samples[:0]
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			return errAltered
		}
		s, ok := parseSample(text[:i], b.Factor)
		if !ok {
			return errAltered
		}
		b.Samples = append(b.Samples, s)
		text = text[i+1:]
	}
	return nil
}

var newline = []byte("\n")

// parseHead reads the first line of a block. length is the length of the lines of
// samples, in bytes.
func (b *Block) parseHead(line []byte) (length int, ok bool) {
	line, ok = checked(line)
	if !ok {
		return 0, false
	}
	rest, ok := bytes.CutPrefix(line, headLine)
	if !ok || len(rest) < len(timeLayout) {
		return 0, false
	}
	var err error
	if b.Time, err = time.Parse(timeLayout, string(rest[:len(timeLayout)])); err != nil {
		return 0, false
	}
	f := fields{rest[len(timeLayout):]}
	h, ok1 := f.usage()
	factor, ok2 := f.decimal()
	settings, ok3 := f.hex()
	names, ok4 := f.hex()
	if !ok1 || !ok2 || !ok3 || !ok4 || h.Rest != 0 || h.Millis <= 0 || h.Millis > math.MaxInt64/int64(time.Millisecond) {
		return 0, false
	}
	b.HalfLife, b.Factor, b.Settings, b.Names = time.Duration(h.Millis)*time.Millisecond, factor, settings, names
	f.rest, b.All = bytes.CutPrefix(f.rest, []byte(" all"))
	n, ok := f.whole()
	return int(n), ok && n <= maxBlock && len(f.rest) == 0
}

// checked cuts off the CRC-32C, and the blank before it, that a line ends with. ok
// reports whether it is right.
func checked(line []byte) (text []byte, ok bool) {
	at := len(line) - len(" 00000000")
	if at < 0 {
		return nil, false
	}
	end := fields{line[at:]}
	sum, ok := end.hex()
	return line[:at], ok && sum == crc32.Checksum(line[:at], castagnoli)
}

func parseSample(line []byte, usual float64) (s Sample, ok bool) {
	id := 0
	for len(line) > 0 && line[0] != ' ' {
		d := line[0] - '0'
		if d > 9 || id > maxID {
			return s, false
		}
		id = id*10 + int(d)
		line = line[1:]
	}
	f := fields{line}
	s.ID, s.Factor = id, usual
	s.Priority, ok = f.decimal()
	if !ok {
		return s, false
	}
	w, ok1 := f.usage()
	s.Usage, ok = f.usage()
	if !ok || !ok1 || w.Rest != 0 || id == 0 || id > maxID {
		return s, false
	}
	s.InUse = accountant.Weight(w.Millis)
	if len(f.rest) > 0 {
		if s.Demand, ok = f.decimal(); !ok {
			return s, false
		}
	}
	if len(f.rest) > 0 {
		if s.Factor, ok = f.decimal(); !ok {
			return s, false
		}
	}
	return s, len(f.rest) == 0
}

// fields are the rest of a line: blanks, each with a field behind it.
type fields struct{ rest []byte }

// next takes one field.
func (f *fields) next() (text []byte, ok bool) {
	if len(f.rest) < 2 || f.rest[0] != ' ' {
		return nil, false
	}
	n := 1
	for n < len(f.rest) && f.rest[n] != ' ' {
		n++
	}
	text, f.rest = f.rest[1:n], f.rest[n:]
	return text, len(text) > 0
}

func (f *fields) hex() (n uint32, ok bool) {
	text, ok := f.next()
	if !ok || len(text) != 8 {
		return 0, false
	}
	for _, c := range text {
		switch {
		case c-'0' <= 9:
			n = n<<4 | uint32(c-'0')
		case c-'a' <= 5:
			n = n<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func (f *fields) whole() (n int64, ok bool) {
	u, ok := f.usage()
	return u.Millis / 1000, ok && u.Millis%1000 == 0 && u.Rest == 0
}

// decimal takes a finite number from 0 up. Numbers of up to 15 digits without exponent,
// which are nearly all, are exact as a mantissa and a power of ten, so that one division
// rounds them correctly.
func (f *fields) decimal() (x float64, ok bool) {
	text, ok := f.next()
	if !ok {
		return 0, false
	}
	mantissa, point := uint64(0), -1
	for i, c := range text {
		switch {
		case c-'0' <= 9:
			mantissa = mantissa*10 + uint64(c-'0')
		case c == '.' && point < 0 && i > 0:
			point = i
		case c == '.':
			return 0, false
		default:
			return slowly(text)
		}
	}
	switch {
	case len(text) > 15:
		return slowly(text)
	case point < 0:
		return float64(mantissa), true
	}
	return float64(mantissa) / tens[len(text)-1-point], true
}

var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

func slowly(text []byte) (x float64, ok bool) {
	if text[0]-'0' > 9 || len(bytes.Trim(text, "0123456789.e+-")) > 0 {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(text), 64)
	return x, err == nil && x >= 0
}

// usage takes weight seconds with up to six decimals, or anything else in
// thousandths.
func (f *fields) usage() (u accountant.Usage, ok bool) {
	text, ok := f.next()
	if !ok {
		return u, false
	}
	whole, decimals := int64(0), -1
	var part int64
	for i, c := range text {
		switch {
		case c-'0' <= 9 && decimals < 0:
			if whole > (math.MaxInt64/1000-9)/10 {
				return u, false
			}
			whole = whole*10 + int64(c-'0')
		case c-'0' <= 9 && decimals < 6:
			part = part*10 + int64(c-'0')
			decimals++
		case c == '.' && decimals < 0 && i > 0:
			decimals = 0
		default:
			return u, false
		}
	}
	if decimals == 0 {
		return u, false
	}
	for n := max(decimals, 0); n < 6; n++ {
		part *= 10
	}
	return accountant.Usage{Millis: whole*1000 + part/1000, Rest: part % 1000}, true
}

// Names gives each name a permanent number, its ID in samples. It is written as a line
// for each name: the ID, the name in quotes, the ID of the Names, and the CRC-32C of all
// before.
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
