package lifecycle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Begin turns an attempt's claim from Matched to Running, at the time at, under the supervisor with process id pid, on
// another machine under the pilot's instance. It is committed before the job is executed. A pilot with an instance that
// has begun the attempt already may ask again, as the answer may have been lost: that changes nothing. pool.ErrGone:
// the claim is no longer that attempt's, or no longer Matched; nothing may be executed.
func Begin(tx *spool.Tx, id pool.JobID, attempt int, at time.Time, pid int, instance string, p accountant.Params) error {
	tx.Op("start", id.String())
	c, ok := tx.Claim(id)
	ad, there := tx.Job(id)
	if ok && there && c.Attempt == attempt && begunByPilot(c) && c.Instance == instance {
		return nil
	}
	if !ok || !there || c.Attempt != attempt || c.State != pool.Matched {
		return fmt.Errorf("job %v, attempt %d: %w", id, attempt, pool.ErrGone)
	}
	c.State, c.StartedAt, c.PID, c.Instance = pool.RunningClaim, at, pid, instance
	tx.PutClaim(c)
	tx.DropBackoff(c.SlotAd())
	job{tx, id, ad}.begun(c, at)
	return nil
}

// Limits returns the limits of an attempt of the job that begins now.
func Limits(tx *spool.Tx, ad *classad.Ad, now time.Time) []jobpolicy.Limit {
	return ask(tx, question{what: "limits", now: now, ads: [2]*classad.Ad{ad}, names: [2][]string{jobpolicy.LimitAttributes()}},
		func(c *classad.Context, ads [2]*classad.Ad) []jobpolicy.Limit { return jobpolicy.Limits(c, ads[0]) })
}

// begun notes that an attempt of the job has begun.
func (j job) begun(c pool.Claim, at time.Time) {
	j.setStatus(pool.Running, at)
	if !j.ad.Has(pool.AttrJobStartDate) {
		j.setTime(pool.AttrJobStartDate, at)
	}
	if last := j.int(pool.AttrCurrentStartDate); last > 0 {
		j.set(pool.AttrLastStartDate, classad.Int(last))
	}
	j.setTime(pool.AttrCurrentStartDate, at)
	j.setTime(pool.AttrShadowBday, at)
	for _, name := range [...]string{pool.AttrNumShadowStarts, pool.AttrJobRunCount, pool.AttrNumJobStarts} {
		j.set(name, classad.Int(j.int(name)+1))
	}
	j.set(pool.AttrCurrentHosts, classad.Int(1))
	j.set(pool.AttrRemoteHost, classad.String(c.Slot))
	slot := SlotOf(&j.tx.View, c)
	if slot != nil {
		if n, ok := slot.EvalInt(&classad.Context{}, pool.AttrSlotID); ok {
			j.set(pool.AttrRemoteSlotID, classad.Int(n))
		}
	}
	j.machineAttrs(slot)
	j.unset(pool.AttrExecutingDate)
}

// ended notes that the attempt is over, at the time at.
func (j job) ended(c pool.Claim, how pool.Ending, at time.Time) {
	j.set(pool.AttrLastRemoteHost, classad.String(c.Slot))
	j.set(pool.AttrCurrentHosts, classad.Int(0))
	for _, name := range [...]string{pool.AttrRemoteHost, pool.AttrRemoteSlotID, pool.AttrShadowBday, pool.AttrCPUAffinity, pool.AttrTickets} {
		j.unset(name)
	}
	if j.int("LastSuspensionTime") != 0 {
		j.set("LastSuspensionTime", classad.Int(0))
	}
	if how.NeverRan() {
		j.set(pool.AttrNumJobStarts, classad.Int(max(j.int(pool.AttrNumJobStarts)-1, 0)))
	}
	j.used(c, how, at)
}

// unset takes an attribute away, which costs nothing when it is not there.
func (j job) unset(name string) {
	if j.ad.Has(name) {
		j.tx.Set(j.id, name, nil)
	}
}

// Submitter returns the name under which a job is accounted: its accounting
// group, spelled as configured, or its owner, at the domain of the spool.
func Submitter(ad *classad.Ad, domain string, groups *accountant.Groups) string {
	c := &classad.Context{}
	owner, _ := ad.EvalString(c, pool.AttrOwner)
	group, _ := ad.EvalString(c, pool.AttrAccountingGroup)
	return accountant.SubmitterName(owner, groups.Canonical(group), domain)
}

// flocked gives access to submitters' records of usage in other pools, in the place of their
// records in this pool.
type flocked struct{ *spool.Tx }

func (f flocked) Submitter(name string) (accountant.Record, bool) {
	r, ok := spool.Flocked.Get(&f.View, name)
	r.Name = name
	return r, ok
}

func (f flocked) PutSubmitter(r accountant.Record) { spool.Flocked.Put(f.Tx, r) }

// chargeOf returns the claim as the accounts see it, and the accounts: a slot of another pool counts neither in records
// of the pool, its groups' among them, nor in tallies.
func chargeOf(tx *spool.Tx, c pool.Claim, p accountant.Params) (accountant.Charge, accountant.Book, accountant.Params) {
	if c.Flocked == "" {
		return accountant.Charge{Submitter: c.Submitter, Weight: c.Weight, By: c.By}, tx, p
	}
	p.Groups = nil
	return accountant.Charge{Submitter: c.Submitter, Weight: c.Weight}, flocked{tx}, p
}

// BeginCharge begins to charge for a claim at now, and returns since when it is charged.
func BeginCharge(tx *spool.Tx, c pool.Claim, now time.Time, p accountant.Params) time.Time {
	charge, accounts, p := chargeOf(tx, c, p)
	return charge.Begin(accounts, now, p)
}

// credentials returns the names, besides the submitter's, under which a job is charged.
func credentials(ad *classad.Ad, p accountant.Params) accountant.Credentials {
	c := &classad.Context{}
	text := func(name string) string { s, _ := ad.EvalString(c, name); return s }
	cpus, ok := ad.EvalInt(c, pool.AttrRequestCpus)
	if !ok || cpus < 1 {
		cpus = 1
	}
	user := text(pool.AttrOwner)
	return accountant.Credentials{
		User: user, Group: text(pool.AttrUnixGroup), Account: text(pool.AttrAcctGroup),
		QOS: text(pool.AttrQOS), Class: text(pool.AttrClass), Project: cmp.Or(text(pool.AttrProject), p.DefaultProjects[user]), Cpus: cpus,
	}
}

// EndCharge ends the charge for a claim at t; from the start if it never ran.
func EndCharge(tx *spool.Tx, c pool.Claim, t time.Time, p accountant.Params) {
	charge, accounts, p := chargeOf(tx, c, p)
	switch c.State {
	case pool.Matched, pool.Promised:
		charge.GiveBack(accounts, c.ChargedFrom(), t, p)
	case pool.RunningClaim:
		charge.End(accounts, c.ChargedFrom(), t, p)
	}
	// Vacating: the charge ended when the claim was told to vacate.
}

// job is one job that gets new attributes. Read from ad before the first set: whether ad
// shows later changes is not defined.
type job struct {
	tx *spool.Tx
	id pool.JobID
	ad *classad.Ad
}

func (j job) set(name string, v classad.Value) { j.tx.Set(j.id, name, classad.Literal(v)) }

func (j job) setTime(name string, t time.Time) { j.set(name, classad.Int(t.Unix())) }

func (j job) int(name string) int64 {
	n, _ := j.ad.EvalInt(&classad.Context{}, name)
	return n
}

func (j job) real(name string) float64 {
	x, _ := j.ad.EvalNumber(&classad.Context{}, name)
	return x
}

func (j job) status() pool.Status { return pool.Status(j.int(pool.AttrJobStatus)) }

// setStatus moves the job to another state at t.
func (j job) setStatus(s pool.Status, t time.Time) {
	j.set(pool.AttrLastJobStatus, classad.Int(int64(j.status())))
	j.set(pool.AttrJobStatus, classad.Int(int64(s)))
	j.setTime(pool.AttrEnteredStatus, t)
}

// IdleJobs returns the number of idle jobs of each submitter with jobs in the queue. It goes
// through all of it.
func IdleJobs(v *spool.View, domain string, groups *accountant.Groups) map[string]int {
	idle := map[string]int{}
	for _, cluster := range v.Clusters() {
		for _, run := range cluster.Runs {
			status, _ := run.Ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
			waiting := 0
			if pool.Status(status) == pool.Idle {
				waiting = run.Count()
			}
			idle[Submitter(run.Ad, domain, groups)] += waiting
		}
	}
	return idle
}

// The attributes of a slot that a job wants noted (job_machine_attrs), and for how many
// attempts.
const (
	attrJobMachineAttrs  = "JobMachineAttrs"
	attrMachineAttrsKept = "JobMachineAttrsHistoryLength"
	machineAttr          = "MachineAttr"
)

// Bounds of both.
const (
	mostMachineAttrs  = 100
	mostAttributeName = 100 // bytes
	mostAttemptsKept  = 20
)

// SlotOf returns the ad of a claim's slot, for a piece the ad of the dynamic slot; nil if
// the slot is not advertised any more.
func SlotOf(v *spool.View, c pool.Claim) *classad.Ad {
	return maintained{}.slotOf(v, c)
}

// slotOf does as SlotOf, with the clauses of maintenances in the slot's Requirements.
func (all maintained) slotOf(v *spool.View, c pool.Claim) *classad.Ad {
	slots := v.SlotsNamed([]string{c.SlotAd()})
	if len(slots) == 0 {
		return nil
	}
	all.overlay(&classad.Context{}, slots)
	if c.Piece.Of == "" {
		return slots[0].Ad
	}
	return pool.DynamicAd(slots[0].Ad, c.Slot, c.Piece.Takes)
}

// machineAttrs notes the attributes of the slot that the job asks for: Arch as
// MachineAttrArch0, and the previous attempt's as MachineAttrArch1.
func (j job) machineAttrs(slot *classad.Ad) {
	if slot == nil || !j.ad.Has(attrJobMachineAttrs) {
		return
	}
	text, _ := j.ad.EvalString(&classad.Context{}, attrJobMachineAttrs)
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	kept := 1
	if j.ad.Has(attrMachineAttrsKept) {
		kept = int(min(max(j.int(attrMachineAttrsKept), 0), mostAttemptsKept))
	}
	names = slices.DeleteFunc(names[:min(len(names), mostMachineAttrs)], func(name string) bool {
		return len(name) > mostAttributeName || !pool.ResourceName(name)
	})
	if kept == 0 {
		return
	}
	for i, v := range Values(j.tx, slot, j.ad, names...) {
		j.machineAttr(names[i], kept, v)
	}
}

// machineAttr sets the attribute for this attempt, and moves the values of earlier
// attempts, of which it keeps kept-1.
func (j job) machineAttr(name string, kept int, v classad.Value) {
	for k := kept - 1; k > 0; k-- {
		if before, ok := j.ad.Lookup(machineAttr + name + strconv.Itoa(k-1)); ok {
			j.tx.Set(j.id, machineAttr+name+strconv.Itoa(k), before)
		}
	}
	j.set(machineAttr+name+"0", v)
}

// measured converts usage for the accounts. Memory counts as if the peak had been held
// all the time, which is an upper bound.
func measured(p pool.Progress) accountant.Used {
	return accountant.Used{
		CPU:    p.UserCPU + p.SysCPU,
		Memory: float64(p.PeakKB) / (1 << 20) * p.Wall.Seconds(),
		IO:     float64(p.IOBytes) / (1 << 30),
	}
}

// chargeFor charges a claim's accounts with the usage beyond known.
func chargeFor(tx *spool.Tx, c pool.Claim, p, known pool.Progress, at time.Time, params accountant.Params) {
	now, then := measured(p.After(known)), measured(known)
	used := accountant.Used{CPU: now.CPU - then.CPU, Memory: max(now.Memory-then.Memory, 0), IO: max(now.IO-then.IO, 0)}
	if used != (accountant.Used{}) {
		charge, accounts, params := chargeOf(tx, c, params)
		charge.Report(accounts, used, at, params)
	}
}

// Report notes in the ad of a running job the usage of its attempt so far, and charges the
// accounts. Before is the usage of the attempt that was already reported: only the difference
// is added to the totals. pool.ErrGone: the claim is no longer that attempt's, or has not
// been started.
func Report(tx *spool.Tx, id pool.JobID, attempt int, p, before pool.Progress, at time.Time, params accountant.Params) error {
	tx.Op("report", id.String())
	c, j, err := running(tx, id, attempt)
	if err != nil {
		return err
	}
	chargeFor(tx, c, p, before, at, params)
	t := j.totals()
	j.put(t, t.ran(p, before, c))
	j.progress(p.After(before), c, at.Add(-p.Wall))
	return nil
}

// Checkpointed does as Report when the job has left a checkpoint, with which it goes on
// in its slot: what its attempts took until now counts, whatever becomes of it.
func Checkpointed(tx *spool.Tx, id pool.JobID, attempt int, p, before pool.Progress, at time.Time, params accountant.Params) error {
	tx.Op("checkpoint", id.String())
	c, j, err := running(tx, id, attempt)
	if err != nil {
		return err
	}
	chargeFor(tx, c, p, before, at, params)
	t := j.totals()
	j.put(t, t.ran(p, before, c).commit(c))
	j.progress(p.After(before), c, at.Add(-p.Wall))
	j.checkpoint(at)
	return nil
}

// checkpoint notes that the job has left one.
func (j job) checkpoint(at time.Time) {
	j.set(pool.AttrNumCkpts, classad.Int(j.int(pool.AttrNumCkpts)+1))
	j.setTime(pool.AttrLastCkptTime, at)
}

// running returns the claim of an attempt that was started, and its job.
func running(tx *spool.Tx, id pool.JobID, attempt int) (pool.Claim, job, error) {
	c, ok := tx.Claim(id)
	ad, there := tx.Job(id)
	if !ok || !there || c.Attempt != attempt || c.State != pool.RunningClaim && c.State != pool.Vacating {
		return c, job{}, fmt.Errorf("job %v, attempt %d: %w", id, attempt, pool.ErrGone)
	}
	return c, job{tx, id, ad}, nil
}

// progress notes values that are not summed up over the attempts. Executed is when the
// program was started.
func (j job) progress(p pool.Progress, c pool.Claim, executed time.Time) {
	j.set(pool.AttrWallClockCkpt, classad.Real(micro(p.Wall.Seconds())))
	if !j.ad.Has(pool.AttrExecutingDate) {
		j.setTime(pool.AttrExecutingDate, executed)
	}
	j.usage(p)
}

// usage notes how much of its slot the job uses, on average or at most.
func (j job) usage(p pool.Progress) {
	if p.Wall > 0 {
		cores := (p.UserCPU + p.SysCPU).Seconds() / p.Wall.Seconds()
		j.set(pool.AttrCpusUsage, classad.Real(math.Round(cores*1000)/1000))
	}
	j.grow(pool.AttrDiskUsage, p.DiskKB)
	if p.PeakKB <= 0 {
		return
	}
	j.set(pool.AttrResidentSetSize, classad.Int(p.PeakKB))
	j.grow(pool.AttrImageSize, p.PeakKB)
	if !j.ad.Has(pool.AttrMemoryUsage) {
		j.tx.Set(j.id, pool.AttrMemoryUsage, memoryUsage)
	}
}

// memoryUsage is what HTCondor has a job's ad say of the memory that it used, in MB
// (MEMORY_USAGE_METRIC).
var memoryUsage, _ = classad.ParseExpr("(" + pool.AttrResidentSetSize + " + 1023) / 1024")

// grow sets an attribute that never becomes less.
func (j job) grow(name string, v int64) {
	if v > j.int(name) {
		j.set(name, classad.Int(v))
	}
}

// totals are the sums over the attempts of a job, in seconds; slot is wall times the
// weight of the slot. What all attempts took is committed, when it counted, or wasted:
// wall is the sum of both but while an attempt goes on.
type totals struct {
	wall, user, sys, slot, committed, committedSlot, wasted float64
}

// each hands all totals to do, by the attributes that have them.
func (t *totals) each(do func(name string, x *float64)) {
	do(pool.AttrWallClock, &t.wall)
	do(pool.AttrUserCPU, &t.user)
	do(pool.AttrSysCPU, &t.sys)
	do(pool.AttrCumulativeSlot, &t.slot)
	do(pool.AttrCommittedTime, &t.committed)
	do(pool.AttrCommittedSlotTime, &t.committedSlot)
	do(pool.AttrWastedTime, &t.wasted)
}

func (j job) totals() (t totals) {
	t.each(func(name string, x *float64) { *x = finite(j.real(name)) })
	return t
}

// put sets the totals that have changed.
func (j job) put(was, t totals) {
	var before []float64
	was.each(func(_ string, x *float64) { before = append(before, *x) })
	t.each(func(name string, x *float64) {
		if is := micro(*x); is != before[0] {
			j.set(name, classad.Real(is))
		}
		before = before[1:]
	})
}

// micro rounds seconds to millionths, below which there are only errors of the
// arithmetic.
func micro(seconds float64) float64 { return finite(negotiator.Micro(finite(seconds))) }

// ran adds the usage of an attempt beyond known.
func (t totals) ran(p, known pool.Progress, c pool.Claim) totals {
	p = p.After(known)
	more := (p.Wall - known.Wall).Seconds()
	t.wall += more
	t.user += (p.UserCPU - known.UserCPU).Seconds()
	t.sys += (p.SysCPU - known.SysCPU).Seconds()
	t.slot += more * c.Weight.Float()
	return t
}

// commit counts the attempt's time in its slot as committed.
func (t totals) commit(c pool.Claim) totals {
	more := max(t.wall-t.committed-t.wasted, 0)
	t.committed += more
	t.committedSlot += more * c.Weight.Float()
	return t
}

// waste counts the attempt's time as wasted.
func (t totals) waste() totals {
	t.wasted += max(t.wall-t.committed-t.wasted, 0)
	return t
}
