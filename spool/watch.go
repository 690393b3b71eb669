package spool

import (
	"bytes"
	"errors"
	"strconv"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Watch follows one claim, and some attributes of its job. It holds that in memory
// and not the queue, and a look costs what was committed since the last one: a
// machine may have many supervisors, and the queue may be long.
type Watch struct {
	spool *Spool
	claim pool.Claim
	there bool
	at    position

	names []string // attributes
	exprs string   // what they were when the whole spool was read last
	set   bool     // one of them was set or lost since Changed was asked last
}

// Watch begins to follow the claim of a job and its attributes of these names, which
// were as in known when the caller looked last; where known is nil they are not
// followed. What else the Spool has read for that it keeps until Close.
func (s *Spool) Watch(id pool.JobID, known *classad.Ad, names ...string) (*Watch, error) {
	w := &Watch{spool: s, claim: pool.Claim{Job: id}}
	if known != nil {
		w.names, w.exprs = names, textOf(known, names)
	}
	return w, w.restart()
}

// Changed tells whether one of the attributes was set or lost, as far as Claim has
// looked, since this was asked last.
func (w *Watch) Changed() bool {
	set := w.set
	w.set = false
	return set
}

// restart reads the claim and the attributes from the whole spool.
func (w *Watch) restart() error {
	return w.spool.View(func(v *View) error {
		id := w.claim.Job
		if w.claim, w.there = v.Claim(id); !w.there {
			w.claim = pool.Claim{Job: id}
		}
		w.at = w.spool.at
		if ad, ok := v.Job(id); ok && len(w.names) > 0 {
			exprs := textOf(ad, w.names)
			w.set = w.set || exprs != w.exprs
			w.exprs = exprs
		}
		return nil
	})
}

// Claim returns the claim as of the last complete transaction; false when it
// is gone.
func (w *Watch) Claim() (pool.Claim, bool, error) {
	err := w.spool.follow(&w.at, w.apply, w.restart)
	return w.claim, w.there, err
}

// follow hands the transactions behind a position to apply. Where its generation was
// folded away meanwhile, restart reads the whole spool instead.
func (s *Spool) follow(at *position, apply func(f frame, line int) error, restart func() error) error {
	current, err := s.current()
	if err != nil {
		return err
	}
	var damage *DamageError
	if current.Generation == at.generation {
		err = s.advance(at, current, apply)
	}
	if current.Generation != at.generation || errors.As(err, &damage) {
		err = restart()
	}
	return err
}

// textOf writes attributes of an ad, those that it has, one a line.
func textOf(ad *classad.Ad, names []string) string {
	var b []byte
	for _, name := range names {
		if e, ok := ad.Lookup(name); ok {
			b = append(appendAttribute(b, name, e), '\n')
		}
	}
	return string(b)
}

// apply looks through a transaction for the claim and the attributes.
func (w *Watch) apply(f frame, _ int) error {
	name := []byte(w.claim.Job.String())
	cluster := append(strconv.AppendInt([]byte(" "), int64(w.claim.Job.Cluster), 10), ' ')
	for _, line := range (chunk{text: f.Body}).lines() {
		if len(w.names) > 0 && len(line) > 0 && (line[0] == 'A' || line[0] == 'D') && bytes.HasPrefix(line[1:], cluster) {
			if err := w.applySet(line); err != nil {
				return err
			}
			continue
		}
		if !bytes.HasPrefix(line, []byte("K ")) && !bytes.HasPrefix(line, []byte("k ")) || !bytes.Contains(line, name) {
			continue
		}
		r, err := parseRecord(line, classad.NewInterner())
		if err != nil {
			return err
		}
		if r.Claim.Job == w.claim.Job {
			w.claim, w.there = r.Claim, r.Kind == 'K'
			w.claim.Seq = f.Seq
		}
	}
	return nil
}

// applySet takes note of an attribute that procs of the job's cluster get or lose. Most
// such lines are of other procs: no more of them is read than that.
func (w *Watch) applySet(line []byte) error {
	var r record
	rest, err := r.procs(line[len("A "):])
	if proc := w.claim.Job.Proc; err != nil || proc < r.First || r.Last < proc {
		return err
	}
	name, _, err := parseName(rest)
	w.set = w.set || caseless.Contains(w.names, name)
	return err
}
