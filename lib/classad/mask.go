package classad

import "sync"

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
