package classad

import (
	"sync/atomic"
	"unsafe"
)

// finder is a name in a program. It remembers where it found the name in the
// ads that it met last, which mostly all read alike.
type finder struct {
	attribute
	memo atomic.Pointer[foundAt]
}

type foundAt struct {
	table *place // of the shape, which was frozen
	at    int    // -1: it has no such name
	after int    // how many other tables were remembered before
}

// maxRemembered is how often a finder changes its mind: remembering costs more
// than finding where ads differ all the time.
const maxRemembered = 8

// in returns the place of the name in an ad's own attributes, or -1.
func (f *finder) in(s *shape) int {
	if m := f.memo.Load(); m != nil && m.table == unsafe.SliceData(s.table) {
		if m.at < 0 && s.more != nil {
			return s.findMore(&f.attribute)
		}
		return m.at
	}
	return f.search(s)
}

func (f *finder) search(s *shape) int {
	at := s.find(&f.attribute)
	m := f.memo.Load()
	after := 0
	if m != nil {
		after = m.after + 1
	}
	if after < maxRemembered && s.frozen.Load() {
		own := at
		if own >= len(s.names) {
			own = -1
		}
		f.memo.Store(&foundAt{unsafe.SliceData(s.table), own, after})
	}
	return at
}
