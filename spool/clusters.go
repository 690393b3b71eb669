package spool

import (
	"bytes"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// newCluster returns a cluster without procs.
func newCluster(id int) *Cluster {
	c := &Cluster{ID: id, Ad: classad.New()}
	c.Ad.SetInt(pool.AttrClusterID, int64(id))
	return c
}

// clusterOf makes a cluster from its lines; nil if all of its procs have left.
func clusterOf(w *worker, id int, parts []chunk) (*Cluster, error) {
	return clusterWith(w, id, parts, nil)
}

// clusterWith makes it with the attributes that are wanted, and perhaps others.
func clusterWith(w *worker, id int, parts []chunk, wanted *wanted) (*Cluster, error) {
	m := clusterMaking{worker: w, wanted: wanted, head: append(strconv.AppendInt([]byte("C "), int64(id), 10), ' ')}
	if err := m.begin(id); err != nil {
		return nil, err
	}
	for _, part := range parts {
		for n, line := range part.lines() {
			if err := m.line(line, part.seq); err != nil {
				return nil, part.damaged(n, err)
			}
		}
	}
	if err := m.end(); err != nil {
		return nil, parts[len(parts)-1].damaged(0, err)
	}
	if len(m.Runs) == 0 {
		return nil, nil
	}
	return m.Cluster, nil
}

// clusterMaking is a cluster in the making. As long as its Ad is nil, the ad is
// the worker's; so is that of the run whose lines begin with own.
type clusterMaking struct {
	*worker
	*Cluster
	wanted *wanted
	head   []byte // of a line about the cluster's ad

	run record // the N of the run in the making; Kind 0: none
	seq uint64
	own []byte // of a line about this run
}

// begin begins the cluster, also once more when all of its procs have left.
func (m *clusterMaking) begin(id int) error {
	m.Cluster = &Cluster{ID: id}
	m.ads.Begin()
	return m.ads.Set(pool.AttrClusterID, strconv.AppendInt(nil, int64(id), 10))
}

func (m *clusterMaking) line(line []byte, seq uint64) error {
	if line[0] == 'Y' { // which has nothing to do with its ads
		r, err := parseRecord(line, m.expressions)
		if err == nil {
			err = m.apply(r, seq)
		}
		return err
	}
	if m.Ad == nil {
		if rest, ok := bytes.CutPrefix(line, m.head); ok {
			if !m.wanted.take(rest) {
				return nil
			}
			return setLine(m.ads, rest)
		}
		m.Ad = m.ads.Finish()
	}
	if m.run.Kind != 0 && seq == m.seq {
		if rest, ok := bytes.CutPrefix(line, m.own); ok {
			if !m.wanted.take(rest) {
				return nil
			}
			return setLine(m.runs, rest)
		}
	}
	if err := m.end(); err != nil {
		return err
	}
	r, err := parseRecord(line, m.expressions)
	if err != nil {
		return err
	}
	if r.Kind != 'N' {
		err := m.apply(r, seq)
		if err == nil && r.Kind == 'L' && len(m.Runs) == 0 {
			err = m.begin(m.ID)
		}
		return err
	}
	m.run, m.seq = r, seq
	m.own = append(append(m.own[:0], 'A'), line[1:]...)
	if r.Seq != 0 { // the number behind the procs
		m.own = m.own[:bytes.LastIndexByte(m.own, ' ')]
	}
	m.own = append(m.own, ' ')
	m.runs.Begin()
	return nil
}

// end finishes what is in the making.
func (m *clusterMaking) end() error {
	if m.Ad == nil {
		m.Ad = m.ads.Finish()
	}
	if m.run.Kind == 0 {
		return nil
	}
	r := m.run
	m.run.Kind = 0
	return m.add(r, m.seq, m.runs.Finish())
}

// clusterBlock appends the lines that make a cluster.
func clusterBlock(b []byte, c *Cluster) []byte {
	for _, name := range c.Ad.OwnNames() {
		e, _ := c.Ad.Lookup(name)
		if v, _ := e.Constant(); name == pool.AttrClusterID && v.String() == strconv.Itoa(c.ID) {
			continue // every cluster has it from the start
		}
		b = record{Kind: 'C', Procs: pool.Procs{Cluster: c.ID}, Name: name, Expr: e}.append(b)
	}
	if c.owner != "" {
		b = record{Kind: 'Y', Procs: pool.Procs{Cluster: c.ID}, Name: c.owner, End: c.bytes}.append(b)
	}
	for _, run := range c.Runs {
		b = record{Kind: 'N', Procs: run.Procs, Seq: run.Seq}.append(b)
		for _, name := range run.Ad.OwnNames() {
			e, _ := run.Ad.Lookup(name)
			b = record{Kind: 'A', Procs: run.Procs, Name: name, Expr: e}.append(b)
		}
	}
	return b
}

// clusterEntry is the line of the index about a cluster.
func clusterEntry(c *Cluster) entry[int] {
	return entry[int]{key: c.ID, jobs: c.jobs(), owner: c.common(pool.AttrOwner), user: c.common(pool.AttrUser)}
}

// common returns the text, quoted, that an attribute is for all of the
// cluster's procs, empty if none has it, and - if they differ or it is no
// constant text.
func (c *Cluster) common(name string) string {
	for _, run := range c.Runs {
		for _, own := range run.Ad.OwnNames() {
			if strings.EqualFold(own, name) {
				return unknown
			}
		}
	}
	e, ok := c.Ad.Lookup(name)
	if !ok {
		return `""`
	}
	v, _ := e.Constant()
	text, ok := v.Text()
	if !ok {
		return unknown
	}
	return strconv.Quote(text)
}

// unknown stands in an index for a text that one has to look up.
const unknown = "-"
