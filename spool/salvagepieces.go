package spool

import (
	"bytes"
	"cmp"
)

// piece is lines of a segment that follow each other and speak of one key.
type piece[K cmp.Ordered] struct {
	key      K
	at, size int
	line     int  // on which it begins
	doubtful bool // a line in it, before it or behind it is no line of a block
}

// pieces looks through a segment whose index does not check. A line of it
// proves a block all the same if it has the right checksum and key. Of the
// others those are taken that can be read from beginning to end.
func (w *wreck[K, V]) pieces(path string, b []byte) {
	list, proven := w.cut(path, b)
	times := map[K]int{}
	for _, p := range list {
		times[p.key]++
	}
	var hired *worker
	for i, p := range list {
		if proven[p.key] {
			continue
		}
		if i%workerThings == 0 || hired == nil {
			hired = newWorker()
		}
		switch {
		case w.lost[p.key]: // told
		case times[p.key] > 1, i > 0 && list[i-1].key > p.key, i+1 < len(list) && list[i+1].key < p.key:
			w.losingOne(path, p.line, p.key, "its block is not in its place or is not in one piece, and no line of the index proves it; a part begins on this line")
		case p.doubtful || !w.reads(hired, p, b):
			w.losingOne(path, p.line, p.key, "its block is not whole, and no line of the index proves it; what is left of it begins on this line")
		default:
			w.losing(path, p.line, "%s is taken as it reads, which nothing proves: look at it", w.name(p.key))
			text := b[p.at : p.at+p.size]
			w.note(found[K]{entry[K]{key: p.key, at: int64(p.at), size: int64(p.size), crc: checksum(text)}, path})
		}
	}
}

// cut cuts the blocks of a segment into pieces, and notes those that a line of
// the index proves. The last one is doubtful unless the index begins behind it:
// the segment may have been cut off in the middle of it.
func (w *wreck[K, V]) cut(path string, b []byte) (list []piece[K], proven map[K]bool) {
	proven = map[K]bool{}
	at, indexed, odd := 0, false, false
	for n, line := range (chunk{text: b}).lines() {
		from := at
		at = min(at+len(line)+1, len(b))
		if bytes.HasPrefix(line, []byte("I ")) {
			e, err := parseEntry(line, w.from.keys)
			indexed = indexed || err == nil || at == len(b) // which cut it off
			if err == nil && w.proves(e, b) {
				proven[e.key] = true
				w.note(found[K]{e, path})
			}
		}
		if indexed {
			continue
		}
		k, ok := w.keyOf(line)
		last := len(list) - 1
		switch {
		case !ok:
			odd = true
			if last >= 0 {
				list[last].doubtful = true
			}
		case last < 0 || list[last].key != k:
			list = append(list, piece[K]{key: k, at: from, size: at - from, line: n + 1, doubtful: odd})
			odd = false
		default:
			list[last].size, odd = at-list[last].at, false
		}
	}
	if last := len(list) - 1; last >= 0 && !indexed {
		list[last].doubtful = true
	}
	return list, proven
}

// keyOf returns the key of a line of a block.
func (w *wreck[K, V]) keyOf(line []byte) (k K, ok bool) {
	if len(line) < 3 || line[1] != ' ' || bytes.IndexByte([]byte(w.kinds), line[0]) < 0 {
		return k, false
	}
	k, _, err := w.from.keys.parse(line[2:])
	return k, err == nil
}

// reads tells whether a piece can be read as the block of its key.
func (w *wreck[K, V]) reads(hired *worker, p piece[K], b []byte) bool {
	if b[p.at] != w.kinds[0] || b[p.at+p.size-1] != '\n' {
		return false
	}
	thing, err := w.from.build(hired, p.key, []chunk{{text: b[p.at : p.at+p.size]}})
	return err == nil && thing != nil
}

// proves tells whether a line of an index is right about a block of b.
func (w *wreck[K, V]) proves(e entry[K], b []byte) bool {
	if e.at < 0 || e.size < 3 || e.at > int64(len(b)) || e.size > int64(len(b))-e.at {
		return false
	}
	text := b[e.at : e.at+e.size]
	k, _, err := w.from.keys.parse(text[2:max(2, lineEnd(text))])
	return checksum(text) == e.crc && err == nil && k == e.key
}
