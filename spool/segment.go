package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/quotedtext"
	"fairspool/spool/internal/summarytext"
)

// A segment is a file of blocks, in the order of their keys: a cluster with its procs each, or a slot. A block is the lines that would make
// it in a journal. Behind the blocks stands an index of them, a line each:
//
//	I 12 0 3010 5407c828 1 "alice" "alice@example.org"
//
// with the key, the block's place and length in bytes, its CRC-32C, how many jobs it has, and the Owner and User of all of them, empty if
// they have none, or - where they differ or are no constants; behind them what is kept of the thing for totals, if that can be (package
// summarytext). The last line has the place of the index, the number of blocks, and the CRC-32C of everything from there up to itself:
//
//	X 3010 1 9ab3c1f0
//
// A segment is written once and never changed.

// segmentSize is how many bytes of blocks a segment has, about.
const segmentSize = 4 << 20

// segmentFile is a segment as index.N names it.
type segmentFile[K cmp.Ordered] struct {
	name        string // without the directory
	first, last K
	bytes       int64
	blocks      int
	jobs        int
	crc         uint32 // that of the segment's last line
}

// entry is a line of a segment's index.
type entry[K cmp.Ordered] struct {
	key         K
	at, size    int64
	crc         uint32
	jobs        int
	owner, user string // quoted, or -
	summary     string // empty: the block has to be read
}

func (f segmentFile[K]) append(b []byte, word string, k keys[K]) []byte {
	b = fmt.Appendf(b, "%s %s %d %d %d %08x ", word, f.name, f.bytes, f.blocks, f.jobs, f.crc)
	b = append(k.append(b, f.first), ' ')
	return append(k.append(b, f.last), '\n')
}

// appendSegment adds the segment of a line of index.N, which must lie behind those before.
func appendSegment[K cmp.Ordered](list []segmentFile[K], text string, k keys[K]) ([]segmentFile[K], error) {
	var f segmentFile[K]
	fields := bytes.SplitN([]byte(text), []byte(" "), 6)
	if len(fields) != 6 {
		return nil, errors.New("a segment's line with too few fields")
	}
	f.name = string(fields[0])
	bytes, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	blocks, err2 := strconv.Atoi(string(fields[2]))
	jobs, err3 := strconv.Atoi(string(fields[3]))
	crc, err4 := strconv.ParseUint(string(fields[4]), 16, 32)
	first, rest, err5 := k.parse(fields[5])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	last, _, err := k.parse(rest)
	if err != nil {
		return nil, err
	}
	f.bytes, f.blocks, f.jobs, f.crc, f.first, f.last = bytes, blocks, jobs, uint32(crc), first, last
	if n := len(list); f.last < f.first || n > 0 && f.first <= list[n-1].last {
		return nil, fmt.Errorf("the segment %s is out of order", f.name)
	}
	return append(list, f), nil
}

func (e entry[K]) append(b []byte, k keys[K]) []byte {
	b = append(k.append(append(b, "I "...), e.key), ' ')
	b = fmt.Appendf(b, "%d %d %08x %d %s %s", e.at, e.size, e.crc, e.jobs, e.owner, e.user)
	if e.summary != "" {
		b = append(append(b, ' '), e.summary...)
	}
	return append(b, '\n')
}

// parseEntry reads a line of a segment's index, whose checksum is known to be right.
func parseEntry[K cmp.Ordered](line []byte, k keys[K]) (e entry[K], err error) {
	rest, ok := bytes.CutPrefix(line, []byte("I "))
	if !ok {
		return e, errors.New("not a line of an index")
	}
	if e.key, rest, err = k.parse(rest); err != nil {
		return e, err
	}
	at, rest, err1 := number(rest, ' ')
	size, rest, err2 := number(rest, ' ')
	crc, rest, ok := bytes.Cut(rest, []byte(" "))
	sum, err3 := strconv.ParseUint(string(crc), 16, 32)
	jobs, rest, err4 := number(rest, ' ')
	if err := errors.Join(err1, err2, err3, err4); err != nil || !ok {
		return e, errors.Join(err, errors.New("a line of an index with too few fields"))
	}
	e.at, e.size, e.crc, e.jobs = int64(at), int64(size), uint32(sum), jobs
	owner, rest, err := quotedtext.Word(rest)
	if err != nil {
		return e, err
	}
	user, rest, err := quotedtext.Word(rest)
	e.owner, e.user, e.summary = string(owner), string(user), string(rest)
	return e, err
}

// summaryIn returns the key and the summary in a line of an index.
func (k keys[K]) summaryIn(line string) (key K, summary string, err error) {
	text, _ := strings.CutPrefix(line, "I ")
	key, rest, ok := k.plain(text)
	for range 4 {
		_, rest, _ = strings.Cut(rest, " ")
	}
	for range 2 {
		word, behind, _ := strings.Cut(rest, " ")
		rest, ok = behind, ok && (word == unknown || len(word) > 1 && word[len(word)-1] == '"' && strings.Count(word, `"`) == 2 && strings.IndexByte(word, '\\') < 0)
	}
	if ok {
		return key, rest, nil
	}
	e, err := parseEntry([]byte(line), k)
	return e.key, e.summary, err
}

// segment is an open segment: its index, and its file to read blocks from.
type segment[K cmp.Ordered] struct {
	segmentFile[K]
	path    string
	keys    keys[K]
	index   []byte // its lines, until all entries are made from them
	at      int64  // where the index begins
	entries []entry[K]
}

// find returns the entry of a key, nil if there is none.
func (g *segment[K]) find(k K) (*entry[K], error) {
	if g.entries != nil {
		i, ok := slices.BinarySearchFunc(g.entries, k, func(e entry[K], k K) int { return cmp.Compare(e.key, k) })
		if !ok {
			return nil, nil
		}
		return &g.entries[i], nil
	}
	for low, high := 0, len(g.index); low < high; {
		from := low + bytes.LastIndexByte(g.index[low:(low+high)/2], '\n') + 1
		to := from + lineEnd(g.index[from:])
		e, err := parseEntry(g.index[from:to], g.keys)
		if err == nil && e.size > g.at-e.at {
			err = errors.New("its index goes beyond its blocks")
		}
		if err != nil || e.key == k {
			return &e, err
		}
		if e.key < k {
			low = to + 1
		} else {
			high = from
		}
	}
	return nil, nil
}

// readIndex reads a segment's index.
func readIndex[K cmp.Ordered](fsys files.Layer, dir string, f segmentFile[K], k keys[K]) (*segment[K], error) {
	g, err := openSegment(fsys, dir, f, k, new([]byte))
	if err != nil {
		return nil, err
	}
	return g, g.parse(fsys)
}

// openSegment reads a segment's index into a buffer, without making entries of its lines.
func openSegment[K cmp.Ordered](fsys files.Layer, dir string, f segmentFile[K], k keys[K], buffer *[]byte) (*segment[K], error) {
	g, lines, at, err := readLines(fsys, dir, f, buffer)
	if err != nil {
		return nil, err
	}
	g.keys, g.at, g.index = k, at, lines[:bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1]
	return g, nil
}

// readLines reads the lines of a segment's index, which begin at at and check, into a buffer.
func readLines[K cmp.Ordered](fsys files.Layer, dir string, f segmentFile[K], buffer *[]byte) (g *segment[K], lines []byte, at int64, err error) {
	g = &segment[K]{segmentFile: f, path: filepath.Join(dir, f.name)}
	open, err := fsys.Open(g.path, files.ReadOnly, 0)
	if err != nil {
		return g, nil, 0, missing(g.path, err)
	}
	defer open.Close()
	size, err := open.Size()
	if err != nil {
		return g, nil, 0, err
	}
	if size != f.bytes {
		return g, nil, 0, g.damage(fsys, 0, 0, "it has %d bytes instead of %d", size, f.bytes)
	}
	r := blockReader[K]{segment: g, files: fsys, file: open, buffer: buffer}
	from := max(size-tailSize, 0)
	if err := r.read(from, size-from); err != nil {
		return g, nil, 0, err
	}
	at, why := g.indexAt(r.have)
	if why == nil && at < from {
		if err := r.read(at, size-at); err != nil {
			return g, nil, at, err
		}
	}
	if why == nil {
		lines = r.have[at-r.at:]
		why = g.checkIndex(lines)
	}
	if why != nil {
		return g, nil, at, g.damage(fsys, at, 0, "%v", why)
	}
	return g, lines, at, nil
}

// tailSize is how much of a segment is read at first: its last line, and an index that is not long.
const tailSize = 16 << 10

// missing says of a file that has to be there that it is not.
func missing(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{path, 1, "the file is missing"}
	}
	return err
}

// indexAt reads the last line of b, which ends the segment, and returns where the index begins.
func (g *segment[K]) indexAt(b []byte) (int64, error) {
	last := b[bytes.LastIndexByte(b[:max(len(b)-1, 0)], '\n')+1:]
	fields := bytes.Fields(last)
	if len(fields) != 4 || string(fields[0]) != "X" {
		return 0, errors.New("it has no last line")
	}
	at, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	blocks, err2 := strconv.Atoi(string(fields[2]))
	crc, err3 := strconv.ParseUint(string(fields[3]), 16, 32)
	if err1 != nil || err2 != nil || err3 != nil || at < 0 || at > g.bytes || blocks != g.blocks || uint32(crc) != g.crc {
		return 0, errors.New("its last line is not the one that was recorded")
	}
	return at, nil
}

// checkIndex holds the lines of the index to their checksum.
func (g *segment[K]) checkIndex(b []byte) error {
	last := bytes.LastIndexByte(b[:len(b)-1], ' ') + 1
	if sum := checksum(b[:last]); sum != g.crc || string(b[last:]) != fmt.Sprintf("%08x\n", sum) {
		return fmt.Errorf("the checksum of its index is %08x, recorded is %08x", sum, g.crc)
	}
	return nil
}

// parse makes the entries, if that was not done.
func (g *segment[K]) parse(fsys files.Layer) error {
	if g.entries == nil {
		if err := g.parseIndex(); err != nil {
			return g.damage(fsys, g.at, 0, "%v", err)
		}
		g.index = nil
	}
	return nil
}

func (g *segment[K]) parseIndex() error {
	entries, end := make([]entry[K], 0, min(g.blocks, len(g.index))), int64(0)
	for b := g.index; len(b) > 0; b = behindLine(b) {
		e, err := parseEntry(b[:lineEnd(b)], g.keys)
		if err != nil {
			return err
		}
		if n := len(entries); e.at != end || n > 0 && e.key <= entries[n-1].key {
			return errors.New("its index is out of order")
		}
		if e.size > g.at-end {
			return errors.New("its index goes beyond its blocks")
		}
		end += e.size
		entries = append(entries, e)
	}
	if end != g.at || len(entries) != g.blocks {
		return errors.New("its index does not cover its blocks")
	}
	g.entries = entries
	return nil
}

// damage says what is wrong on a line behind a byte of the segment.
func (g *segment[K]) damage(fsys files.Layer, at int64, lines int, format string, args ...any) error {
	line := 1 + lines
	if b, err := files.Contents(fsys, g.path); err == nil {
		line += bytes.Count(b[:min(at, int64(len(b)))], newline)
	}
	return &DamageError{g.path, line, fmt.Sprintf(format, args...)}
}

// blockReader reads blocks of one segment.
type blockReader[K cmp.Ordered] struct {
	*segment[K]
	files  files.Layer
	file   files.File
	ahead  int64 // bytes that are read at once, if the blocks are asked for in their order
	buffer *[]byte
	have   []byte // what stands in the buffer, from the byte at on
	at     int64
}

// readAhead is how many bytes are read at once of a segment of which most is wanted. Memory for the whole segment costs more than readings.
const readAhead = 256 << 10

// reader opens a segment to read so many bytes of its blocks, in their order. What is read stays in the buffer until the next reading.
func (g *segment[K]) reader(fsys files.Layer, bytes int64, buffer *[]byte) (*blockReader[K], error) {
	f, err := fsys.Open(g.path, files.ReadOnly, 0)
	if err != nil {
		return nil, missing(g.path, err)
	}
	r := &blockReader[K]{segment: g, files: fsys, file: f, buffer: buffer}
	if bytes >= g.bytes/2 {
		r.ahead = readAhead
	}
	return r, nil
}

// Close closes the file; nil has none.
func (r *blockReader[K]) Close() error {
	if r == nil {
		return nil
	}
	return r.file.Close()
}

// read reads so many bytes into the buffer.
func (r *blockReader[K]) read(at, n int64) error {
	*r.buffer = slices.Grow((*r.buffer)[:0], int(n))[:n]
	r.have, r.at = nil, at
	read, err := r.file.ReadAt(*r.buffer, at)
	switch {
	case read == int(n):
		r.have = *r.buffer
		return nil
	case errors.Is(err, io.EOF):
		return r.damage(r.files, at, 0, "it ends too early")
	}
	return err
}

// block returns a block whose checksum is right, until the next call.
func (r *blockReader[K]) block(e *entry[K]) ([]byte, error) {
	if e.at < r.at || e.at+e.size > r.at+int64(len(r.have)) {
		if err := r.read(e.at, max(e.size, min(r.ahead, r.bytes-e.at))); err != nil {
			return nil, err
		}
	}
	text := r.have[e.at-r.at:][:e.size]
	if sum := checksum(text); sum != e.crc {
		return nil, r.damage(r.files, e.at, 0, "the checksum of the block here is %08x, recorded is %08x", sum, e.crc)
	}
	return text, nil
}

// segmentWriter writes segments one after the other, in the order of keys.
type segmentWriter[K cmp.Ordered] struct {
	files      files.Layer
	dir        string
	generation int
	keys       keys[K]

	text    []byte
	index   []entry[K]
	done    []segmentFile[K]
	flushed int
	written int64 // bytes
}

// add adds a block; at and crc of the entry are the writer's business.
func (w *segmentWriter[K]) add(e entry[K], block []byte) error {
	if len(w.text) > 0 && len(w.text)+len(block) > segmentSize {
		if err := w.flush(); err != nil {
			return err
		}
	}
	e.at, e.size, e.crc = int64(len(w.text)), int64(len(block)), checksum(block)
	w.text = append(withRoom(w.text, len(block)), block...)
	w.index = append(w.index, e)
	return nil
}

// keep takes over a segment that is as it was.
func (w *segmentWriter[K]) keep(f segmentFile[K]) error {
	err := w.flush()
	w.done = append(w.done, f)
	return err
}

// flush writes what was added since the last segment as one, and syncs it.
func (w *segmentWriter[K]) flush() error {
	if len(w.index) == 0 {
		return nil
	}
	f := segmentFile[K]{first: w.index[0].key, last: w.index[len(w.index)-1].key, blocks: len(w.index)}
	at := len(w.text)
	for _, e := range w.index {
		w.text = e.append(w.text, w.keys)
		f.jobs += e.jobs
	}
	w.text = fmt.Appendf(w.text, "X %d %d ", at, f.blocks)
	f.crc = checksum(w.text[at:])
	w.text = fmt.Appendf(w.text, "%08x\n", f.crc)
	f.bytes = int64(len(w.text))
	f.name = fmt.Sprintf("%s.%d", w.keys.file(f.first, f.last, w.flushed), w.generation)
	w.flushed++
	if err := files.WriteNew(w.files, filepath.Join(w.dir, f.name), w.text); err != nil {
		return err
	}
	w.done = append(w.done, f)
	w.written += f.bytes
	w.text, w.index = w.text[:0], w.index[:0]
	return nil
}

// keys is how one kind of block is named: how its key stands in a line.
type keys[K cmp.Ordered] struct {
	compare func(a, b K) int // the order in which they are listed
	append  func(b []byte, k K) []byte
	parse   func(b []byte) (k K, rest []byte, err error)  // rest: what follows the blank behind it
	plain   func(text string) (k K, rest string, ok bool) // the same of a key without escapes
	file    func(first, last K, n int) string             // names the n-th segment of a fold, without its generation
}

// clusterKeys are the numbers of clusters.
var clusterKeys = keys[int]{
	compare: cmp.Compare[int],
	append:  func(b []byte, k int) []byte { return strconv.AppendInt(b, int64(k), 10) },
	parse: func(b []byte) (int, []byte, error) {
		k, rest, err := number(b, ' ')
		return k, rest, err
	},
	plain: func(text string) (int, string, bool) {
		digits, rest, ok := strings.Cut(text, " ")
		k, err := strconv.Atoi(digits)
		return k, rest, ok && err == nil
	},
	file: func(first, last, _ int) string { return fmt.Sprintf("%d-%d", first, last) },
}

// slotKeys are the names of slots, quoted. Files are counted, since a name may have any characters.
var slotKeys = keys[string]{
	compare: pool.CompareNames,
	append:  strconv.AppendQuote,
	parse: func(b []byte) (string, []byte, error) {
		var r record
		rest, err := r.slot(b)
		return r.Slot, rest, err
	},
	plain: func(text string) (string, string, bool) {
		name, rest, ok := summarytext.Plain(text)
		return name, strings.TrimPrefix(rest, " "), ok
	},
	file: func(_, _ string, n int) string { return strconv.Itoa(n) },
}
