package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// image is what stands on a disk: the contents of files by path. The path of
// a directory ends in a slash.
type image map[string][]byte

// readImage reads what stands under root.
func readImage(root string) (image, error) {
	m := image{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil && e.IsDir() {
			m[name+"/"] = nil
		} else if err == nil {
			m[name], err = os.ReadFile(path)
		}
		return err
	})
	return m, err
}

// imageOf reads the image in which a spool stands.
func imageOf(t testing.TB, spool string) image {
	t.Helper()
	m, err := readImage(filepath.Dir(spool))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// write makes the image under root, where nothing is.
func (m image) write(root string) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	return m.replace(image{}, root)
}

// replace makes the image under root, where another one stands.
func (m image) replace(old image, root string) error {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(old))) { // a directory after what is in it
		if _, stays := m[name]; !stays {
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) { // a directory before what is in it
		path := filepath.Join(root, name)
		b, there := old[name]
		var err error
		switch {
		case there && bytes.Equal(b, m[name]):
		case strings.HasSuffix(name, "/"):
			err = os.Mkdir(path, 0o700)
		default:
			err = os.WriteFile(path, m[name], 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checksumOf tells images, or trees, apart.
type checksumOf [sha256.Size]byte

// summing makes such a checksum.
type summing struct{ hash.Hash }

func (s summing) numbers(list ...int) {
	for _, n := range list {
		s.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}

func (s summing) bytes(b []byte) {
	s.numbers(len(b))
	s.Write(b)
}

func (s summing) sum() checksumOf { return checksumOf(s.Sum(nil)) }

func (m image) sum() checksumOf {
	h := summing{sha256.New()}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		h.bytes([]byte(name))
		h.bytes(m[name])
	}
	return h.sum()
}

// node is a file or a directory, whatever its names. Contents are never
// changed in place, so an image may keep them.
type node struct {
	entries map[string]*dirEntry // of a directory; nil for a file
	data    []byte               // what processes see
	synced  []byte               // what is durable
	past    [][]byte             // what processes saw since, without data: the kernel may have written any of it
	dirty   []span               // what the next sync has to write
	stored  bool                 // it was synced since it was made; without a journal of the file system the names of one that was not are lost
}

// dirEntry is a name in a directory: what it leads to, and what it leads to
// durably; nil for nothing.
type dirEntry struct {
	now, durable *node
	moved        *dirEntry // where a rename took what it led to
}

type span struct{ from, to int }

func newDirectory() *node { return &node{entries: map[string]*dirEntry{}} }

// durable makes the tree in which all of an image is durable.
func (m image) durable() *node {
	root := newDirectory()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n := &node{data: m[name], synced: m[name]}
		if strings.HasSuffix(name, "/") {
			n = newDirectory()
		}
		n.stored = true
		*root.entry(strings.TrimSuffix(name, "/")) = dirEntry{now: n, durable: n}
	}
	return root
}

// entry returns the entry of a path, a new one if there was none. Directories
// on the way that the tree does not know were there before it.
func (n *node) entry(path string) *dirEntry {
	head, rest, deeper := strings.Cut(path, "/")
	e := n.entries[head]
	if e == nil {
		e = &dirEntry{}
		n.entries[head] = e
	}
	if !deeper {
		return e
	}
	if e.now == nil {
		e.now = newDirectory()
		e.now.stored = true
		e.durable = e.now
	}
	return e.now.entry(rest)
}

// set changes what processes see.
func (n *node) set(data []byte) {
	n.past = append(n.past, n.data)
	n.data = data
}

func (n *node) write(b []byte, off int) {
	n.resize(max(len(n.data), off+len(b)))
	data := slices.Clone(n.data)
	copy(data[off:], b)
	n.data = data
	n.dirty = append(n.dirty, span{off, off + len(b)})
}

func (n *node) resize(size int) {
	data := slices.Clone(n.data[:min(size, len(n.data))])
	if size > len(data) {
		n.dirty = append(n.dirty, span{len(data), size})
		data = append(data, make([]byte, size-len(data))...)
	}
	n.set(data)
}

// sync makes durable what was written since the last sync, and the size.
func (n *node) sync() {
	synced := make([]byte, len(n.data))
	copy(synced, n.synced)
	for _, d := range n.dirty {
		if d.from < len(synced) {
			copy(synced[d.from:min(d.to, len(synced))], n.data[d.from:])
		}
	}
	n.synced, n.dirty, n.past, n.stored = synced, nil, nil, true
	if !bytes.Equal(n.synced, n.data) { // something was forgotten by a sync that failed
		n.past = [][]byte{synced}
	}
}

// syncNames makes the names in a directory durable.
func (n *node) syncNames() {
	n.stored = true
	for _, e := range n.entries {
		if e.moved != nil { // a rename is made durable on both sides
			e.moved.durable = e.moved.now
		}
		e.durable, e.moved = e.now, nil
	}
}

// remains are what a power cut may leave of a file that was not synced: the
// durable contents first, the present last, and between them what stood there
// in the meantime, a half of the change, and a file that has grown but has not
// got its bytes.
func (n *node) remains() [][]byte {
	all := [][]byte{n.synced}
	all = append(all, n.past...)
	if old, now := len(n.synced), len(n.data); now > old {
		all = append(all, n.data[:old+(now-old)/2], append(slices.Clone(n.data[:old]), make([]byte, now-old)...))
	} else if len(n.dirty) > 0 {
		d := n.dirty[len(n.dirty)-1]
		mixed := slices.Clone(n.data)
		copy(mixed[min((d.from+d.to)/2, now):], n.synced[min((d.from+d.to)/2, now):])
		all = append(all, mixed)
	}
	all = append(all, n.data)
	var distinct [][]byte
	for i, b := range all {
		same := func(o []byte) bool { return bytes.Equal(o, b) }
		if i == len(all)-1 {
			distinct = slices.DeleteFunc(distinct, same)
		} else if slices.ContainsFunc(distinct, same) {
			continue
		}
		distinct = append(distinct, b)
	}
	return distinct
}

// change is something that a power cut may take away, or leave: the contents
// of a file, what a name leads to, or a file or directory itself.
type change struct {
	path    string
	entry   *dirEntry
	node    *node
	remains [][]byte // of the node; nil: the node itself
}

func (c change) String() string {
	switch {
	case c.entry != nil:
		return "name " + c.path
	case c.remains == nil:
		return c.path + " itself"
	}
	return "bytes of " + c.path
}

// choices returns how many outcomes there are: 0 is that the change is lost,
// the last that it is there.
func (c change) choices() int {
	if c.remains == nil {
		return 2
	}
	return len(c.remains)
}

// unsynced lists all that a power cut may take away.
func (n *node) unsynced() []change {
	var list []change
	seen := map[*node]bool{}
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			e := n.entries[name]
			if e.now != e.durable {
				list = append(list, change{path: path + name, entry: e})
			}
			for _, n := range []*node{e.durable, e.now} {
				if n == nil || seen[n] {
					continue
				}
				seen[n] = true
				if !n.stored {
					list = append(list, change{path: path + name, node: n})
				}
				if n.entries != nil {
					walk(n, path+name+"/")
				} else if r := n.remains(); len(r) > 1 {
					list = append(list, change{path: path + name, node: n, remains: r})
				}
			}
		}
	}
	walk(n, "")
	return list
}

// sum covers all of a tree that decides what processes see of it and what a power cut
// leaves. Files, directories and names have numbers in the order in which they are met.
func (n *node) sum() checksumOf {
	h := summing{sha256.New()}
	nodes, names := map[*node]int{nil: 0}, map[*dirEntry]int{nil: 0}
	var walk func(n *node)
	number := func(n *node) {
		k, met := nodes[n]
		if !met {
			k = len(nodes)
			nodes[n] = k
		}
		h.numbers(k)
		if !met {
			walk(n)
		}
	}
	name := func(e *dirEntry) {
		if _, met := names[e]; !met {
			names[e] = len(names)
		}
		h.numbers(names[e])
	}
	walk = func(n *node) {
		stored := 0
		if n.stored {
			stored = 1
		}
		h.numbers(stored, len(n.past), len(n.dirty), len(n.entries))
		for _, b := range append([][]byte{n.data, n.synced}, n.past...) {
			h.bytes(b)
		}
		for _, d := range n.dirty {
			h.numbers(d.from, d.to)
		}
		for _, path := range slices.Sorted(maps.Keys(n.entries)) {
			e := n.entries[path]
			h.bytes([]byte(path))
			name(e)
			name(e.moved)
			number(e.now)
			number(e.durable)
		}
	}
	number(n)
	return h.sum()
}

// present returns what processes see.
func (n *node) present() image { return n.after(nil, nil).image }

// cut is what a power cut leaves.
type cut struct {
	name  string
	image image
}

// after returns what a power cut leaves that decides each change so.
func (n *node) after(changes []change, choice []int) cut {
	var names []string
	kept := map[*dirEntry]bool{}
	lost := map[*node]bool{}
	data := map[*node][]byte{}
	for i, c := range changes {
		switch {
		case c.entry != nil:
			kept[c.entry] = choice[i] > 0
		case c.remains == nil:
			lost[c.node] = choice[i] == 0
		default:
			data[c.node] = c.remains[choice[i]]
		}
		if choice[i] == 0 {
			names = append(names, c.String())
		} else if choice[i] < c.choices()-1 {
			names = append(names, fmt.Sprintf("%s (remainder %d)", c, choice[i]))
		}
	}
	m := image{}
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		for name, e := range n.entries {
			left := e.now
			if there, changed := kept[e]; changed && !there {
				left = e.durable
			}
			if there, changed := kept[e.moved]; e.moved != nil && left == nil && changed && !there {
				left = e.durable // what a rename has not taken to its new name is under the old one
			}
			switch {
			case left == nil || lost[left]:
			case left.entries != nil:
				m[path+name+"/"] = nil
				walk(left, path+name+"/")
			default:
				m[path+name] = left.data
				if b, changed := data[left]; changed {
					m[path+name] = b
				}
			}
		}
	}
	walk(n, "")
	return cut{"lost: " + strings.Join(names, ", "), m}
}

// fewChanges is up to how many changes every subset of them is tried, and
// mostCuts how many outcomes at most.
const fewChanges, mostCuts = 5, 8

// cuts returns the different things that a power cut may leave now, the first
// of which is everything. Changes to different files and names are lost
// independently: every subset of a few, and of many none, all, each alone, all
// but each, and some by chance. Of too many outcomes chance takes some, after
// those two in which everything and nothing is there.
func (n *node) cuts(r *rand.Rand) []cut {
	changes := n.unsynced()
	all, none := make([]int, len(changes)), make([]int, len(changes))
	for i, c := range changes {
		all[i] = c.choices() - 1
	}
	var list []cut
	seen := map[checksumOf]bool{}
	try := func(choice []int) {
		c := n.after(changes, choice)
		if sum := c.image.sum(); !seen[sum] {
			seen[sum] = true
			list = append(list, c)
		}
	}
	try(all)
	try(none)
	if len(changes) <= fewChanges {
		for subset := range 1 << len(changes) {
			choice := slices.Clone(none)
			for i := range changes {
				choice[i] = all[i] * (subset >> i & 1)
			}
			try(choice)
		}
	} else {
		for range 8 {
			try(randomChoice(changes, r))
		}
	}
	for i, c := range changes {
		for k := range c.choices() {
			for _, rest := range [][]int{all, none} {
				choice := slices.Clone(rest)
				choice[i] = k
				try(choice)
			}
		}
	}
	if len(list) > mostCuts {
		r.Shuffle(len(list)-2, func(i, j int) { list[2+i], list[2+j] = list[2+j], list[2+i] })
		list = list[:mostCuts]
	}
	return list
}

func randomChoice(changes []change, r *rand.Rand) []int {
	choice := make([]int, len(changes))
	for i, c := range changes {
		switch r.IntN(3) {
		case 0:
			choice[i] = c.choices() - 1
		case 1:
			choice[i] = r.IntN(c.choices())
		}
	}
	return choice
}

// randomCut returns one thing that a power cut may leave.
func (n *node) randomCut(r *rand.Rand) cut {
	changes := n.unsynced()
	return n.after(changes, randomChoice(changes, r))
}

// hardestCut returns what is left when all that can be lost is.
func (n *node) hardestCut() cut {
	changes := n.unsynced()
	return n.after(changes, make([]int, len(changes)))
}
