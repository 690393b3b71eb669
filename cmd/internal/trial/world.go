// Package trial tries on a copy of a spool's jobs, slots and accounts what is never committed:
// the changes of a what-if, and the course of the cycles to come.
package trial

import (
	"maps"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// World is what a cycle looks at: a copy of the spool's, which changes are tried on.
// It is as good as the view that it was taken of.
type World struct {
	Config config.Config
	Now    time.Time
	Domain string // of the spool
	Queue  *spool.View
	Pool   negotiator.Pool
	// Once one of them is changed, records and claims count instead of the pool's.
	records map[string]accountant.Record
	claims  map[pool.JobID]pool.Claim
	tallies map[accountant.Key]accountant.Tally // once one is asked for
}

// New returns the world as it is now, but for groups' names, which are as the
// configuration spells them: a cycle would see to that first.
func New(c *cmdline.Call, v *spool.View, seen operation.Snapshot, domain string) *World {
	w := &World{Config: *c.Config, Now: c.Now, Domain: domain, Queue: v, Pool: seen.Pool}
	w.Pool.Slots = slices.Clone(seen.Pool.Slots)
	w.Pool.Jobs, w.Pool.Held, w.Pool.Running = slices.Clone(seen.Pool.Jobs), slices.Clone(seen.Pool.Held), slices.Clone(seen.Pool.Running)
	if seen.Misspelt(w.Config.Groups) {
		operation.Respell(w, w.Now, w.Config.Params)
	}
	return w
}

// own makes records and claims those that count.
func (w *World) own() {
	if w.records != nil {
		return
	}
	w.records = make(map[string]accountant.Record, len(w.Pool.Submitters))
	for _, r := range w.Pool.Submitters {
		w.records[r.Name] = r
	}
	w.claims = make(map[pool.JobID]pool.Claim, len(w.Pool.Claims))
	for _, cl := range w.Pool.Claims {
		w.claims[cl.Job] = cl
	}
}

// ownTallies reads the tallies, which count from then on.
func (w *World) ownTallies() {
	if w.tallies != nil {
		return
	}
	w.tallies = map[accountant.Key]accountant.Tally{}
	for _, y := range w.Queue.Tallies() {
		w.tallies[y.Key] = y
	}
}

// Cycle runs the cycle on the world. It explains the jobs that are asked about, and says where
// all stand if that is wanted.
func (w *World) Cycle(asked []pool.Procs, standings bool) (*negotiator.Plan, error) {
	p, cfg, err := w.snapshot()
	if err != nil {
		return nil, err
	}
	cfg.Explain, cfg.Standings = asked, standings
	return negotiation.Cycle(p, cfg, w.Now), nil
}

// snapshot returns what a cycle takes.
func (w *World) snapshot() (p negotiator.Pool, cfg negotiator.Config, err error) {
	if cfg, err = operation.CycleConfig(&w.Config); err != nil {
		return p, cfg, err
	}
	p = w.Pool
	p.Submitters, p.Claims = w.Submitters(), w.Claims()
	p.Held, p.Running = w.beside()
	cfg.Queue = registry.Of(&w.Config).Queue(&w.Config, policy.Sources{
		Slots: func() []pool.Slot { return w.Pool.Slots }, Claims: w.Claims, Tallies: w.Tallies, Now: w.Now,
	})
	return p, cfg, nil
}

// beside returns the jobs that the configuration makes the cycle look at besides the idle
// ones. Running are those that still have claims.
func (w *World) beside() (held []jobprio.Run, running []jobprio.Running) {
	b := registry.Of(&w.Config).Beside(&w.Config)
	if b.Held {
		held = w.Pool.Held
	}
	if !b.Running {
		return held, nil
	}
	claimed := map[pool.JobID]bool{}
	for _, c := range w.Claims() {
		claimed[c.Job] = true
	}
	for _, r := range w.Pool.Running {
		if claimed[r.FirstJob()] {
			running = append(running, r)
		}
	}
	return held, running
}

// Submitters, Submitter, PutSubmitter and DropSubmitter, Claims and PutClaim, Tally,
// Tallies and PutTally do as those of a transaction.

func (w *World) Submitters() []accountant.Record {
	if w.records == nil {
		return w.Pool.Submitters
	}
	list := make([]accountant.Record, 0, len(w.records))
	for _, name := range slices.Sorted(maps.Keys(w.records)) {
		list = append(list, w.records[name])
	}
	return list
}

func (w *World) Submitter(name string) (accountant.Record, bool) {
	w.own()
	r, ok := w.records[name]
	if !ok {
		r.Name = name
	}
	return r, ok
}

func (w *World) PutSubmitter(r accountant.Record) {
	w.own()
	w.records[r.Name] = r
}

func (w *World) DropSubmitter(name string) {
	w.own()
	delete(w.records, name)
}

func (w *World) Claims() []pool.Claim {
	if w.records == nil {
		return w.Pool.Claims
	}
	list := make([]pool.Claim, 0, len(w.claims))
	for _, id := range slices.SortedFunc(maps.Keys(w.claims), pool.JobID.Compare) {
		list = append(list, w.claims[id])
	}
	return list
}

func (w *World) PutClaim(c pool.Claim) {
	w.own()
	w.claims[c.Job] = c
}

// End ends a claim, and what is charged for it.
func (w *World) End(c pool.Claim) {
	w.own()
	charge := accountant.Charge{Submitter: c.Submitter, Weight: c.Weight, By: c.By}
	switch p := w.Config.Params; c.State {
	case pool.Matched, pool.Promised:
		charge.GiveBack(w, c.ChargedFrom(), w.Now, p)
	case pool.RunningClaim:
		charge.End(w, c.ChargedFrom(), w.Now, p)
	}
	delete(w.claims, c.Job)
	if next, ok := w.claims[c.PromisedTo]; ok && c.Promises(next) {
		w.claims[next.Job] = next.Kept(w.Now)
	}
}

func (w *World) Tally(k accountant.Key) (accountant.Tally, bool) {
	w.ownTallies()
	y, ok := w.tallies[k]
	if !ok {
		y.Key = k
	}
	return y, ok
}

func (w *World) Tallies() []accountant.Tally {
	w.ownTallies()
	list := make([]accountant.Tally, 0, len(w.tallies))
	for _, k := range slices.SortedFunc(maps.Keys(w.tallies), accountant.Key.Compare) {
		list = append(list, w.tallies[k])
	}
	return list
}

func (w *World) PutTally(y accountant.Tally) {
	w.ownTallies()
	w.tallies[y.Key] = y
}
