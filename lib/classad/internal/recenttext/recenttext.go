// Package recenttext keeps the texts of constants.
package recenttext

import (
	"hash/maphash"
	"strings"
)

// Texts are those kept. Those met not long ago are shared, and new ones are copied into blocks: one by one they would cost more to
// allocate than to read. The zero Texts is ready.
type Texts struct {
	recent []string
	block  strings.Builder
	seed   maphash.Seed
}

const (
	most      = 4096 // recent texts
	blockSize = 16 << 10
)

// Keep returns a copy of s that lasts, perhaps one that it has returned before.
func (t *Texts) Keep(s string) string {
	if t.recent == nil {
		t.recent, t.seed = make([]string, most), maphash.MakeSeed()
	}
	slot := &t.recent[maphash.String(t.seed, s)%most]
	if *slot != s {
		*slot = t.copy(s)
	}
	return *slot
}

// copy returns a copy of a short text in a block of many, and of a long one by itself.
func (t *Texts) copy(s string) string {
	if len(s) > blockSize/16 {
		return strings.Clone(s)
	}
	if t.block.Cap()-t.block.Len() < len(s) {
		t.block = strings.Builder{}
		t.block.Grow(blockSize)
	}
	at := t.block.Len()
	t.block.WriteString(s)
	return t.block.String()[at:]
}
