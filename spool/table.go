package spool

import (
	"bytes"
	"maps"
	"slices"
)

// table is a small table: rows that are lines of one kind, by key. Its file is
// read when somebody asks for the table, and a row is parsed when somebody
// asks for the row.
type table[K comparable, V any] struct {
	load  func() (chunk, error) // the generation's file; nil once it is read, or if there is none
	key   func(line []byte) (K, error)
	parse func(line []byte, seq uint64) (V, error)

	texts   map[K]chunk // rows not parsed yet, a line each; without a text: gone
	rows    map[K]V
	changed bool // since the generation
}

func newTable[K comparable, V any](load func() (chunk, error), key func([]byte) (K, error), parse func([]byte, uint64) (V, error)) *table[K, V] {
	return &table[K, V]{load: load, key: key, parse: parse, texts: map[K]chunk{}, rows: map[K]V{}}
}

// note adds a row of the journal, or with a nil text takes it away.
func (t *table[K, V]) note(k K, c chunk) {
	delete(t.rows, k)
	t.texts[k] = c
	t.changed = true
}

// put adds a row or changes it.
func (t *table[K, V]) put(k K, v V) {
	delete(t.texts, k)
	t.rows[k] = v
	t.changed = true
}

// drop takes a row away.
func (t *table[K, V]) drop(k K) { t.note(k, chunk{}) }

// fill reads the generation's file. What the journal says counts more.
func (t *table[K, V]) fill() error {
	if t.load == nil {
		return nil
	}
	file, err := t.load()
	if err != nil {
		return err
	}
	for n, line := range file.lines() {
		k, err := t.key(line)
		if err != nil {
			return file.damaged(n, err)
		}
		_, noted := t.texts[k]
		if _, put := t.rows[k]; !put && !noted {
			t.texts[k] = chunk{text: line, file: file.file, line: file.line + n}
		}
	}
	t.load = nil
	return nil
}

// get returns a row.
func (t *table[K, V]) get(k K) (v V, ok bool, err error) {
	if v, ok := t.rows[k]; ok {
		return v, true, nil
	}
	c, ok := t.texts[k]
	if !ok && t.load != nil {
		if err := t.fill(); err != nil {
			return v, false, err
		}
		c, ok = t.texts[k]
	}
	if !ok || c.text == nil {
		return v, false, nil
	}
	if v, err = t.parse(c.text, c.seq); err != nil {
		return v, false, c.damaged(0, err)
	}
	t.rows[k] = v
	delete(t.texts, k)
	return v, true, nil
}

// all returns the rows by key.
func (t *table[K, V]) all() (map[K]V, error) {
	if err := t.fill(); err != nil {
		return nil, err
	}
	if len(t.rows) == 0 {
		t.rows = make(map[K]V, len(t.texts))
	}
	for k, c := range t.texts {
		if c.text == nil {
			continue
		}
		v, err := t.parse(c.text, c.seq)
		if err != nil {
			return nil, c.damaged(0, err)
		}
		t.rows[k] = v
	}
	// Gone rows need no note any more: there is no file left to read.
	clear(t.texts)
	return t.rows, nil
}

// count returns how many rows there are. It parses none.
func (t *table[K, V]) count() (int, error) {
	if err := t.fill(); err != nil {
		return 0, err
	}
	n := len(t.rows)
	for _, c := range t.texts {
		if c.text != nil {
			n++
		}
	}
	return n, nil
}

// tableText is the text of a table's file: the rows' lines in the order of
// their keys, and the checksum.
func tableText[K comparable, V any](rows map[K]V, order func(a, b K) int, appendRow func([]byte, V) []byte) []byte {
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(rows), order) {
		b = appendRow(b, rows[k])
	}
	return appendEnd(b)
}

// tableOf returns what reads the file of a table and holds it to what index.N
// says; nil if the generation has none.
func (s *Spool) tableOf(g *generation, name string) func() (chunk, error) {
	t, ok := g.tables[name]
	if !ok {
		return nil
	}
	return func() (chunk, error) {
		path := s.path(t.name)
		b, err := contents(s.files, path)
		if err != nil {
			return chunk{}, missing(path, err)
		}
		lines, err := checkedEnd(b)
		if err != nil {
			return chunk{}, &DamageError{path, 1, err.Error()}
		}
		if int64(len(b)) != t.bytes || bytes.Count(lines, newline) != t.rows || checksum(b) != t.crc {
			return chunk{}, &DamageError{path, 1, "it is not the file that was recorded"}
		}
		return chunk{text: lines, file: path, line: 1}, nil
	}
}
