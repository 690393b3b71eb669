package spool

import (
	"bytes"
	"errors"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Watch follows one claim. It holds that claim in memory and not the queue,
// and a look costs what was committed since the last one: a machine may have
// many supervisors, and the queue may be long.
type Watch struct {
	spool *Spool
	claim pool.Claim
	there bool
	at    position
}

// Watch begins to follow the claim of a job. The Spool forgets what else it
// has read.
func (s *Spool) Watch(id pool.JobID) (*Watch, error) {
	w := &Watch{spool: s, claim: pool.Claim{Job: id}}
	return w, w.restart()
}

// restart reads the claim from the whole spool.
func (w *Watch) restart() error {
	err := w.spool.View(func(v *View) error {
		id := w.claim.Job
		if w.claim, w.there = v.Claim(id); !w.there {
			w.claim = pool.Claim{Job: id}
		}
		w.at = w.spool.at
		return nil
	})
	w.spool.forget()
	return err
}

// Claim returns the claim as of the last complete transaction; false when it
// is gone.
func (w *Watch) Claim() (pool.Claim, bool, error) {
	current, err := w.spool.current()
	if err != nil {
		return w.claim, w.there, err
	}
	var damage *DamageError
	if current.Generation == w.at.generation {
		err = w.spool.advance(&w.at, current, w.apply)
	}
	if current.Generation != w.at.generation || errors.As(err, &damage) {
		err = w.restart() // folded away meanwhile, perhaps
	}
	return w.claim, w.there, err
}

// apply looks through a transaction for the claim.
func (w *Watch) apply(f frame, _ int) error {
	name := []byte(w.claim.Job.String())
	for _, line := range (chunk{text: f.Body}).lines() {
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
