package classad

import (
	"slices"
	"sync"
	"sync/atomic"
)

// shape is the names of an ad's attributes and at which place each stands. Ads
// that read alike share one, so that ten thousand slots ask one small table
// that stays in the processor's cache. A frozen shape never changes.
type shape struct {
	table  []place // open addressing
	more   *shape  // names of a few ads only; their places follow
	scopes bool    // a name is one of those that mean a scope, such as MY
	frozen atomic.Bool
	wants  [2]int32 // places plus one of Requirements and Rank; 0: there is none
	names  []string // as first spelled
}

// place is an entry of a shape's table: the hash of a name, and its place plus
// one.
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
		if p.hash == a.hash && p.at != 0 && equalFold(s.names[p.at-1], a.name) {
			return int(p.at) - 1
		}
		if p.at == 0 {
			return s.findMore(a)
		}
	}
}

func (s *shape) findMore(a *attribute) int {
	if s.more == nil {
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
	a := attribute{name: s.names[i], hash: hashName(s.names[i])}
	if s.scopes {
		a.special = specialOf(a.name)
	}
	return a
}

// name is the name at a place, for those who need no more of it.
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

// pick returns a new shape, which may change, with the names at some places in
// that order.
func (s *shape) pick(places []int) *shape {
	t := newShape()
	for _, i := range places {
		a := s.at(i)
		t.add(&a)
	}
	return t
}

// own returns a copy that may change. One of many names shares their table and
// has what is added to it besides, as with does it: an ad that has been given
// an attribute still reads like those it was copied from.
func (s *shape) own() *shape {
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
	t := &shape{
		names: slices.Clone(s.names), table: slices.Clone(s.table), scopes: s.scopes, wants: s.wants,
	}
	for i := len(s.names); i < s.len(); i++ {
		a := s.at(i)
		t.add(&a)
	}
	return t
}

// with returns a frozen shape that has the names of more besides its own. It
// shares the table of its own names.
func (s *shape) with(more *shape) *shape {
	t := &shape{names: s.names, table: s.table, wants: s.wants, scopes: s.scopes, more: more}
	t.include(more)
	t.frozen.Store(true)
	return t
}

// include notes what is special about the names of more.
func (s *shape) include(more *shape) {
	s.scopes = s.scopes || more.scopes
	for i, at := range more.wants {
		if at > 0 {
			s.wants[i] = at + int32(len(s.names))
		}
	}
}

// sameNames reports whether two shapes have the same names at the same places
// in the same spelling.
func (s *shape) sameNames(t *shape) bool {
	return slices.Equal(s.names, t.names) && (s.more == nil) == (t.more == nil) && (s.more == nil || s.more.sameNames(t.more))
}

// layout says at which places a Reader puts the attributes of ads that read
// alike.
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

// newLayout makes the layout for ads whose lines have the names of a shape in
// that order.
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

// adsAtOnce is for how many ads there is one piece of memory. It stays as long
// as one of them does.
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

// Mask makes ads without some attributes. Ads whose attributes have the same names keep sharing
// these. It may be used by several goroutines.
type Mask struct {
	hidden []attribute

	mu    sync.Mutex
	picks map[*shape]*pick // nil: nothing is hidden
}

// pick is what a mask leaves of ads of one shape.
type pick struct {
	shape *shape
	kept  []int // their places in the original
}

// mostPicks bounds what a mask remembers, in shapes.
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
