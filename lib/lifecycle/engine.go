package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// AskEngine adds a pilot that is asked of a batch engine, for jobs of the owner alone unless that is empty; token is the
// SHA-256 of its token. Its machine is called by the engine and the pilot's number, as several may be on one host.
func AskEngine(tx *spool.Tx, engine, owner, token string, now time.Time) pool.Pilot {
	p := pool.Pilot{ID: 1, Engine: engine, Owner: owner, State: pool.Asked, Token: token, AskedAt: now}
	for _, other := range spool.Pilots.All(&tx.View) {
		p.ID = max(p.ID, other.ID+1)
	}
	p.Machine = p.Name()
	tx.Op("ask for pilot", engine, p.Machine)
	spool.Pilots.Put(tx, p)
	return p
}

// Sight notes a batch engine's name of the job that is a pilot, and the job's state in the engine's words; empty: not
// known yet.
func Sight(tx *spool.Tx, id int, ref, says string) {
	p, ok := spool.Pilots.Get(&tx.View, id)
	if !ok || p.State.Over() || p.Ref == ref && p.Says == says {
		return
	}
	tx.Op("sight pilot", fmt.Sprint(id), ref, says)
	p.Ref, p.Says = ref, says
	spool.Pilots.Put(tx, p)
}

// Lose is for a pilot that its batch engine has no more, for the reason why. One that has not come is Void. One that
// came is Gone, unless it has jobs, which may go on though the engine says otherwise: it is Leaving then, without an order to the
// jobs, until it is heard of again or the lease is over.
func Lose(tx *spool.Tx, id int, why string, now time.Time, params accountant.Params) {
	p, ok := spool.Pilots.Get(&tx.View, id)
	if !ok || p.State.Over() {
		return
	}
	busy := false
	for _, c := range tx.Claims() {
		busy = busy || begunByPilot(c) && machineKey(c.Machine) == machineKey(p.Machine)
	}
	switch {
	case p.State == pool.Asked:
		tx.Op("lose pilot", fmt.Sprint(id))
		end(tx, p, pool.Void, why, now)
	case !busy:
		tx.Op("lose pilot", fmt.Sprint(id))
		end(tx, p, pool.Gone, why, now)
		giveUpMatches(tx, p.Machine, now, params)
		withdrawFree(tx, p.Machine)
	case p.State == pool.Live:
		tx.Op("lose pilot", fmt.Sprint(id))
		p.State, p.Why = pool.Leaving, why
		spool.Pilots.Put(tx, p)
		giveUpMatches(tx, p.Machine, now, params)
	}
}

// ForgetPilots drops the pilots of a batch engine that have been over since before a time, except the one with the
// largest number: no number is used again. It returns their machines.
func ForgetPilots(tx *spool.Tx, engine string, before time.Time) (machines []string) {
	all := spool.Pilots.All(&tx.View)
	last := 0
	for _, p := range all {
		last = max(last, p.ID)
	}
	for _, p := range all {
		if p.Engine == engine && p.State.Over() && p.OverAt.Before(before) && p.ID != last {
			spool.Pilots.Drop(tx, p.ID)
			machines = append(machines, p.Machine)
		}
	}
	return machines
}

// AskedPilots are pilots that a batch engine was asked for and that have not come.
type AskedPilots struct {
	Engine string
	Owner  string `json:",omitempty"` // the owner of the jobs that they are for; empty: for all
	Pilots int
	Since  int64  // when the first was asked for, in Unix seconds
	Says   string `json:",omitempty"` // the engine's last words about the first
}

// AskedPilotsOf returns the pilots that were asked for and have not come, in the order of their numbers.
func AskedPilotsOf(v *spool.View) (list []AskedPilots) {
	for _, p := range spool.Pilots.All(v) {
		if p.State != pool.Asked || p.Ref == "" {
			continue
		}
		i := slices.IndexFunc(list, func(a AskedPilots) bool { return a.Engine == p.Engine && a.Owner == p.Owner })
		if i < 0 {
			list = append(list, AskedPilots{p.Engine, p.Owner, 1, p.AskedAt.Unix(), p.Says})
			continue
		}
		list[i].Pilots++
	}
	return list
}

// Admits reports whether the pilots are for the jobs of an owner.
func (a AskedPilots) Admits(owner string) bool { return a.Owner == "" || a.Owner == owner }

// Stays returns what in a job's ad keeps it from the slots of another pool, an engine; empty: nothing that is plain.
func Stays(ad *classad.Ad, e config.Engine) string {
	c := &classad.Context{}
	flock, said := ad.EvalBool(c, pool.AttrFlock)
	travels, _ := ad.EvalString(c, "ShouldTransferFiles")
	cpus, _ := ad.EvalInt(c, pool.AttrRequestCpus)
	memory, _ := ad.EvalInt(c, pool.AttrRequestMemory)
	switch {
	case said && !flock:
		return pool.AttrFlock + " is false"
	case strings.EqualFold(travels, "NO") && e.FileSystemDomain == "":
		return "its files do not travel (should_transfer_files = no)"
	case cpus > e.Cpus:
		return fmt.Sprintf("PILOT has %s, of %d requested", plural.Count(int(e.Cpus), "core"), cpus)
	case memory > e.MemoryMB:
		return fmt.Sprintf("PILOT has %d MB of memory, of %d requested", e.MemoryMB, memory)
	}
	return ""
}

// String returns a sentence: "2 pilots of engine hpc are asked for, the first since 2026-11-28 13:16:52: PENDING (Resources)".
func (a AskedPilots) String() string {
	text := plural.Pick(a.Pilots, "1 pilot of engine "+a.Engine+" is asked for, since ", "%d pilots of engine "+a.Engine+" are asked for, the first since ")
	text += moment(a.Since)
	if a.Says != "" {
		text += ": " + a.Says
	}
	return text
}

// MissedPilot is the pilot that a batch engine was asked for last, and that did not come.
type MissedPilot struct {
	Engine, Why string
	Since       int64 // in Unix seconds
}

// MissedPilotsOf returns the pilots that were the last of their batch engines and did not come, in the order of their numbers.
func MissedPilotsOf(v *spool.View) (list []MissedPilot) {
	last := map[string]int{}
	all := spool.Pilots.All(v)
	for _, p := range all {
		last[p.Engine] = max(last[p.Engine], p.ID)
	}
	for _, p := range all {
		if p.State == pool.Void && p.ID == last[p.Engine] && p.Queued() {
			list = append(list, MissedPilot{p.Engine, p.Why, p.OverAt.Unix()})
		}
	}
	return list
}

// String returns a sentence.
func (m MissedPilot) String() string {
	return "engine " + m.Engine + " gave no pilot, " + moment(m.Since) + ": " + m.Why
}

func moment(unix int64) string { return time.Unix(unix, 0).Local().Format(time.DateTime) }
