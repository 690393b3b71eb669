package spool

import (
	"bytes"
	"maps"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Only returns a view of the same transaction that is cheap to go through for a few
// attributes: its clusters and runs have those that are named, and of the others some
// or none. What is named has the value that it has in the view itself, for every proc:
// a cluster with an expression among these attributes is made whole. Where all clusters
// were looked at already, it is the view itself.
//
// Blocks are checked as ever, but lines that are left out are not read. It is for a look
// at the queue: in a transaction, what changes later does not show.
func (v *View) Only(attributes []string) *View {
	s := *v.state()
	if s.jobs.listed {
		return v
	}
	if v.hides() {
		attributes = append([]string{pool.AttrOwner}, attributes...)
	}
	wanted := newWanted(attributes)
	b := *s.jobs
	b.pending, b.made = maps.Clone(b.pending), maps.Clone(b.made)
	b.build = func(w *worker, id int, parts []chunk) (*Cluster, error) {
		c, err := clusterWith(w, id, parts, wanted)
		if err == nil && c != nil && wanted.varies(c) {
			return clusterOf(w, id, parts)
		}
		return c, err
	}
	s.jobs = &b
	return &View{spool: v.spool, loaded: &s, seq: v.seq, next: v.next, writes: v.writes, listed: v.listed}
}

// wanted is the attributes that are asked for; nil stands for all.
type wanted struct {
	names []*classad.Name
	// By the length of a name: the names, and with which letters they begin and end.
	long        [longName][]string
	first, last [longName]uint32
}

// longName is how long a name is that is taken without a look.
const longName = 64

func newWanted(attributes []string) *wanted {
	w := new(wanted)
	for _, name := range attributes {
		w.names = append(w.names, classad.NewName(name))
		if n := len(name); n > 0 && n < longName {
			w.long[n] = append(w.long[n], name)
			w.first[n] |= letter(name[0])
			w.last[n] |= letter(name[n-1])
		}
	}
	return w
}

// letter returns a bit for a letter in either case.
func letter(c byte) uint32 { return 1 << (c & 0x1f) }

// take tells whether a line "Name = expression" has to be read: it names what is wanted,
// or is not plain enough to tell.
func (w *wanted) take(line []byte) bool {
	if w == nil {
		return true
	}
	n := bytes.IndexByte(line, ' ')
	if n <= 0 || n >= longName || line[0] == '"' {
		return true
	}
	if w.first[n]&letter(line[0]) == 0 || w.last[n]&letter(line[n-1]) == 0 {
		return false
	}
	for _, name := range w.long[n] {
		if string(line[:n]) == name || strings.EqualFold(string(line[:n]), name) {
			return true
		}
	}
	return false
}

// varies tells whether one of the attributes is an expression for some proc.
func (w *wanted) varies(c *Cluster) bool {
	for _, run := range c.Runs {
		for _, name := range w.names {
			if _, e, _ := run.Ad.Get(name); e != nil {
				return true
			}
		}
	}
	return false
}
