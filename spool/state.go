package spool

import (
	"bytes"
	"fmt"
	"slices"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// state is the spool in memory, as of one transaction. It is built only by
// apply, from records that were read or are about to be written, so that what
// a transaction sees of its own changes is what everybody reads later.
type state struct {
	clusters    []*Cluster // ascending
	byID        map[int]*Cluster
	claims      map[pool.JobID]pool.Claim
	submitters  map[string]accountant.Record
	slots       map[string]pool.Slot
	backoffs    map[string]pool.Backoff
	history     map[string]int64 // month -> end of its file
	jobs        int
	expressions *classad.Interner
}

func newState() *state {
	return &state{
		byID:        map[int]*Cluster{},
		claims:      map[pool.JobID]pool.Claim{},
		submitters:  map[string]accountant.Record{},
		slots:       map[string]pool.Slot{},
		backoffs:    map[string]pool.Backoff{},
		history:     map[string]int64{},
		expressions: classad.NewInterner(),
	}
}

// applyBody applies the lines of transaction seq.
func (s *state) applyBody(body []byte, seq uint64) error {
	for n := 1; len(body) > 0; n++ {
		line, rest, _ := bytes.Cut(body, newline)
		body = rest
		r, err := parseRecord(line, s.expressions)
		if err == nil {
			err = s.apply(r, seq)
		}
		if err != nil {
			return &lineError{n, err}
		}
	}
	return nil
}

// lineError says in which line behind the T line a record is wrong.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

// apply makes one record's change.
func (s *state) apply(r record, seq uint64) error {
	switch r.Kind {
	case 'C':
		s.cluster(r.Cluster).Ad.Set(r.Name, r.Expr)
	case 'N':
		return s.addProcs(r, seq)
	case 'A', 'D':
		c := s.byID[r.Cluster]
		if c == nil {
			return fmt.Errorf("cluster %d: not in the queue", r.Cluster)
		}
		return c.change(r, seq)
	case 'L':
		return s.leave(r)
	case 'K':
		r.Claim.Seq = seq
		s.claims[r.Claim.Job] = r.Claim
	case 'k':
		delete(s.claims, r.Claim.Job)
	case 'U':
		s.submitters[r.Submitter.Name] = r.Submitter
	case 'u':
		delete(s.submitters, r.Name)
	case 'S':
		s.slots[r.Slot] = pool.Slot{Name: r.Slot, Ad: classad.New(), Seq: seq}
	case 'G', 'g':
		return s.changeSlot(r, seq)
	case 's':
		delete(s.slots, r.Slot)
	case 'B':
		s.backoffs[r.Backoff.Slot] = r.Backoff
	case 'b':
		delete(s.backoffs, r.Name)
	case 'H':
		s.history[r.Name] = r.End
	default:
		return fmt.Errorf("record of unknown kind %q", r.Kind)
	}
	return nil
}

// cluster returns the cluster, made at its first mention.
func (s *state) cluster(id int) *Cluster {
	c := s.byID[id]
	if c == nil {
		c = &Cluster{ID: id, Ad: classad.New()}
		c.Ad.SetInt(pool.AttrClusterID, int64(id))
		s.byID[id] = c
		s.clusters = append(s.clusters, c) // ids only grow
	}
	return c
}

func (s *state) addProcs(r record, seq uint64) error {
	c := s.cluster(r.Cluster)
	if n := len(c.Runs); n > 0 && c.Runs[n-1].Last >= r.First {
		return fmt.Errorf("procs %d-%d of cluster %d: there already", r.First, r.Last, r.Cluster)
	}
	c.Runs = append(c.Runs, Run{First: r.First, Last: r.Last, Ad: classad.New().Chain(c.Ad), Seq: seq, own: true})
	s.jobs += r.Last - r.First + 1
	return nil
}

// leave takes procs, and a cluster without procs, out of the queue.
func (s *state) leave(r record) error {
	c := s.byID[r.Cluster]
	if c == nil {
		return fmt.Errorf("cluster %d: not in the queue", r.Cluster)
	}
	from, to, err := c.span(r.First, r.Last)
	if err != nil {
		return err
	}
	c.Runs = without(c.Runs, from, to)
	s.jobs -= r.Last - r.First + 1
	if len(c.Runs) == 0 {
		delete(s.byID, c.ID)
		i, _ := s.find(c.ID)
		s.clusters = without(s.clusters, i, i+1)
	}
	return nil
}

// without removes list[from:to]. Jobs mostly leave in their order, so taking
// away the head must not move the rest.
func without[T any](list []T, from, to int) []T {
	if from == 0 {
		clear(list[:to])
		return list[to:]
	}
	return slices.Delete(list, from, to)
}

// changeSlot sets or removes an attribute of a slot's ad. An ad of an earlier
// transaction may be in somebody's hands and is copied.
func (s *state) changeSlot(r record, seq uint64) error {
	slot, ok := s.slots[r.Slot]
	if !ok {
		return fmt.Errorf("slot %s: not advertised", r.Slot)
	}
	if slot.Seq != seq {
		slot.Ad, slot.Seq = slot.Ad.Clone(), seq
		s.slots[r.Slot] = slot
	}
	if r.Kind == 'G' {
		slot.Ad.Set(r.Name, r.Expr)
	} else {
		slot.Ad.Delete(r.Name)
	}
	return nil
}
