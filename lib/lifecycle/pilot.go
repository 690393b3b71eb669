package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// ErrPilotOver says that a pilot may never run jobs again: it has to end. Other refusals may end with time.
var ErrPilotOver = errors.New("this pilot has to end")

// Ask adds a pilot that is requested from an engine for a machine, whose name ignores case; token is the
// SHA-256 of its token, empty if it needs none. An earlier pilot for that machine that has not come
// becomes Void, and pilots that are over are forgotten.
func Ask(tx *spool.Tx, engine, machine, token string, now time.Time) pool.Pilot {
	tx.Op("ask for pilot", engine, machine)
	p := pool.Pilot{ID: 1, Engine: engine, Machine: machine, State: pool.Asked, Token: token, AskedAt: now}
	for _, other := range spool.Pilots.All(&tx.View) {
		p.ID = max(p.ID, other.ID+1) // no id is used again: those with the largest stay
		switch {
		case machineKey(other.Machine) != machineKey(machine):
		case other.State.Over():
			spool.Pilots.Drop(tx, other.ID)
		case other.State == pool.Asked:
			end(tx, other, pool.Void, "another pilot was asked for", now)
		}
	}
	spool.Pilots.Put(tx, p)
	return p
}

// Greet makes a pilot Live that shows itself, with the instance that it names; one that is Leaving stays
// so. Its machine has not been heard of for the time unheard, negative if that is unknown. Another instance
// is refused as long as an earlier one on the machine has claims and may still run their jobs, by lease,
// which is JOB_LEASE; after that, pilots of the machine that it replaces are Gone. ErrPilotOver: the pilot
// is unknown, Gone or Void.
func Greet(tx *spool.Tx, id int, instance string, unheard, lease time.Duration, now time.Time) (pool.Pilot, error) {
	p, ok := spool.Pilots.Get(&tx.View, id)
	switch {
	case !ok:
		return p, fmt.Errorf("pilot %d: the pool knows no such pilot: %w", id, ErrPilotOver)
	case p.State.Over():
		return p, fmt.Errorf("pilot %d of %s is %v (%s): %w", id, p.Machine, p.State, p.Why, ErrPilotOver)
	case !isInstance(instance):
		return p, fmt.Errorf("pilot %d of %s names no instance: want up to %d letters and digits", id, p.Machine, longestInstance)
	}
	tx.Op("greet pilot", fmt.Sprint(id), p.Machine)
	if n := heldByOthers(&tx.View, p.Machine, instance); n > 0 && (unheard < 0 || unheard < Patience(lease)) {
		return p, fmt.Errorf("pilot %d: another pilot on %s has %s and %s: if %s was restarted, slots withdraw -gone %s ends them",
			id, p.Machine, plural.Count(n, "job"), Silence{unheard, lease}.Words(), p.Machine, p.Machine)
	}
	was := p
	if p.Instance = instance; p.State == pool.Asked {
		p.State = pool.Live
	}
	if p.LiveAt.IsZero() {
		p.LiveAt = now
	}
	if p != was {
		spool.Pilots.Put(tx, p)
	}
	for _, other := range spool.Pilots.All(&tx.View) {
		if other.ID != id && here(other) && machineKey(other.Machine) == machineKey(p.Machine) {
			end(tx, other, pool.Gone, fmt.Sprintf("pilot %d took its place", id), now)
		}
	}
	return p, nil
}

// longestInstance bounds an instance, which each claim of the pilot's has.
const longestInstance = 64

// isInstance reports whether a pilot may call itself so.
func isInstance(text string) bool {
	other := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	return text != "" && len(text) <= longestInstance && !strings.ContainsFunc(strings.ToLower(text), other)
}

// heldByOthers returns how many attempts on a machine were begun by pilots of other instances.
func heldByOthers(v *spool.View, machine, instance string) (n int) {
	for _, c := range v.Claims() {
		if begunByPilot(c) && c.Instance != instance && machineKey(c.Machine) == machineKey(machine) {
			n++
		}
	}
	return n
}

// begunByPilot reports whether a pilot runs the job of a claim.
func begunByPilot(c pool.Claim) bool {
	return c.Instance != "" && (c.State == pool.RunningClaim || c.State == pool.Vacating)
}

// here reports whether a pilot is on its machine.
func here(p pool.Pilot) bool { return p.State == pool.Live || p.State == pool.Leaving }

// end makes a pilot Gone or Void.
func end(tx *spool.Tx, p pool.Pilot, to pool.PilotState, why string, now time.Time) {
	p.State, p.Why, p.OverAt = to, why, now
	spool.Pilots.Put(tx, p)
}

// Leave makes a Live pilot Leaving, for the reason why: the matches on its machine are given up, and the jobs that it
// runs have to leave, to run again elsewhere.
func Leave(tx *spool.Tx, id int, why string, now time.Time, params accountant.Params) {
	tx.Op("pilot leaves", fmt.Sprint(id))
	p, ok := spool.Pilots.Get(&tx.View, id)
	if !ok || p.State != pool.Live {
		return
	}
	tx.UseReserve()
	p.State, p.Why = pool.Leaving, why
	spool.Pilots.Put(tx, p)
	giveUpMatches(tx, p.Machine, now, params)
	for _, c := range tx.Claims() {
		if begunByPilot(c) && machineKey(c.Machine) == machineKey(p.Machine) {
			Vacate(tx, c.Job, pool.PilotLeaves(p.Name(), why), now, params)
		}
	}
}

// Bye makes a pilot Gone that has ended, for the reason why; one that was Leaving keeps its own, and a Live one with a token
// is Asked again, since it may call once more. The matches on its machine are given up, and
// the advertised slots of its machine that have no claim are withdrawn.
func Bye(tx *spool.Tx, id int, why string, now time.Time, params accountant.Params) {
	tx.Op("pilot is gone", fmt.Sprint(id))
	p, ok := spool.Pilots.Get(&tx.View, id)
	if !ok || p.State.Over() {
		return
	}
	if p.State == pool.Live && p.Token != "" {
		p.State = pool.Asked
		spool.Pilots.Put(tx, p)
	} else {
		end(tx, p, pool.Gone, cmp.Or(p.Why, why), now)
	}
	if _, another := pilotOn(&tx.View, p.Machine); !another {
		giveUpMatches(tx, p.Machine, now, params)
		withdrawFree(tx, p.Machine)
	}
}

// Void makes a pilot Void that is not over, for the reason why: it is refused from now on. Its machine's
// claims and slots stay.
func Void(tx *spool.Tx, id int, why string, now time.Time) {
	tx.Op("give pilot up", fmt.Sprint(id))
	if p, ok := spool.Pilots.Get(&tx.View, id); ok && !p.State.Over() {
		end(tx, p, pool.Void, why, now)
	}
}

// GiveUpMachine is for a machine that is known to run nothing any more, for the reason why: its pilots are
// Void, its matches given up, and end ends each attempt there that a pilot began. It returns those, and which
// of the machine's advertised slots are withdrawn: those that have no claim then.
func GiveUpMachine(tx *spool.Tx, machine, why string, now time.Time, params accountant.Params, end func(pool.Claim) error) (ended []pool.Claim, withdrawn []string, err error) {
	for _, p := range spool.Pilots.All(&tx.View) {
		if machineKey(p.Machine) == machineKey(machine) {
			Void(tx, p.ID, why, now)
		}
	}
	giveUpMatches(tx, machine, now, params)
	for _, c := range tx.Claims() {
		if begunByPilot(c) && machineKey(c.Machine) == machineKey(machine) {
			ended = append(ended, c)
		}
	}
	for _, c := range ended {
		if err := end(c); err != nil {
			return nil, nil, err
		}
	}
	giveUpMatches(tx, machine, now, params) // those that were promised the slots
	withdrawn = withdrawFree(tx, machine)
	tx.UseReserve()
	tx.Op("give machine up", machine)
	return ended, withdrawn, nil
}

// giveUpMatches gives up the matches and promises of a machine.
func giveUpMatches(tx *spool.Tx, machine string, now time.Time, params accountant.Params) {
	for _, c := range tx.Claims() {
		if machineKey(c.Machine) == machineKey(machine) {
			GiveUp(tx, c, now, params)
		}
	}
}

// Advertise replaces the advertised slots of a machine by ads, which have names and name that machine. An unchanged
// slot stays as it is; a slot without an ad is withdrawn if it has no claim. Advertise reports whether a slot is new or
// changed.
func Advertise(tx *spool.Tx, machine string, ads []*classad.Ad, now time.Time) (changed bool) {
	tx.Op("advertise", machine)
	stays := map[string]bool{}
	for _, ad := range ads {
		name, _ := ad.EvalString(&classad.Context{}, pool.AttrName)
		stays[name] = true
		if old, ok := tx.Advertised(name); ok && sameSlot(old.Ad, ad) {
			continue
		}
		ad.SetInt(pool.AttrLastHeardFrom, now.Unix())
		tx.PutSlot(name, ad)
		NoteGiven(tx)
		changed = true
	}
	withdrawOthers(tx, machine, stays)
	return changed
}

// sameSlot reports whether two ads of a slot are equal except for when it was heard of.
func sameSlot(a, b *classad.Ad) bool {
	text := func(ad *classad.Ad) string {
		ad = ad.Clone()
		ad.Delete(pool.AttrLastHeardFrom)
		return ad.Format(classad.StyleSpool)
	}
	return text(a) == text(b)
}

// withdrawFree withdraws the advertised slots of a machine that have no claim, and returns their names.
func withdrawFree(tx *spool.Tx, machine string) (names []string) {
	return withdrawOthers(tx, machine, nil)
}

// withdrawOthers is withdrawFree for all slots except those named.
func withdrawOthers(tx *spool.Tx, machine string, stay map[string]bool) (names []string) {
	claimed := map[string]bool{}
	for _, c := range tx.Claims() {
		claimed[c.SlotAd()] = true
	}
	eval := &classad.Context{}
	slots, _ := tx.Slots()
	for _, s := range slots {
		if s.Source == "" && !claimed[s.Name] && !stay[s.Name] && machineKey(s.Machine(eval)) == machineKey(machine) {
			names = append(names, s.Name)
		}
	}
	Withdraw(tx, names)
	return names
}

// Withdraw takes advertised slots, which have no claims, out of the pool. The caller names the transaction.
func Withdraw(tx *spool.Tx, names []string) {
	for _, name := range names {
		tx.DropSlot(name)
		tx.DropBackoff(name)
	}
	if len(names) > 0 {
		NoteGiven(tx)
	}
}

// pilotOn returns the pilot that is on a machine: Live or Leaving; false if it has no such pilot.
func pilotOn(v *spool.View, machine string) (pool.Pilot, bool) {
	for _, p := range spool.Pilots.All(v) {
		if here(p) && machineKey(p.Machine) == machineKey(machine) {
			return p, true
		}
	}
	return pool.Pilot{}, false
}

// PilotMachine returns the name of a machine, found without regard to case, as its pilots or the attempts that
// a pilot began spell it; false if it has neither. Pilots that are over do not count.
func PilotMachine(v *spool.View, machine string) (name string, ok bool) {
	for _, p := range spool.Pilots.All(v) {
		if !p.State.Over() && machineKey(p.Machine) == machineKey(machine) {
			return p.Machine, true
		}
	}
	for _, c := range v.Claims() {
		if begunByPilot(c) && machineKey(c.Machine) == machineKey(machine) {
			return c.Machine, true
		}
	}
	return machine, false
}

// Unheard returns the attempts to give up, as their machines can run them no more: those that a pilot began on a
// machine that has not been heard of for as long as Patience, and those of another instance than the pilot's that Greet
// has let on their machine since. Elapsed returns for how long a machine has not been heard of, false if that is
// unknown; lease is JOB_LEASE.
func Unheard(v *spool.View, elapsed func(machine string) (time.Duration, bool), lease time.Duration) (given []pool.Claim) {
	var instances map[string]string // by machine
	for _, c := range v.Claims() {
		if !begunByPilot(c) {
			continue
		}
		if instances == nil {
			instances = instancesOn(v)
		}
		instance, greeted := instances[machineKey(c.Machine)]
		unheard, known := elapsed(c.Machine)
		if greeted && instance != c.Instance || known && unheard >= Patience(lease) {
			given = append(given, c)
		}
	}
	return given
}

// Silent returns the pilots on machines without attempts that have not been heard of for as long as Patience. It leaves
// out pilots that call by themselves, as these may do so at any time. Elapsed is as for Unheard.
func Silent(v *spool.View, elapsed func(machine string) (time.Duration, bool), lease time.Duration) (silent []pool.Pilot) {
	busy := map[string]bool{}
	for _, c := range v.Claims() {
		if begunByPilot(c) {
			busy[machineKey(c.Machine)] = true
		}
	}
	for _, p := range spool.Pilots.All(v) {
		if unheard, known := elapsed(p.Machine); here(p) && p.Token == "" && known && unheard >= Patience(lease) && !busy[machineKey(p.Machine)] {
			silent = append(silent, p)
		}
	}
	return silent
}

// instancesOn returns the instances of the pilots on machines, by the machines' names in lower case.
func instancesOn(v *spool.View) map[string]string {
	all := map[string]string{}
	for _, p := range spool.Pilots.All(v) {
		if here(p) {
			all[machineKey(p.Machine)] = p.Instance
		}
	}
	return all
}

// Patience returns for how long a machine may not be heard of before its attempts are given up: JOB_LEASE, by
// when it has ended them itself, and a margin of 5 % of that, and 30 seconds at least.
func Patience(lease time.Duration) time.Duration {
	const least = 30 * time.Second
	return lease + max(least, lease/20)
}

// SilenceOf returns the silence of a machine from for how long it has not been heard of, false if that is unknown.
func SilenceOf(unheard time.Duration, known bool, lease time.Duration) Silence {
	if !known {
		unheard = -1
	}
	return Silence{unheard, lease}
}

// Silence is the silence of a machine with a pilot.
type Silence struct {
	For   time.Duration // how long it has not been heard of; negative: that is unknown
	Lease time.Duration // JOB_LEASE
}

// Noteworthy reports whether the machine should have been heard of long ago: for a minute, or a quarter of
// a lease that is shorter.
func (s Silence) Noteworthy() bool { return s.For < 0 || s.For >= min(time.Minute, s.Lease/4) }

// String returns a sentence: "its machine has not been heard of for 12 min; given up in 28".
func (s Silence) String() string { return "its machine " + s.Words() }

// Words returns the same behind the name of the machine.
func (s Silence) Words() string {
	if s.For < 0 {
		return "has not been heard of"
	}
	left := Patience(s.Lease) - s.For
	if left <= 0 {
		return "has not been heard of for " + lasting(s.For) + "; is given up now"
	}
	unit := " s"
	if long(s.For) {
		unit = " min"
	}
	after := lasting(left)
	if long(left) == long(s.For) {
		after = after[:len(after)-len(unit)]
	}
	return "has not been heard of for " + lasting(s.For) + "; given up in " + after
}

// lasting writes a length of time in seconds, or from 2 minutes on in minutes.
func lasting(d time.Duration) string {
	if long(d) {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

func long(d time.Duration) bool { return d >= 2*time.Minute }

// addPilots adds machines that take no jobs because of their pilots: one or more were asked for there, and
// none is Live.
func (all drains) addPilots(v *spool.View) {
	live := map[string]bool{}
	pilots := spool.Pilots.All(v)
	for _, p := range pilots {
		if p.State == pool.Live {
			live[machineKey(p.Machine)] = true
		}
	}
	for _, p := range pilots {
		key := machineKey(p.Machine)
		if d, drained := all[key]; !live[key] && (!drained || d.pilot) {
			all[key] = Drained{Machine: key, At: p.OverAt, Reason: absence(p), pilot: true}
		}
	}
}

// takesJobs reports whether a machine's pilot, if it has any, lets it take jobs.
func takesJobs(v *spool.View, machine string) bool {
	p, ok := pilotOn(v, machine)
	return !ok || p.State == pool.Live
}

// absence says why the machine of a pilot that is not Live takes no jobs.
func absence(p pool.Pilot) string {
	switch p.State {
	case pool.Asked:
		return "its pilot has not come yet"
	case pool.Leaving:
		return "its pilot is leaving: " + p.Why
	}
	return "its pilot is gone: " + p.Why
}
