package spool

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// MachineWatch follows the claims of one machine. As a Watch does, it holds these in
// memory and not the queue, and a look costs what was committed since the last one.
type MachineWatch struct {
	spool   *Spool
	machine string
	at      position
	claims  map[pool.JobID]pool.Claim
	changed bool        // a claim, since Look was asked last
	slots   bool        // a slot's ad, since SlotsChanged was
	lock    os.FileInfo // as it was before the last look; nil: nothing is known
}

// WatchMachine begins to follow the claims of a machine, in whose name case does not
// matter. The Spool forgets what else it has read.
func (s *Spool) WatchMachine(machine string) (*MachineWatch, error) {
	w := &MachineWatch{spool: s, machine: machine}
	return w, w.restart()
}

// Look tells whether a claim of the machine was made, changed or dropped since it was
// asked last; the first time it is true.
func (w *MachineWatch) Look() (changed bool, err error) {
	lock, quiet := w.quiet()
	if quiet {
		return false, nil
	}
	w.lock = nil
	err = w.spool.follow(&w.at, w.apply, w.restart)
	if err == nil {
		w.lock = lock
		changed, w.changed = w.changed, false
	}
	return changed, err
}

// quiet tells whether nobody has written to the spool since the last look: whoever does
// writes to the lock file too. A file's time is coarse, and one that is not past yet may
// be that of a later write as well.
func (w *MachineWatch) quiet() (lock os.FileInfo, is bool) {
	lock, err := os.Stat(w.spool.path("lock"))
	if err != nil {
		return nil, false
	}
	ago := time.Since(lock.ModTime())
	if ago < settled {
		return nil, false
	}
	is = w.lock != nil && os.SameFile(w.lock, lock) && w.lock.ModTime().Equal(lock.ModTime()) && w.lock.Size() == lock.Size()
	return lock, is
}

// settled is how old a file's time has to be to be told from that of the next write.
const settled = 100 * time.Millisecond

// Claims returns the claims as of the last Look, by ascending job.
func (w *MachineWatch) Claims() []pool.Claim {
	return slices.SortedFunc(maps.Values(w.claims), func(a, b pool.Claim) int { return a.Job.Compare(b.Job) })
}

// SlotsChanged tells whether the ad of any slot of the pool may have changed since this
// was asked last, as of the last Look. Of ads written by hand it knows nothing.
func (w *MachineWatch) SlotsChanged() bool {
	changed := w.slots
	w.slots = false
	return changed
}

// restart reads the claims from the whole spool.
func (w *MachineWatch) restart() error {
	err := w.spool.View(func(v *View) error {
		w.claims, w.changed, w.slots = map[pool.JobID]pool.Claim{}, true, true
		for _, c := range v.Claims() {
			w.take(c, true)
		}
		w.at = w.spool.at
		return nil
	})
	w.spool.forget()
	return err
}

// take takes note of a claim, or that it is no more there.
func (w *MachineWatch) take(c pool.Claim, there bool) {
	_, had := w.claims[c.Job]
	if there && strings.EqualFold(c.Machine, w.machine) {
		w.claims[c.Job] = c
		w.changed = true
	} else if had {
		delete(w.claims, c.Job)
		w.changed = true
	}
}

// apply looks through a transaction for claims and slots.
func (w *MachineWatch) apply(f frame, _ int) error {
	for _, line := range (chunk{text: f.Body}).lines() {
		if len(line) < 2 || line[1] != ' ' {
			continue
		}
		switch line[0] {
		case 'S', 's', 'G', 'g':
			w.slots = true
		case 'K', 'k':
			r, err := parseRecord(line, classad.NewInterner())
			if err != nil {
				return err
			}
			r.Claim.Seq = f.Seq
			w.take(r.Claim, r.Kind == 'K')
		}
	}
	return nil
}
