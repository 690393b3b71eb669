package history

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
)

// Series is the history of one submitter or accounting group, ascending in
// time.
type Series struct {
	Name   string
	Points []Point
}

// Used sums the weight in use between the points, in weight seconds. Accumulated usage does not give this: it falls
// when it is reset.
func Used(points []Point) float64 {
	sum := 0.0
	for i := 1; i < len(points); i++ {
		sum += points[i].InUse * points[i].Time.Sub(points[i-1].Time).Seconds()
	}
	return sum
}

// Point is the state at a Time.
type Point struct {
	Time time.Time
	// Priority is the RUP, Effective the EUP; lower is better for both.
	Priority, Effective float64
	// InUse is the slot weight in use: the mean since the point before, at the first
	// point the present weight.
	InUse float64
	// Usage is the accumulated usage until then, in weight seconds.
	Usage float64
	// Demand is the weight that idle jobs asked for.
	Demand float64
}

// Reader makes series of blocks, which are to be given to it in ascending
// order.
type Reader struct {
	since  int64 // milliseconds; earlier blocks only give the state then
	until  int64 // later ones count for nothing
	points int   // wanted of each series; 0: all
	wanted func(name string) bool

	names  *Names
	byID   []*track
	byName map[string]*track
	times  []int64 // of the blocks since since
	blocks int     // all of them
	skip   *track  // stands for all submitters that are not wanted
}

// NewReader returns a reader of the series from since to until, of those that wanted
// selects, nil for all. With points above zero the series are thinned to at most so many
// points, which should be more than a few.
func NewReader(since, until time.Time, points int, wanted func(name string) bool) *Reader {
	return &Reader{
		since: since.UnixMilli(), until: until.UnixMilli(), points: points, wanted: wanted,
		byName: map[string]*track{}, skip: &track{},
	}
}

// SetNames says which names the samples of later blocks speak of.
func (r *Reader) SetNames(n *Names) { r.names, r.byID = n, make([]*track, n.Len()+1) }

// Add takes the next block. One that is older than the last, or not in the time asked
// for, changes nothing. It returns the number of samples without a known name; samples of
// a name that is newer than the names are skipped.
func (r *Reader) Add(b *Block) (nameless int) {
	t := b.Time.UnixMilli()
	if r.names == nil || b.Names != r.names.ID {
		return len(b.Samples)
	}
	if !r.enter(t) {
		return 0
	}
	for i := range b.Samples {
		s := &b.Samples[i]
		if s.ID >= len(r.byID) {
			continue
		}
		k := r.byID[s.ID]
		if k == nil {
			name, ok := r.names.Of(s.ID)
			if !ok {
				nameless++
				continue
			}
			k = r.track(name)
			r.byID[s.ID] = k
		}
		if k != r.skip {
			r.sample(k, s, t, b.HalfLife)
		}
	}
	if b.All {
		r.leave()
	}
	return nameless
}

// Empty reports whether there was no block that counts.
func (r *Reader) Empty() bool { return r.blocks == 0 }

// enter notes the time of a block and reports whether it counts.
func (r *Reader) enter(t int64) bool {
	if t > r.until || len(r.times) > 0 && t <= r.times[len(r.times)-1] {
		return false
	}
	r.blocks++
	if t >= r.since {
		r.times = append(r.times, t)
	}
	return true
}

// Present adds the state at the end: Add, with the whole state. Demand is only known from
// the last block.
func (r *Reader) Present(m Moment) {
	head := m.head()
	t, before := head.Time.UnixMilli(), r.blocks
	if !r.enter(t) {
		return
	}
	for _, s := range m.samples(time.Time{}) {
		if k := r.track(s.name); k != r.skip {
			if k.known && k.block == before {
				s.Demand = k.last.Demand
			}
			r.sample(k, &s.Sample, t, head.HalfLife)
		}
	}
	r.leave()
}

// leave ends the series of names that a block of all does not mention.
func (r *Reader) leave() {
	for _, k := range r.byName {
		if k.block != r.blocks {
			k.known = false
		}
	}
}

// track returns the track of a name.
func (r *Reader) track(name string) *track {
	if r.wanted != nil && !r.wanted(name) {
		return r.skip
	}
	k := r.byName[name]
	if k == nil {
		k = &track{}
		r.byName[name] = k
	}
	return k
}

// Series returns the series read, by name.
func (r *Reader) Series() []Series {
	list := make([]Series, 0, len(r.byName))
	for name, k := range r.byName {
		if k.known {
			r.fill(k, len(r.times))
		}
		if r.points > 0 {
			k.points = Thin(k.points, r.points)
		}
		if len(k.points) > 0 {
			list = append(list, Series{name, k.points})
		}
	}
	slices.SortFunc(list, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Usage returns the accumulated usage of each name at the end of the requested time, in weight
// seconds: its last sample's usage plus its use since.
func (r *Reader) Usage() map[string]float64 {
	used := make(map[string]float64, len(r.byName))
	for name, k := range r.byName {
		if k.known {
			k.advance(r.until)
			used[name] = k.last.Usage.Seconds()
		}
	}
	return used
}

// track is one name's series in the making.
type track struct {
	points   []Point
	known    bool   // last and what follows is
	last     Sample // the last one
	at       int64  // its time
	halfLife time.Duration
	next     int // the place in times of the first block behind it
	block    int // the number of its block
	drawn    int64
}

// sample takes the next sample of a name.
func (r *Reader) sample(k *track, s *Sample, t int64, halfLife time.Duration) {
	if t >= r.since {
		if k.known {
			r.fill(k, len(r.times)-1)
		}
		k.add(*s, t)
		if r.points > 0 && len(k.points) > 8*r.points {
			k.points = Thin(k.points, 4*r.points)
		}
	}
	k.known, k.last, k.at, k.halfLife, k.next, k.block = true, *s, t, halfLife, len(r.times), r.blocks
}

// add adds a point.
func (k *track) add(s Sample, t int64) {
	p := Point{
		Time: time.UnixMilli(t).UTC(), Priority: s.Priority, Effective: s.Priority * s.Factor,
		InUse: s.InUse.Float(), Usage: s.Usage.Seconds(), Demand: s.Demand,
	}
	if n := len(k.points); n > 0 {
		seconds := float64(t-k.drawn) / 1000
		used := p.Usage - k.points[n-1].Usage
		usual := used >= 0 && used <= 2*seconds*(k.last.InUse.Float()+p.InUse) // nearly always
		if usual || k.plausible(used, seconds, k.points[n-1].Priority, p.Priority) {
			p.InUse = used / seconds
		}
	}
	k.drawn = t
	if n := len(k.points); n == cap(k.points) {
		k.points = slices.Grow(k.points, n+16) // append alone would copy twice as much
	}
	k.points = append(k.points, p)
}

// plausible reports whether so many weight seconds may have been used while the RUP went
// from before to after, or whether an edit set the accumulated usage: it did not fall,
// and the RUP has risen by what that use adds to it at least.
func (k *track) plausible(used, seconds, before, after float64) bool {
	halfLife := k.halfLife.Seconds()
	beta := math.Exp2(-seconds / halfLife)
	adds := used * beta * math.Ln2 / halfLife
	// Twice that, as the half-life may have changed meanwhile.
	return used >= 0 && !(adds > 2*(after-before*beta)+1e-6*(before+after))
}

// visible is how far a RUP has to move to be worth a point of its own.
const visible = 0.02

// fill adds points at blocks that said nothing of a name, up to the one before
// the place to in times: as many as it takes to show how the RUP moved.
func (r *Reader) fill(k *track, to int) {
	i := k.next
	if i >= to {
		return
	}
	if k.last.Demand > 0 || len(k.points) == 0 {
		k.advance(r.times[i]) // from there on it asked for nothing
		k.add(k.last, k.at)
		i++
	}
	for i < to-1 {
		until := k.at + k.steady()
		n, _ := slices.BinarySearch(r.times[i:to-1], until)
		if i += n; i < to-1 {
			k.advance(r.times[i])
			k.add(k.last, k.at)
			i++
		}
	}
	if i < to {
		k.advance(r.times[to-1])
		k.add(k.last, k.at)
	}
	k.next = to
}

// steady returns for how many milliseconds the RUP is practically constant.
func (k *track) steady() int64 {
	held := k.last.InUse.Float()
	part := visible * k.last.Priority / math.Abs(k.last.Priority-held)
	lowest := k.last.Priority <= accountant.MinPriority && held <= accountant.MinPriority
	if lowest || !(part < 1) {
		return math.MaxInt64 - k.at
	}
	return min(int64(-math.Log2(1-part)*float64(k.halfLife.Milliseconds())), math.MaxInt64-k.at)
}

// advance moves the last sample to t, when nothing was asked for, by the
// accountant's own formula.
func (k *track) advance(t int64) {
	a := accountant.Record{
		Priority: k.last.Priority, InUse: k.last.InUse, Weighted: k.last.Usage, HalfLife: k.halfLife, At: time.UnixMilli(k.at),
	}.AsOf(time.UnixMilli(t), accountant.Params{})
	k.last.Priority, k.last.Usage, k.last.Demand, k.at = a.Priority, a.Weighted, 0, t
}

// Damage is a place in a file that does not read as it was written.
type Damage struct {
	Line int // where it begins
	Why  string
}

// maxBlock bounds the memory that a block takes, in bytes: it is one of more
// submitters than there are numbers for.
const maxBlock = 1 << 28

// ErrStop ends a Scan early, without an error.
var ErrStop = errors.New("stop")

// Scanned is the result of a Scan.
type Scanned struct {
	// End is the offset behind which a block was never written to its end.
	End int64
	// Lines is the number of lines before End.
	Lines   int
	Damaged []Damage
}

// Scan reads the blocks of a file and calls each with the whole ones, in order. The block
// is valid until each returns. Other text is skipped, and counts as damage unless it is
// the beginning of a block at the end of the file. It fails when reading or each fails.
func Scan(from io.Reader, each func(*Block) error) (Scanned, error) {
	s := scanner{from: from, buffer: make([]byte, 0, 1<<18)}
	for {
		text, err := s.piece()
		if err == nil {
			err = s.take(text, each)
		}
		if err == io.EOF {
			s.ending()
			return s.Scanned, nil
		}
		if err == ErrStop {
			return s.Scanned, nil
		}
		if err != nil {
			return s.Scanned, err
		}
	}
}

type scanner struct {
	Scanned
	from   io.Reader
	buffer []byte // read and not used yet
	used   int    // of it
	ended  bool

	block  Block
	offset int64 // of the next piece
	lines  int   // before it
	bad    []Damage
}

var headLine, endLine = []byte("@ "), []byte("\n= ")

// piece returns the text up to and including the next line that ends a block. At the end
// of the file the rest belongs to no submitter.
func (s *scanner) piece() ([]byte, error) {
	looked := 0
	for {
		text := s.buffer[s.used:]
		if i := bytes.Index(text[looked:], endLine); i >= 0 {
			i += looked + len(endLine)
			if j := bytes.IndexByte(text[i:], '\n'); j >= 0 {
				s.used += i + j + 1
				return text[:i+j+1], nil
			}
			looked = i - len(endLine)
		} else {
			looked = max(len(text)-len(endLine), 0)
		}
		if s.ended {
			return nil, io.EOF
		}
		if len(text) > maxBlock {
			s.bad = append(s.bad, Damage{s.lines + 1, "no block is so long"})
			s.used += len(text)
			s.pass(text)
			looked = 0
		}
		if err := s.more(); err != nil {
			return nil, err
		}
	}
}

// more reads on, at least one byte unless the file has ended.
func (s *scanner) more() error {
	s.buffer = append(s.buffer[:0], s.buffer[s.used:]...)
	s.used = 0
	if len(s.buffer) > cap(s.buffer)/2 {
		s.buffer = append(make([]byte, 0, 2*cap(s.buffer)), s.buffer...)
	}
	n, err := io.ReadFull(s.from, s.buffer[len(s.buffer):cap(s.buffer)])
	s.buffer = s.buffer[:len(s.buffer)+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		s.ended = true
		return nil
	}
	return err
}

// pass counts text that was done with.
func (s *scanner) pass(text []byte) {
	s.offset += int64(len(text))
	s.lines += bytes.Count(text, newline)
}

// take looks for a block at the end of a piece.
func (s *scanner) take(text []byte, each func(*Block) error) error {
	defer s.pass(text)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	start, err := 0, errEnd
	if e, ok := parseEnd(text[last : len(text)-1]); ok {
		start, err = e.begin(text, last)
	}
	if err == nil {
		err = s.block.parse(text[start:last])
	}
	if err != nil {
		s.bad = append(s.bad, Damage{s.lines + 1, err.Error()})
		return nil
	}
	if start > 0 {
		s.bad = append(s.bad, Damage{s.lines + 1, "something stands before a block"})
	}
	s.Damaged = append(s.Damaged, s.bad...)
	s.bad = s.bad[:0]
	s.End, s.Lines = s.offset+int64(len(text)), s.lines+bytes.Count(text, newline)
	return each(&s.block)
}

// ending judges what stands behind the last block that is whole.
func (s *scanner) ending() {
	if len(s.bad) > 0 { // it has an end, so it was written to it
		s.Damaged = append(s.Damaged, s.bad...)
		s.End, s.Lines = s.offset, s.lines
	}
	if text := s.buffer[s.used:]; len(text) > 0 && !torn(text) {
		s.Damaged = append(s.Damaged, Damage{s.lines + 1, errAltered.Error()})
		s.pass(text)
		s.End, s.Lines = s.offset, s.lines
	}
}

// torn reports whether a text without a block's end is a block that was never written
// to its end, and not one that was changed.
func torn(text []byte) bool {
	if trimmed := bytes.TrimRight(text, "\x00"); len(trimmed)+1 < len(text) {
		text = trimmed // a power cut may leave the length without the bytes
	}
	head, _, whole := bytes.Cut(text, newline)
	if !whole {
		// A head with a changed newline is whole without its last byte.
		_, ok := checked(head[:max(len(head)-1, 0)])
		return !ok
	}
	length, ok := new(Block).parseHead(head)
	before := len(head) + 1 + length
	return ok && len(text) < before+len("= ")+len(timeLayout)+len(fmt.Sprintf(" %d 00000000\n", before))
}

// begin returns where the block begins that ends with the last line of text; that line
// begins at last.
func (e end) begin(text []byte, last int) (int, error) {
	start := last - e.length
	switch {
	case start < 0 || start > 0 && text[start-1] != '\n' || !bytes.HasPrefix(text[start:], headLine):
		return 0, errEnd
	case crc32.Checksum(text[start:last], castagnoli) != e.sum:
		return 0, errors.New("its checksum differs")
	case !bytes.HasPrefix(text[start+len(headLine):], e.time):
		return 0, errEnd
	}
	return start, nil
}

// LastBlock returns the block at the end of text, without its samples. If text is the end
// of a file and too short for the block, ok is false and need is the number of bytes of
// the block; need is 0 if no whole block is there.
func LastBlock(text []byte) (b Block, need int, ok bool) {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return b, 0, false
	}
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	e, ok := parseEnd(text[last : len(text)-1])
	if !ok {
		return b, 0, false
	}
	need = e.length + len(text) - last
	if need > len(text) {
		return b, need, false
	}
	start, err := e.begin(text, last)
	if err == nil {
		head, _, _ := bytes.Cut(text[start:last], newline)
		_, ok = b.parseHead(head)
	}
	return b, need, err == nil && ok
}
