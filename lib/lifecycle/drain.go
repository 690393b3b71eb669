package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Haste is how the jobs of a drained machine leave it, as condor_drain(1) has it.
type Haste int

// The kinds of haste: each gives a job less than the previous kind.
const (
	Graceful Haste = iota // its retirement time, and the time to vacate
	Quick                 // the time to vacate
	Fast                  // nothing: SIGKILL at once
)

var hastes = [...]string{Graceful: "graceful", Quick: "quick", Fast: "fast"}

// String returns the name of the option.
func (h Haste) String() string {
	if h < Graceful || h > Fast {
		return "Haste(" + strconv.Itoa(int(h)) + ")"
	}
	return hastes[h]
}

// HasteOf returns the haste with which a job leaves for this reason.
func HasteOf(why pool.Reason) Haste {
	if why.Code != MachineDrained {
		return Graceful
	}
	return Haste(min(max(why.Subcode/10, int(Graceful)), int(Fast)))
}

// LetsRetire reports whether a job that leaves its slot for this reason may first run for its retirement time.
func LetsRetire(why pool.Reason) bool {
	switch why.Code {
	case PreemptedByRank, PreemptedByPriority:
		return true
	}
	return why.Code == MachineDrained && HasteOf(why) < Quick
}

// Drained says that a machine takes no jobs, until it is opened again.
type Drained struct {
	Machine string
	By      string    // the login name of the user that drained it
	At      time.Time // policy time
	Haste   Haste
	Reason  string // in that person's words; empty for none
	// Stopped: a watching starter did so when it was stopped, and its next start undoes
	// it.
	Stopped bool

	pilot bool // not drained by anybody, but no pilot of the machine is Live
}

// why returns why jobs have to leave the machine, for their ads and logs.
func (d Drained) why() pool.Reason {
	text := "the machine is drained"
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return pool.Reason{Text: text, Code: MachineDrained, Subcode: 10 * int(d.Haste)}
}

func machineKey(machine string) string { return strings.ToLower(machine) }

// DrainOf returns how a machine is drained; false if it is not. A mark that cannot be
// read says at least that it is.
func DrainOf(v *spool.View, machine string) (Drained, bool) {
	text := v.Mark(pool.DrainedMark + machineKey(machine))
	if text == "" {
		return Drained{}, false
	}
	d, _ := parseDrained(text)
	d.Machine = machine
	return d, true
}

// drains are the machines that take no jobs, by their names in lower case: drained ones, and those without a
// Live pilot among their pilots.
type drains map[string]Drained

func drainsOf(v *spool.View) drains {
	all := drains{}
	for _, name := range v.Marks(pool.DrainedMark) {
		key := strings.TrimPrefix(name, pool.DrainedMark)
		if d, ok := DrainOf(v, key); ok {
			all[key] = d
		}
	}
	all.addPilots(v)
	return all
}

func (all drains) of(machine string) (Drained, bool) {
	if len(all) == 0 {
		return Drained{}, false
	}
	d, ok := all[machineKey(machine)]
	return d, ok
}

// format writes the text of the mark:
//
//	graceful 1767355200 "alice" "new disks"
//
// The number is when, in seconds since 1970. The stop of a starter has a "stopped" before
// that.
func (d Drained) format() string {
	b := []byte(d.Haste.String() + " ")
	if d.Stopped {
		b = append(b, "stopped "...)
	}
	b = fmt.Appendf(b, "%d ", d.At.Unix())
	b = append(strconv.AppendQuote(b, d.By), ' ')
	return string(strconv.AppendQuote(b, d.Reason))
}

// parseDrained is the inverse of format, except for the machine.
func parseDrained(text string) (d Drained, err error) {
	wrong := fmt.Errorf("%.80q: want haste, time, who and why", text)
	haste, rest, ok := strings.Cut(text, " ")
	h := slices.Index(hastes[:], haste)
	if !ok || h < 0 {
		return d, wrong
	}
	rest, stopped := strings.CutPrefix(rest, "stopped ")
	at, rest, _ := strings.Cut(rest, " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	by, rest, more := leadingQuoted(rest)
	why, _, last := leadingQuoted(rest + " ")
	if err != nil || !more || !last {
		return d, wrong
	}
	return Drained{By: by, At: time.Unix(seconds, 0).UTC(), Haste: Haste(h), Reason: why, Stopped: stopped}, nil
}

// Leavers are the claims that a drained machine gets rid of, by job.
type Leavers struct {
	GivenUp []pool.Claim // matches and promises, which end at once
	Told    []pool.Claim // of jobs that have to leave now
	Leaving []pool.Claim // of jobs that had to leave already
}

// Staying returns the claims that last until their jobs have left.
func (l Leavers) Staying() []pool.Claim { return slices.Concat(l.Told, l.Leaving) }

// Drain keeps jobs from a machine from now on: its matches and promises are given up and
// their charges given back, and running jobs have to leave it, to run again elsewhere.
// One that is drained already is drained as d says from then on, and so do those leave it
// that are still at it.
func Drain(tx *spool.Tx, d Drained, now time.Time, p accountant.Params) (l Leavers) {
	tx.Op("drain", d.Machine)
	tx.UseReserve()
	tx.PutMark(pool.DrainedMark+machineKey(d.Machine), d.format())
	for _, c := range tx.Claims() {
		if machineKey(c.Machine) != machineKey(d.Machine) {
			continue
		}
		switch c.State {
		case pool.Matched, pool.Promised:
			GiveUp(tx, c, now, p)
			l.GivenUp = append(l.GivenUp, c)
		case pool.RunningClaim:
			Vacate(tx, c.Job, d.why(), now, p)
			l.Told = append(l.Told, c)
		case pool.Vacating:
			hurry(tx, c, d.why())
			l.Leaving = append(l.Leaving, c)
		}
	}
	return l
}

// hurry makes a job that has to leave its slot already leave it as a drain wants: one that
// leaves for that, or was preempted, which then may not go on for longer.
func hurry(tx *spool.Tx, c pool.Claim, why pool.Reason) {
	preempted := c.VacateCode == PreemptedByRank || c.VacateCode == PreemptedByPriority
	if c.VacateCode == MachineDrained || preempted && HasteOf(why) > Graceful {
		c.VacateReason, c.VacateCode, c.VacateSubcode = why.Text, why.Code, why.Subcode
		tx.PutClaim(c)
	}
}

// Reopen lets jobs come to a drained machine again, and reports whether it was drained.
// Jobs that have to leave it still leave.
func Reopen(tx *spool.Tx, machine string) bool {
	tx.Op("reopen", machine)
	name := pool.DrainedMark + machineKey(machine)
	if tx.Mark(name) == "" {
		return false
	}
	tx.PutMark(name, "")
	return true
}

// Slots returns all slots of the pool as View.Slots does. It applies pool.OverlayDrained to the slots
// of drained machines, unless their own ads name another holder, and adds the clauses of maintenances
// to the Requirements of their slots.
func Slots(v *spool.View) ([]pool.Slot, []error) { return slotsInto(nil, v) }

// slotsInto does as Slots, in the room of a list.
func slotsInto(room []pool.Slot, v *spool.View) ([]pool.Slot, []error) {
	slots, bad := spool.AppendSlots(room[:0], v)
	drainsOf(v).overlay(v, slots)
	maintainedIn(v).overlay(&classad.Context{}, slots)
	return slots, bad
}

// SlotSummaries returns the summaries of all slots, those of drained machines in state Drained as Slots has them.
func SlotSummaries(v *spool.View) (slots []pool.SlotSummary, bad []error) {
	LookAtSlots(v, func(v *spool.View) { slots, bad = spool.SlotSummaries(v) })
	if all := drainsOf(v); len(all) > 0 {
		for i := range slots {
			if _, drained := all.of(slots[i].On()); drained && slots[i].Holder == "" {
				slots[i].State = pool.Drained
			}
		}
	}
	return slots, bad
}

// overlay applies pool.OverlayDrained to the slots of drained machines, in place.
func (all drains) overlay(v *spool.View, slots []pool.Slot) {
	if len(all) == 0 {
		return
	}
	leaving := map[string]bool{}
	for _, c := range v.Claims() {
		leaving[machineKey(c.Machine)] = true
	}
	eval := &classad.Context{}
	for i, s := range slots {
		machine := s.Machine(eval)
		d, drained := all.of(machine)
		if drained && negotiator.Holder(eval, s.Ad) == "" {
			slots[i].Ad = pool.OverlayDrained(s.Ad, d.At, d.Reason, leaving[machineKey(machine)])
		}
	}
}
