package glidein

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	hardware "fairspool/cmd/internal/machine"
	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/negotiator"
	"fairspool/lib/negotiator/negotiation"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// attrTier is an attribute of the slots of pilots that are not there: 1 for those that were asked for, 2 for those that may be.
const attrTier = "FairspoolTier"

// tiers is a rank that orders free slots, then slots of pilots that were asked for, then slots of pilots that may be.
// Slots with jobs that would have to leave come last.
const tiers = "1.0e13 * (RemoteOwner =?= UNDEFINED) * (3 - (MY." + attrTier + " ?: 0))"

// demand is how many pilots of an engine would get jobs.
type demand struct {
	pilots map[string]int // to be asked for, by owner; empty: for all
	jobs   map[string]int // that would get slots of these pilots, by submitter
	waits  int            // pilots that were asked for and have not come
	live   int
	room   int    // how many the limits allow
	limit  string // the limit that keeps more from being asked for; empty: none does
	plan   *negotiator.Plan
}

// total returns how many pilots are to be asked for.
func (d demand) total() (n int) {
	for _, k := range d.pilots {
		n += k
	}
	return n
}

// forecast plays the next cycle with the slots of pilots that may be asked for.
type forecast struct {
	call   *cmdline.Call
	view   *spool.View
	pool   negotiator.Pool
	cycle  negotiator.Config
	owners bool // jobs run as their owners
}

// newForecast returns the pool of a view, to which slots can be added.
func newForecast(c *cmdline.Call, v *spool.View, domain string, owners bool) (*forecast, error) {
	cycle, err := lifecycle.CycleConfig(c.Config)
	if err != nil {
		return nil, err
	}
	rank := cmp.Or(c.Config.Text("NEGOTIATOR_PRE_JOB_RANK"), "0")
	if cycle.PreJobRank, err = classad.ParseExpr("(" + rank + ") + " + tiers); err != nil {
		return nil, err
	}
	seen := lifecycle.TakeSnapshot(v, domain, c.Config.Groups, registry.Of(c.Config).Beside(c.Config))
	seen.Pool.PutOff = lifecycle.PutOffsOf(v).Match
	return &forecast{c, v, seen.Pool, cycle, owners}, nil
}

// of returns the demand for pilots of an engine. The slots of these stay in the pool, as of pilots that were asked for.
func (f *forecast) of(e config.Engine, rows []pool.Pilot) (d demand, err error) {
	var there []pool.Slot
	for _, p := range rows {
		switch {
		case p.Engine != e.Name || p.State.Over():
		case p.State == pool.Asked:
			d.waits++
			s, err := f.template(e, p.Machine, p.Owner, 1)
			if err != nil {
				return d, err
			}
			there = append(there, s)
		default:
			d.live++
		}
	}
	f.pool.Slots = append(f.pool.Slots, there...)
	d.room = max(0, min(e.MaxPilots-d.waits-d.live, e.MaxWaiting-d.waits))
	d.limit = fmt.Sprintf("MAX_PILOTS = %d", e.MaxPilots)
	if e.MaxWaiting-d.waits < e.MaxPilots-d.waits-d.live {
		d.limit = fmt.Sprintf("MAX_WAITING = %d", e.MaxWaiting)
	}
	if d.room == 0 && !f.call.Has("explain") {
		return d, nil
	}
	owners := map[string]int{"": d.room}
	if e.Kind == config.KindPool || f.owners && e.RunAs == config.RunAsOwner {
		_, shares, err := f.play(e, owners)
		if err != nil {
			return d, err
		}
		owners = apportion(shares, d.room)
	}
	used, _, err := f.play(e, owners)
	if err != nil {
		return d, err
	}
	d.pilots, d.jobs, d.plan = used.pilots, used.jobs, used.plan
	if d.total() < d.room {
		d.limit = ""
	}
	for owner, n := range d.pilots {
		for i := range n {
			s, err := f.template(e, fmt.Sprintf("%s-more-%s-%d", e.Name, owner, i+1), owner, 1)
			if err != nil {
				return d, err
			}
			f.pool.Slots = append(f.pool.Slots, s)
		}
	}
	return d, nil
}

// used is the part of the possible pilots that a played cycle uses.
type used struct {
	pilots map[string]int // that got jobs, by owner
	jobs   map[string]int // by submitter
	plan   *negotiator.Plan
}

// play plays the cycle with owners more pilots of an engine, by owner. Shares sum up the slots that got jobs, by owner:
// 1 for a whole slot.
func (f *forecast) play(e config.Engine, owners map[string]int) (u used, shares map[string]float64, err error) {
	p := f.pool
	p.Slots = slices.Clip(p.Slots)
	of := map[string]string{} // the owner, by slot
	for _, owner := range slices.Sorted(maps.Keys(owners)) {
		for i := range owners[owner] {
			s, err := f.template(e, fmt.Sprintf("%s-new-%s-%d", e.Name, owner, i+1), owner, 2)
			if err != nil {
				return u, nil, err
			}
			p.Slots = append(p.Slots, s)
			of[s.Name] = owner
		}
	}
	cycle := f.cycle
	cycle.Queue = registry.Of(f.call.Config).Queue(f.call.Config, policy.Sources{
		Slots:   func(do func([]pool.Slot)) { do(p.Slots) },
		Claims:  func() []pool.Claim { return p.Claims },
		Tallies: f.view.Tallies,
		Now:     f.call.Now, Delivered: lifecycle.Delivered(f.view),
	})
	plan := negotiation.Cycle(p, cycle, f.call.Now)
	u = used{pilots: map[string]int{}, jobs: map[string]int{}, plan: plan}
	on := map[string]map[string]int{} // jobs by slot and owner
	ripe := map[string]bool{}
	for _, m := range plan.Matches {
		slot := cmp.Or(m.Piece.Of, m.Slot)
		if _, new := of[slot]; !new {
			continue
		}
		u.jobs[m.Submitter]++
		owner, age := f.about(m.Job, e)
		if on[slot] == nil {
			on[slot] = map[string]int{}
		}
		on[slot][owner]++
		ripe[slot] = ripe[slot] || age >= e.After.Seconds()
	}
	shares = map[string]float64{}
	for slot, by := range on {
		if !ripe[slot] {
			continue
		}
		u.pilots[of[slot]]++
		all := 0
		for _, n := range by {
			all += n
		}
		for owner, n := range by {
			shares[owner] += float64(n) / float64(all)
		}
	}
	return u, shares, nil
}

// about returns the owner of the engine's pilots that a job could use, and for how many seconds the job
// has been in the queue.
func (f *forecast) about(id pool.JobID, e config.Engine) (owner string, age float64) {
	ad, ok := f.view.Job(id)
	if !ok {
		return "", 0
	}
	c := &classad.Context{Now: f.call.Now}
	name := pool.AttrOwner
	if e.Kind == config.KindPool {
		name = pool.AttrUser
	}
	owner, _ = ad.EvalString(c, name)
	since, _ := ad.EvalInt(c, pool.AttrQDate)
	return owner, float64(f.call.Now.Unix() - since)
}

// apportion rounds the shares of owners to whole slots: up, or so that there are no more than the most.
func apportion(shares map[string]float64, most int) map[string]int {
	whole, left := map[string]int{}, most
	names := slices.Sorted(maps.Keys(shares))
	for _, owner := range names {
		whole[owner] = min(int(shares[owner]+tiny), left)
		left -= whole[owner]
	}
	rest := func(owner string) float64 { return shares[owner] - float64(whole[owner]) }
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rest(b), rest(a)) })
	for _, owner := range names {
		if left > 0 && rest(owner) > tiny {
			whole[owner]++
			left--
		}
	}
	return whole
}

// tiny is less than the share of any job.
const tiny = 1e-9

// template returns the slot of a pilot of an engine that is not there yet.
func (f *forecast) template(e config.Engine, name, owner string, tier int64) (pool.Slot, error) {
	m := hardware.Machine{
		Name: name, Cpus: int(e.Cpus), MemoryMB: e.MemoryMB, DiskKB: math.MaxInt32, Arch: platform.Arch(), System: platform.Here(),
		UIDDomain: f.call.Config.UIDDomain,
	}
	ad, err := m.Whole(f.call)
	if err != nil {
		return pool.Slot{}, err
	}
	ad.SetInt(attrTier, tier)
	ad.SetInt("PilotEnds", f.call.Now.Add(e.Time-f.call.Config.MachineMaxVacateTime).Unix())
	if e.FileSystemDomain != "" {
		ad.SetString(pool.AttrFileSystemDomain, e.FileSystemDomain)
	}
	start := hardware.FitsPilot
	if owner != "" {
		start = pool.OwnedBy(owner) + " && " + hardware.FitsPilot
	}
	if e.Kind == config.KindPool {
		ad.SetString(pool.AttrFlockedTo, e.Name)
		start += " && " + pool.Flocks
	}
	only, err := classad.ParseExpr(start)
	if err != nil {
		return pool.Slot{}, err
	}
	ad.Set("Start", only)
	return pool.Slot{Name: hardware.SlotName(1, name), Ad: ad}, nil
}

// jobsOf words the jobs that would get slots, by submitter: "41 jobs of alice, 7 of bob".
func jobsOf(jobs map[string]int) string {
	names := slices.SortedFunc(maps.Keys(jobs), func(a, b string) int {
		return cmp.Or(cmp.Compare(jobs[b], jobs[a]), strings.Compare(a, b))
	})
	var texts []string
	const most = 5
	for i, name := range names {
		short, _, _ := strings.Cut(name, "@")
		switch {
		case i == most:
			texts = append(texts, fmt.Sprintf("others of %d more", len(names)-most))
		case i == 0 && jobs[name] == 1:
			texts = append(texts, "1 job of "+short)
		case i == 0:
			texts = append(texts, strconv.Itoa(jobs[name])+" jobs of "+short)
		case i < most:
			texts = append(texts, strconv.Itoa(jobs[name])+" of "+short)
		}
	}
	return strings.Join(texts, ", ")
}
