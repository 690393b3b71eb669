package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/attrtext"
	"fairspool/spool/internal/files"
)

// Watch follows one claim, and some attributes of its job. It holds that in memory and not the queue, and a look costs what was committed
// since the last one: a machine may have many supervisors, and the queue may be long.
type Watch struct {
	spool *Spool
	claim pool.Claim
	there bool
	at    position

	names []string // attributes
	exprs string   // what they were when the whole spool was read last
	set   bool     // one of them was set or lost since Changed was asked last
}

// Watch begins to follow the claim of a job and its attributes of these names, which were as in known when the caller looked last; where
// known is nil they are not followed. What else the Spool has read for that it keeps until Close.
func (s *Spool) Watch(id pool.JobID, known *classad.Ad, names ...string) (*Watch, error) {
	w := &Watch{spool: s, claim: pool.Claim{Job: id}}
	if known != nil {
		w.names, w.exprs = names, textOf(known, names)
	}
	return w, w.restart()
}

// Changed reports whether one of the attributes was set or lost, as far as Claim has looked, since this was asked last.
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

// Claim returns the claim as of the last complete transaction; false when it is gone.
func (w *Watch) Claim() (pool.Claim, bool, error) {
	err := w.spool.follow(&w.at, w.apply, w.restart)
	return w.claim, w.there, err
}

// follow hands the transactions behind a position to apply. Where its generation was folded away meanwhile, restart reads the whole spool
// instead.
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
			b = append(attrtext.Append(b, name, e), '\n')
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
		if c, there := claimIn(r, f.Seq); c.Job == w.claim.Job {
			w.claim, w.there = c, there
		}
	}
	return nil
}

// claimIn returns the claim that a record of a transaction makes, or the job whose claim is gone.
func claimIn(r record, seq uint64) (c pool.Claim, there bool) {
	if c, there = r.Row.(pool.Claim); there {
		c.Seq = seq
		return c, true
	}
	return pool.Claim{Job: r.Key.(pool.JobID)}, false
}

// applySet takes note of an attribute that procs of the job's cluster get or lose. Most such lines are of other procs: no more of them is
// read than that.
func (w *Watch) applySet(line []byte) error {
	var r record
	rest, err := r.procs(line[len("A "):])
	if proc := w.claim.Job.Proc; err != nil || proc < r.First || r.Last < proc {
		return err
	}
	name, _, err := attrtext.ParseName(rest)
	w.set = w.set || caseless.Contains(w.names, name)
	return err
}

// ErrWatching says that another process watches over a machine.
var ErrWatching error = busy("another process is watching")

// Watching runs fn while no other process watches over this machine, in whose name case does not matter, and fails with ErrWatching, which
// is an ErrLocked, when one does.
func (s *Spool) Watching(machine string, fn func() error) error {
	name := WatchLock(machine)
	began := false
	err := s.locked(name, 0, func(files.File) error {
		began = true
		return fn()
	})
	if !began && errors.Is(err, ErrLocked) {
		return fmt.Errorf("%w %s: %s", ErrWatching, machine, s.holder(filepath.Join(s.dir, name)))
	}
	return err
}

// WatchLock returns the name of a machine's file: its lock while a process watches over the machine, and by its modification time when a
// starter has last looked after it.
func WatchLock(machine string) string {
	return "watch." + url.PathEscape(strings.ToLower(machine)) + ".lock"
}

// NoteServed notes that a starter looks after a machine now, in whose name case does not matter.
func (s *Spool) NoteServed(machine string) error {
	path, now := s.path(WatchLock(machine)), time.Now()
	err := os.Chtimes(path, now, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := s.files.Open(path, files.ReadWrite|files.Create, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Served returns when starters have last looked after machines, by the machine's clock and the machines' names in lower case.
func (s *Spool) Served() (map[string]time.Time, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	at := map[string]time.Time{}
	for _, e := range entries {
		name, is := strings.CutPrefix(e.Name(), "watch.")
		name, ends := strings.CutSuffix(name, ".lock")
		machine, bad := url.PathUnescape(name)
		if info, err := e.Info(); is && ends && bad == nil && err == nil {
			at[machine] = info.ModTime()
		}
	}
	return at, nil
}

// MachineWatch follows the claims of one machine. As a Watch does, it holds these in memory and not the queue, and a look costs what was
// committed since the last one.
type MachineWatch struct {
	spool   *Spool
	machine string
	at      position
	names   []string // attributes of jobs that are followed, too
	claims  map[pool.JobID]pool.Followed
	changed bool        // a claim, since Look was asked last
	touched Touched     // since it was asked for last
	slots   bool        // a slot's ad, since SlotsChanged was
	lock    os.FileInfo // as it was before the last look; nil: nothing is known
}

// Touched are jobs with claims of a machine.
type Touched struct {
	Claims map[pool.JobID]bool // their claims were made, changed or dropped
	Edited map[pool.JobID]bool // attributes of theirs that are followed were set or lost, or may have been
}

// WatchMachine begins to follow the claims of a machine, in whose name case does not matter, and attributes of their jobs. The Spool
// forgets what else it has read.
func (s *Spool) WatchMachine(machine string, attributes ...string) (*MachineWatch, error) {
	w := &MachineWatch{spool: s, machine: machine, names: attributes}
	w.Touched()
	return w, w.restart()
}

// Touched returns the jobs that were touched since it was asked last, as of the last Look; the first time all.
func (w *MachineWatch) Touched() Touched {
	t := w.touched
	w.touched = Touched{map[pool.JobID]bool{}, map[pool.JobID]bool{}}
	return t
}

// Claim returns the claim of a job as of the last Look, false if it is not of the machine.
func (w *MachineWatch) Claim(id pool.JobID) (pool.Followed, bool) {
	c, ok := w.claims[id]
	return c, ok
}

// Look reports whether a claim of the machine was made, changed or dropped since it was asked last; the first time it is true.
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

// quiet reports whether the spool was not written to since the last look: every writer writes to the lock file, too. A file's time is
// coarse, and one that is not past yet may be that of a later write as well.
func (w *MachineWatch) quiet() (lock os.FileInfo, is bool) {
	lock, err := os.Stat(w.spool.path("lock"))
	if err != nil || time.Since(lock.ModTime()) < settled {
		return nil, false
	}
	is = w.lock != nil && os.SameFile(w.lock, lock) && w.lock.ModTime().Equal(lock.ModTime()) && w.lock.Size() == lock.Size()
	return lock, is
}

// settled is how old a file's time has to be to be told from that of the next write.
const settled = 100 * time.Millisecond

// Claims returns the claims as of the last Look, by ascending job.
func (w *MachineWatch) Claims() []pool.Followed {
	return slices.SortedFunc(maps.Values(w.claims), func(a, b pool.Followed) int { return a.Job.Compare(b.Job) })
}

// Len returns the number of claims as of the last Look.
func (w *MachineWatch) Len() int { return len(w.claims) }

// SlotsChanged reports whether the ad of any slot of the pool may have changed since this was asked last, as of the last Look. Of ads
// written by hand it knows nothing.
func (w *MachineWatch) SlotsChanged() bool {
	changed := w.slots
	w.slots = false
	return changed
}

// restart reads the claims from the whole spool.
func (w *MachineWatch) restart() error {
	err := w.spool.View(func(v *View) error {
		for id := range w.claims {
			w.touched.Claims[id] = true
		}
		w.claims, w.changed, w.slots = map[pool.JobID]pool.Followed{}, true, true
		for _, c := range v.Claims() {
			w.take(c, true)
		}
		for id := range w.claims {
			w.touched.Edited[id] = true
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
		w.claims[c.Job] = c.Followed()
	} else if had {
		delete(w.claims, c.Job)
	} else {
		return
	}
	w.changed, w.touched.Claims[c.Job] = true, true
}

// edit takes note of attributes that jobs with claims get or lose.
func (w *MachineWatch) edit(line []byte) error {
	var r record
	rest, err := r.procs(line[len("A "):])
	if err != nil {
		return err
	}
	if name, _, err := attrtext.ParseName(rest); err != nil || !caseless.Contains(w.names, name) {
		return err
	}
	for id := range w.claims {
		if id.Cluster == r.Cluster && r.First <= id.Proc && id.Proc <= r.Last {
			w.touched.Edited[id] = true
		}
	}
	return nil
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
		case 'A', 'D':
			if len(w.names) == 0 {
				continue
			}
			if err := w.edit(line); err != nil {
				return err
			}
		case 'K', 'k':
			r, err := parseRecord(line, classad.NewInterner())
			if err != nil {
				return err
			}
			w.take(claimIn(r, f.Seq))
		}
	}
	return nil
}
