package classad

import (
	"bytes"
	"fairspool/lib/caseless"
	"fairspool/lib/classad/internal/recenttext"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// shape is the names of an ad's attributes and at which place each stands. Ads that read alike share one, so that ten thousand slots ask
// one small table that stays in the processor's cache. A frozen shape never changes.
type shape struct {
	table  []place // open addressing
	more   *shape  // names of a few ads only; their places follow
	unread *Unread // for attributes that were not read; else nil
	scopes bool    // a name is one of those that mean a scope, such as MY
	frozen atomic.Bool
	wants  [2]int32 // places plus one of Requirements and Rank; 0: the shape has none
	names  []string // as first spelled
}

// place is an entry of a shape's table: the hash of a name, and its place plus one.
type place struct {
	hash uint32
	at   int32
}

// smallTable is the size of the first table.
const smallTable = 16

// find returns the place of a name, or -1.
func (s *shape) find(a *attribute) int {
	for i := a.hash; ; i++ {
		p := &s.table[i&uint32(len(s.table)-1)]
		if p.hash == a.hash && p.at != 0 && caseless.Equal(s.names[p.at-1], a.name) {
			return int(p.at) - 1
		}
		if p.at == 0 {
			return s.findMore(a)
		}
	}
}

func (s *shape) findMore(a *attribute) int {
	switch {
	case s.unread != nil:
		s.unread.look(a)
		return -1
	case s.more == nil:
		return -1
	}
	if i := s.more.find(a); i >= 0 {
		return i + len(s.names)
	}
	return -1
}

// len returns how many names there are.
func (s *shape) len() int {
	if s.more == nil {
		return len(s.names)
	}
	return len(s.names) + s.more.len()
}

// at returns the name at a place.
func (s *shape) at(i int) attribute {
	if i >= len(s.names) {
		return s.more.at(i - len(s.names))
	}
	a := attribute{name: s.names[i], hash: caseless.Hash(s.names[i])}
	if s.scopes {
		a.special = specialOf(a.name)
	}
	return a
}

// name is the name at a place, for callers that need nothing else of it.
func (s *shape) name(i int) string {
	for ; i >= len(s.names); s = s.more {
		i -= len(s.names)
	}
	return s.names[i]
}

func newShape() *shape { return &shape{table: make([]place, smallTable)} }

// add appends a name that the shape does not have.
func (s *shape) add(a *attribute) {
	if s.more != nil {
		s.more.add(a)
		s.include(s.more)
		return
	}
	if s.names == nil {
		s.names = make([]string, 0, smallTable/2)
	}
	s.names = append(s.names, a.name)
	s.scopes = s.scopes || a.special.isScope()
	for i := range wanted {
		if a.hash == wanted[i].hash && a.means(wanted[i].name) {
			s.wants[i] = int32(len(s.names))
		}
	}
	if 2*len(s.names) > len(s.table) {
		s.grow()
	}
	s.place(a.hash, int32(len(s.names)))
}

func (s *shape) place(hash uint32, at int32) {
	mask := uint32(len(s.table) - 1)
	i := hash & mask
	for s.table[i].at != 0 {
		i = (i + 1) & mask
	}
	s.table[i] = place{hash, at}
}

// grow makes the table larger.
func (s *shape) grow() {
	old := s.table
	s.table = make([]place, 4*len(old))
	for _, p := range old {
		if p.at != 0 {
			s.place(p.hash, p.at)
		}
	}
}

// pick returns a new shape, which may change, with the names at some places in that order.
func (s *shape) pick(places []int) *shape {
	t := newShape()
	for _, i := range places {
		a := s.at(i)
		t.add(&a)
	}
	return t
}

// without returns a new shape, which may change, without the name at a place. If that is one of more, it shares the others.
func (s *shape) without(gone int) *shape {
	from, t := 0, newShape()
	if s.more != nil && gone >= len(s.names) {
		from = len(s.names)
	}
	for i := from; i < s.len(); i++ {
		if i != gone {
			a := s.at(i)
			t.add(&a)
		}
	}
	if from == 0 {
		return t
	}
	shared := &shape{names: s.names, table: s.table, wants: s.wants, more: t}
	shared.scopes = s.scopes && slices.ContainsFunc(s.names, func(name string) bool { return specialOf(name).isScope() })
	for i, n := range s.wants {
		if int(n) > from {
			shared.wants[i] = 0
		}
	}
	shared.include(t)
	return shared
}

// own returns a copy that may change. A copy of a large shape shares its table and holds added names separately, as with does: an ad that
// has got another attribute still reads like the ads it was copied from.
func (s *shape) own() *shape {
	if s == nil {
		return newShape()
	}
	added := newShape()
	if s.more != nil {
		added = s.more.copied()
	}
	if 2*(added.len()+1) > len(s.names) {
		return s.copied()
	}
	return &shape{names: s.names, table: s.table, scopes: s.scopes, wants: s.wants, more: added}
}

// copied returns a copy that may change and shares nothing.
func (s *shape) copied() *shape {
	t := &shape{names: slices.Clone(s.names), table: slices.Clone(s.table), scopes: s.scopes, wants: s.wants}
	for i := len(s.names); i < s.len(); i++ {
		a := s.at(i)
		t.add(&a)
	}
	return t
}

// with returns a frozen shape that has the names of more besides its own. It shares the table of its own names.
func (s *shape) with(more *shape) *shape {
	t := &shape{names: s.names, table: s.table, wants: s.wants, scopes: s.scopes, more: more}
	t.include(more)
	t.frozen.Store(true)
	return t
}

// include notes the special names of more.
func (s *shape) include(more *shape) {
	s.scopes = s.scopes || more.scopes
	for i, at := range more.wants {
		if at > 0 {
			s.wants[i] = at + int32(len(s.names))
		}
	}
}

// sameNames reports whether two shapes have the same names at the same places in the same spelling.
func (s *shape) sameNames(t *shape) bool {
	return slices.Equal(s.names, t.names) && (s.more == nil) == (t.more == nil) && (s.more == nil || s.more.sameNames(t.more))
}

// layout says at which places a Reader puts the attributes of ads that read alike.
type layout struct {
	names  []string // by lines
	usual  []bool   // by lines: usualName
	places []int    // by lines
	shape  *shape
}

// customary are the attributes that Requirements, Rank and START usually ask
// about. They stand together in memory, the more usual ones first.
var customary = customaryNames("Requirements", "Start", "IsValidCheckpointPlatform", "WithinResourceLimits",
	"Cpus", "Memory", "Disk", "Arch", "OpSys", "OpSysMajorVer", "HasFileTransfer", "FileSystemDomain", "Machine", "Rank",
	"KFlops", "GPUs", "OpSysAndVer", "State", "Activity", "HasSingularity", "HasDocker",
	"KeyboardIdle", "LoadAvg", "Name", "Mips", "UidDomain", "TotalMemory", "TotalCpus", "SlotWeight",
	"EnteredCurrentState", "Owner", "RequestCpus", "RequestMemory", "RequestDisk")

func customaryNames(names ...string) []attribute {
	out := make([]attribute, len(names))
	for i, name := range names {
		out[i] = newAttribute(name)
	}
	return out
}

// newLayout makes the layout for ads with lines that have the names of a shape in that order.
func newLayout(lines *shape) *layout {
	n := lines.len()
	l := &layout{names: make([]string, n), usual: make([]bool, n), places: make([]int, n)}
	order := make([]int, 0, n)
	first := make([]bool, n)
	for i := range customary {
		if at := lines.find(&customary[i]); at >= 0 {
			order, first[at] = append(order, at), true
		}
	}
	for at, is := range first {
		if !is {
			order = append(order, at)
		}
	}
	for place, line := range order {
		l.names[line], l.places[line] = lines.at(line).name, place
		l.usual[line] = usualName(l.names[line])
	}
	l.shape = lines.pick(order)
	l.shape.frozen.Store(true)
	return l
}

// roomyAd is an ad with its front.
type roomyAd struct {
	ad    Ad
	front front
}

// adsAtOnce is for how many ads there is one piece of memory. It stays as long as one of them does.
const adsAtOnce = 16

// open returns an ad with room for the attributes.
func (l *layout) open(room *[]roomyAd) *Ad {
	n := len(l.places)
	if n < frontSize {
		return &Ad{cells: make([]cell, n)}
	}
	if len(*room) == 0 {
		*room = make([]roomyAd, adsAtOnce)
	}
	r := &(*room)[0]
	*room = (*room)[1:]
	r.ad.front, r.ad.cells = &r.front, make([]cell, n-frontSize)
	return &r.ad
}

// Mask makes ads without some attributes. Ads with the same names keep sharing these. It may be used by several goroutines.
type Mask struct {
	hidden []attribute

	mu    sync.Mutex
	picks map[*shape]*pick // nil: nothing is hidden
}

// pick is the result of a mask for ads of one shape.
type pick struct {
	shape *shape
	kept  []int // their places in the original
}

// mostPicks bounds the picks that a mask remembers.
const mostPicks = 1000

// NewMask returns a mask that leaves out the attributes of these names.
func NewMask(names []string) *Mask {
	m := &Mask{picks: map[*shape]*pick{}}
	for _, name := range names {
		m.hidden = append(m.hidden, NewName(name).finder.attribute)
	}
	return m
}

// Of returns the ad without the hidden ones of its own attributes, chained to parent: the ad itself if
// that is its parent and nothing is hidden.
func (m *Mask) Of(a, parent *Ad) *Ad {
	var p *pick
	if a.shape != nil {
		p = m.pick(a.shape)
	}
	if p == nil {
		if a.parent == parent {
			return a
		}
		return a.Clone().Chain(parent)
	}
	masked := &Ad{shape: p.shape, cells: make([]cell, len(p.kept)), parent: parent}
	for k, i := range p.kept {
		masked.cells[k] = *a.at(i)
	}
	return masked
}

func (m *Mask) pick(s *shape) *pick {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, known := m.picks[s]; known {
		return p
	}
	s.frozen.Store(true) // or its names could change
	gone := map[int]bool{}
	for i := range m.hidden {
		if at := s.find(&m.hidden[i]); at >= 0 {
			gone[at] = true
		}
	}
	var p *pick
	if len(gone) > 0 {
		p = &pick{}
		for i := range s.len() {
			if !gone[i] {
				p.kept = append(p.kept, i)
			}
		}
		p.shape = s.pick(p.kept)
		p.shape.frozen.Store(true)
	}
	if len(m.picks) >= mostPicks {
		clear(m.picks)
	}
	m.picks[s] = p
	return p
}

// builder makes the ads of a stream. They come in a few kinds, and the ads of a kind have the same names in the same order and many of
// the same values: as long as that is so, names are compared rather than looked up. An ad is expected to be of the kind of the one
// before; the first name that is not expected tells its kind.
type builder struct {
	kinds []*kind // the last maxKinds, the one expected first
	room  []roomyAd

	// Of the ad being read:
	follows  bool   // its names so far are those expected, or none of them
	line     int    // how many of those expected were there; their cells are in the kind
	building *shape // its other names
	others   []cell // their cells
}

// kind is what ads that read alike have in common.
type kind struct {
	*layout
	before []lastSeen // by lines
	room   int        // bytes that the texts may still take
}

// lastSeen is the text of an attribute and its meaning. An empty text means an unknown one.
type lastSeen struct {
	text []byte
	cell cell
}

// Bounds on remembered kinds of ads, for streams with many kinds.
const (
	maxKinds     = 32
	maxKindNames = 1 << 12
	maxKindTexts = 1 << 18 // bytes, in one kind
)

// begin gets ready for the next ad.
func (b *builder) begin() {
	b.follows, b.line, b.building = len(b.kinds) > 0, 0, nil
	if b.others = b.others[:0]; cap(b.others) > maxKindNames {
		b.others = nil
	}
}

// next returns the kind that is followed if there is a name that it expects.
func (b *builder) next() *kind {
	if !b.follows || b.line == len(b.kinds[0].names) {
		return nil
	}
	return b.kinds[0]
}

// follow sets the attribute that is expected.
func (b *builder) follow(text []byte, c cell) {
	b.kinds[0].see(b.line, text, c)
	b.line++
}

func (k *kind) see(line int, text []byte, c cell) {
	s := &k.before[line]
	s.cell = c
	before := cap(s.text)
	if len(text)-before > k.room {
		text = nil
	}
	s.text = append(s.text[:0], text...)
	k.room -= cap(s.text) - before
}

// set sets an attribute of the ad being read. The text is the value's, for the comparison with the next one.
func (b *builder) set(a attribute, text []byte, c cell) {
	if b.follows {
		if k := b.next(); k != nil && k.names[b.line] == a.name || b.turn(a.name) {
			b.follow(text, c)
			return
		}
		if b.kinds[0].shape.find(&a) >= 0 {
			b.leave()
		}
	}
	if b.building == nil {
		b.building = newShape()
	}
	if i := b.building.find(&a); i >= 0 {
		b.others[i] = c
		return
	}
	b.building.add(&a)
	b.others = append(b.others, c)
}

// turn follows another kind, one that has the names so far and this one next, if there is one.
func (b *builder) turn(name string) bool {
	return b.turnTo(func(k *kind) bool { return b.line < len(k.names) && k.names[b.line] == name })
}

// turnTo follows another kind that has the names so far and fits, if there is one.
func (b *builder) turnTo(fits func(*kind) bool) bool {
	if b.building != nil {
		return false
	}
	was := b.kinds[0]
	for i, k := range b.kinds[1:] {
		if fits(k) && slices.Equal(k.names[:b.line], was.names[:b.line]) {
			for line, seen := range was.before[:b.line] {
				k.see(line, seen.text, seen.cell)
			}
			b.expect(k, i+1)
			return true
		}
	}
	return false
}

// expect makes a kind the first, which was at index i.
func (b *builder) expect(k *kind, i int) {
	copy(b.kinds[1:i+1], b.kinds[:i])
	b.kinds[0] = k
}

// leave stops following: the ad gets the names so far as its own.
func (b *builder) leave() {
	more, cells := b.building, b.others
	b.building, b.others, b.follows = newShape(), nil, false
	k := b.kinds[0]
	for line, name := range k.names[:b.line] {
		a := newAttribute(name)
		b.building.add(&a)
		b.others = append(b.others, k.before[line].cell)
	}
	for i := range cells {
		a := more.at(i)
		a.special = specialOf(a.name)
		b.building.add(&a)
	}
	b.others = append(b.others, cells...)
}

// finish returns the ad. The next one is expected to be like it, unless no two were like it so far.
func (b *builder) finish(in *Interner) *Ad {
	if b.line == 0 && b.building == nil {
		return New()
	}
	if b.follows && !b.complete() {
		b.leave()
	}
	if !b.follows {
		return b.settle(in)
	}
	k := b.kinds[0]
	ad := k.open(&b.room)
	for line, place := range k.places {
		*ad.at(place) = k.before[line].cell
	}
	ad.shape = k.shape
	if b.building != nil {
		ad.shape, _ = in.shape(k.shape.with(b.building))
		ad.cells = slices.Concat(ad.cells, b.others)
	}
	return ad
}

// complete reports whether all names of the kind were there, or of one that has no more than these, and not too many others.
func (b *builder) complete() bool {
	if names := len(b.kinds[0].names); b.line == names {
		return b.building == nil || b.building.len() <= names
	}
	return b.turnTo(func(k *kind) bool { return len(k.names) == b.line })
}

// settle returns an ad that is not as expected.
func (b *builder) settle(in *Interner) *Ad {
	s, known := in.shape(b.building)
	if !known && len(b.kinds) > 0 || s.len() > maxKindNames {
		return &Ad{shape: s, cells: slices.Clone(b.others)}
	}
	if len(b.kinds) == 0 && len(b.room) == 0 {
		b.room = make([]roomyAd, 1) // there may be only one
	}
	k := b.kindOf(in.layout(s))
	ad := k.open(&b.room)
	ad.shape = k.shape
	for line, c := range b.others {
		*ad.at(k.places[line]) = c
	}
	return ad
}

// kindOf returns the kind of a layout, which is expected from now on.
func (b *builder) kindOf(l *layout) *kind {
	for i, k := range b.kinds {
		if k.layout == l {
			b.expect(k, i)
			return k
		}
	}
	k := &kind{layout: l, before: make([]lastSeen, len(l.names)), room: maxKindTexts}
	if len(b.kinds) < maxKinds {
		b.kinds = append(b.kinds, nil)
	}
	b.expect(k, len(b.kinds)-1)
	return k
}

// Builder makes ads from attributes that its user reads, one at a time, in the new dialect, as ParseExpr and StyleSpool have it. It is as
// fast as a Reader: an attribute like one of the ads before is only compared. Names, expressions and the lists of names are shared with
// the other ads of its Interner.
//
//	b := NewBuilder(nil)
//	for _, lines := range ads {
//		b.Begin()
//		for _, line := range lines {
//			if err := b.Line(line); err != nil {
//				return err
//			}
//		}
//		use(b.Finish())
//	}
//
// The ad is that of New and Set with the expressions of ExprBytes, in the same
// order: the last expression of a name counts, and its first spelling.
//
// After an error the ad is as if the bad attribute had not been given, and it may go on, be finished, or be dropped by Begin. The zero
// Builder is ready. A Builder is not for several goroutines at once, but its Interner is.
type Builder struct {
	in    *Interner
	ads   builder
	texts recenttext.Texts
	begun bool
}

// NewBuilder returns a Builder that shares with the Interner; nil means an Interner of its own.
func NewBuilder(in *Interner) *Builder { return &Builder{in: in} }

// Begin begins the next ad. One that was begun and not finished is dropped. The first attribute, too, begins an ad when none is begun.
func (b *Builder) Begin() {
	if b.in == nil {
		b.in = NewInterner()
	}
	b.ads.begin()
	b.begun = true
}

// Finish returns the ad; it is empty when no attribute was set.
func (b *Builder) Finish() *Ad {
	if !b.begun {
		return New()
	}
	b.begun = false
	return b.ads.finish(b.in)
}

// Line sets the attribute of a line "Name = expression", without a line break and with one blank on either side of the equals sign. The
// name is of letters, digits and underscores and does not begin with a digit; Set takes any other. An error says that the line is not of
// this form, or is the one of ExprBytes about the expression. Nothing of the line is kept.
func (b *Builder) Line(line []byte) error {
	k := b.next()
	if k != nil && k.usual[b.ads.line] {
		if text, ok := afterName(line, k.names[b.ads.line]); ok {
			return b.follow(k, text)
		}
	}
	name, text, ok := bytes.Cut(line, []byte(" = "))
	if !ok || !usualName(name) {
		return fmt.Errorf("%.60q: not an attribute: want Name = expression", line)
	}
	return b.set(name, text)
}

// Set sets an attribute of any name. Like all texts of the language, the name ends before
// a NUL byte. An error is ExprBytes's for the text. Set keeps nothing of the text.
func (b *Builder) Set(name string, text []byte) error {
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	if k := b.next(); k != nil && k.names[b.ads.line] == name {
		return b.follow(k, text)
	}
	return b.set([]byte(name), text)
}

// next returns the kind that is followed if there is a name that it expects.
func (b *Builder) next() *kind {
	if !b.begun {
		b.Begin()
	}
	return b.ads.next()
}

// follow sets the attribute that is expected.
func (b *Builder) follow(k *kind, text []byte) error {
	if len(text) > 0 && bytes.Equal(text, k.before[b.ads.line].text) {
		b.ads.line++
		return nil
	}
	c, err := b.cell(text)
	if err == nil {
		b.ads.follow(text, c)
	}
	return err
}

// set sets an attribute that may be another than the one expected.
func (b *Builder) set(name, text []byte) error {
	c, err := b.cell(text)
	if err == nil {
		b.ads.set(b.in.name(name), text, c)
	}
	return err
}

// cell returns the meaning of a text.
func (b *Builder) cell(text []byte) (cell, error) {
	if v, ok := scanConstant(text); ok {
		return cell{v.kept(&b.texts)}, nil
	}
	e, err := b.in.compiled(text)
	if err != nil {
		return cell{}, err
	}
	return e.cell(), nil
}

// usualName reports whether a name looks like one, be it a word of the language such as true.
func usualName[T string | []byte](name T) bool {
	for i := range len(name) {
		if !nameStart(name[i]) && (i == 0 || !digit(name[i])) {
			return false
		}
	}
	return len(name) > 0
}
