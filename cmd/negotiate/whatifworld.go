package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// world is what a cycle looks at: a copy of the spool's, which changes are tried on.
// It is as good as the view that it was taken of.
type world struct {
	asked    []negotiator.Procs // that the plan has the analysis of
	compared bool               // the plan tells where all jobs stand
	config   config.Config
	now      time.Time
	domain   string // of the spool
	queue    *spool.View
	pool     negotiator.Pool
	next     int // the next cluster
	// Clusters from firstNew on are those that changes added; gone are jobs that they
	// removed.
	firstNew int
	gone     []negotiator.Procs
	// Once one of them is changed, records and claims count instead of the pool's.
	records map[string]accountant.Record
	claims  map[pool.JobID]pool.Claim
	// The tallies, once somebody asks for one; at is by which clock their times are told.
	tallies map[accountant.Key]accountant.Tally
	at      accountant.Reading
}

// newWorld returns the world as it is now, but for groups' names, which are as the
// configuration spells them: a cycle would see to that first.
func newWorld(c *cmdline.Call, v *spool.View, seen operation.Snapshot, domain string) *world {
	w := &world{config: *c.Config, now: c.Now, at: c.Reading(), domain: domain, queue: v, pool: seen.Pool, next: 1}
	w.pool.Slots = slices.Clone(seen.Pool.Slots)
	w.pool.Jobs, w.pool.Held, w.pool.Running = slices.Clone(seen.Pool.Jobs), slices.Clone(seen.Pool.Held), slices.Clone(seen.Pool.Running)
	if list := v.Clusters(); len(list) > 0 {
		w.next = list[len(list)-1].ID + 1
	}
	w.firstNew = w.next
	if seen.Misspelt(w.config.Groups) {
		operation.Respell(w, w.now, operation.Params(&w.config))
	}
	return w
}

// own makes records and claims those that count.
func (w *world) own() {
	if w.records != nil {
		return
	}
	w.records = make(map[string]accountant.Record, len(w.pool.Submitters))
	for _, r := range w.pool.Submitters {
		w.records[r.Name] = r
	}
	w.claims = make(map[pool.JobID]pool.Claim, len(w.pool.Claims))
	for _, cl := range w.pool.Claims {
		w.claims[cl.Job] = cl
	}
}

// ownTallies reads the tallies, which count from then on.
func (w *world) ownTallies() {
	if w.tallies != nil {
		return
	}
	w.tallies = map[accountant.Key]accountant.Tally{}
	for _, y := range operation.Tallies(w.queue, w.at) {
		w.tallies[y.Key] = y
	}
}

// cycle runs the cycle on the world.
func (w *world) cycle() (*negotiator.Plan, error) {
	cfg, err := settings(&w.config)
	if err != nil {
		return nil, err
	}
	p := w.pool
	p.Submitters, p.Claims = w.Submitters(), w.Claims()
	p.Held, p.Running = w.beside()
	cfg.Queue = operation.Queue(&w.config, operation.Sources{
		Slots: func() []pool.Slot { return w.pool.Slots }, Claims: w.Claims, Tallies: w.Tallies, Now: w.now,
	})
	cfg.Explain, cfg.Standings = w.asked, w.compared
	return negotiator.Cycle(p, cfg, w.now), nil
}

// beside returns the jobs that the configuration makes the cycle look at besides the idle
// ones. Running are those that still have claims.
func (w *world) beside() (held []negotiator.Job, running []jobprio.Running) {
	b := operation.BesideOf(&w.config)
	if b.Held {
		held = w.pool.Held
	}
	if !b.Running {
		return held, nil
	}
	claimed := map[pool.JobID]bool{}
	for _, c := range w.Claims() {
		claimed[c.Job] = true
	}
	for _, r := range w.pool.Running {
		if claimed[r.First] {
			running = append(running, r)
		}
	}
	return held, running
}

// Submitters, Submitter, PutSubmitter and DropSubmitter, Claims and PutClaim, Tally,
// Tallies and PutTally do as those of a transaction.

func (w *world) Submitters() []accountant.Record {
	if w.records == nil {
		return w.pool.Submitters
	}
	list := make([]accountant.Record, 0, len(w.records))
	for _, name := range slices.Sorted(maps.Keys(w.records)) {
		list = append(list, w.records[name])
	}
	return list
}

func (w *world) Submitter(name string) (accountant.Record, bool) {
	w.own()
	r, ok := w.records[name]
	if !ok {
		r.Name = name
	}
	return r, ok
}

func (w *world) PutSubmitter(r accountant.Record) {
	w.own()
	w.records[r.Name] = r
}

func (w *world) DropSubmitter(name string) {
	w.own()
	delete(w.records, name)
}

func (w *world) Claims() []pool.Claim {
	if w.records == nil {
		return w.pool.Claims
	}
	list := make([]pool.Claim, 0, len(w.claims))
	for _, id := range slices.SortedFunc(maps.Keys(w.claims), pool.JobID.Compare) {
		list = append(list, w.claims[id])
	}
	return list
}

func (w *world) PutClaim(c pool.Claim) {
	w.own()
	w.claims[c.Job] = c
}

// end ends a claim, and what is charged for it.
func (w *world) end(c pool.Claim) {
	w.own()
	charge := accountant.Charge{Submitter: c.Submitter, Weight: c.Weight, By: c.By}
	switch p := operation.Params(&w.config); c.State {
	case pool.Matched, pool.Promised:
		charge.GiveBack(w, c.ChargedFrom(), w.now, p)
	case pool.RunningClaim:
		charge.End(w, c.ChargedFrom(), w.now, p)
	}
	delete(w.claims, c.Job)
	if next, ok := w.claims[c.PromisedTo]; ok && c.Promises(next) {
		w.claims[next.Job] = next.Kept(w.now)
	}
}

func (w *world) Tally(k accountant.Key) (accountant.Tally, bool) {
	w.ownTallies()
	y, ok := w.tallies[k]
	if !ok {
		y.Key = k
	}
	return y, ok
}

func (w *world) Tallies() []accountant.Tally {
	w.ownTallies()
	list := make([]accountant.Tally, 0, len(w.tallies))
	for _, k := range slices.SortedFunc(maps.Keys(w.tallies), accountant.Key.Compare) {
		list = append(list, w.tallies[k])
	}
	return list
}

func (w *world) PutTally(y accountant.Tally) {
	w.ownTallies()
	w.tallies[y.Key] = y
}

// submitter returns whose a job is.
func (w *world) submitter(ad *classad.Ad) string {
	return operation.Submitter(ad, w.domain, w.config.Groups)
}

// slot returns the place of a slot's ad.
func (w *world) slot(name string) (int, bool) {
	i := slices.IndexFunc(w.pool.Slots, func(s pool.Slot) bool { return s.Name == name })
	return i, i >= 0
}

// slotNames returns all names of slots' ads.
func (w *world) slotNames() []string {
	names := make([]string, len(w.pool.Slots))
	for i, s := range w.pool.Slots {
		names[i] = s.Name
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
