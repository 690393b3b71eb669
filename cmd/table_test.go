package cmd

import (
	"hash/maphash"
	"maps"
)

// table is a map that is copied when a copy of it is first changed, and that
// tells most others from itself by its sum: the search for an order of many
// steps goes through very many pools that differ in a row.
type table[K, V comparable] struct {
	rows map[K]V
	own  bool // nobody else has these rows
	sum  uint64
}

var seed = maphash.MakeSeed()

// of returns the hash of one row.
func (t *table[K, V]) of(k K, v V) uint64 {
	return maphash.Comparable(seed, struct {
		k K
		v V
	}{k, v})
}

// copy returns the table as another one.
func (t *table[K, V]) copy() table[K, V] {
	t.own = false
	return *t
}

func (t *table[K, V]) put(k K, v V) {
	t.drop(k)
	t.rows[k] = v
	t.sum ^= t.of(k, v)
}

func (t *table[K, V]) drop(k K) {
	if !t.own {
		t.rows, t.own = maps.Clone(t.rows), true
	}
	if t.rows == nil {
		t.rows = map[K]V{}
	}
	if old, there := t.rows[k]; there {
		t.sum ^= t.of(k, old)
		delete(t.rows, k)
	}
}

func (t *table[K, V]) equal(o *table[K, V]) bool {
	return t.sum == o.sum && maps.Equal(t.rows, o.rows)
}
