package lifecycle

import (
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// readMark is the mark under which the spool keeps which attributes of jobs and slots cycles look up
// besides the usual ones, a name a line, the first of them Requirements; readAll stands for all.
const (
	readMark = "read"
	readAll  = "*"
)

// mostRead is how many attributes are read by their names: with more it is whole ads.
const mostRead = 500

// Reading is how a cycle reads jobs and slots. A cycle looks up only a few attributes, and the
// spool remembers them: the first cycle reads whole ads, and later cycles the remembered
// attributes. A cycle that looks up another attribute reads whole ads, too.
type Reading struct {
	read   []string        // nil: whole ads
	unread *classad.Unread // of the last view read; nil: of none yet
	names  []string        // besides the usual ones, for later cycles
	always bool            // later cycles read whole ads
}

// ReadingOf returns how to read a view.
func ReadingOf(v *spool.View) *Reading {
	switch text := v.Mark(readMark); text {
	case "":
		return &Reading{names: []string{pool.AttrRequirements}}
	case readAll:
		return &Reading{always: true}
	default:
		names := strings.Split(text, "\n")
		return &Reading{read: slices.Concat(usual, names), names: names}
	}
}

// Lacks reports whether something was looked up so far that was not read.
func (r *Reading) Lacks() bool {
	missed, all := r.missed()
	return all || len(missed) > 0
}

func (r *Reading) missed() (names []string, all bool) {
	if r.unread == nil {
		return nil, false
	}
	return r.unread.Missed()
}

// Enough reports whether all attributes looked up were read. Otherwise the results may be wrong, and the
// caller has to compute them again, with whole ads from now on.
func (r *Reading) Enough() bool {
	missed, all := r.missed()
	if len(missed) == 0 && !all {
		return true
	}
	r.always = r.always || all
	r.Looked(missed)
	r.read, r.unread = nil, nil
	return false
}

// Looked notes attributes that a cycle looks up.
func (r *Reading) Looked(names []string) {
	for _, name := range names {
		if len(r.names) > mostRead {
			r.always = true
			return
		}
		is := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(usual, is) && !slices.ContainsFunc(r.names, is) {
			r.names = append(r.names, name)
		}
	}
}

// Of returns the part of a view that is read.
func (r *Reading) Of(v *spool.View) *spool.View {
	if r.read != nil {
		v, r.unread = v.Part(r.read, pool.RequestPrefix)
	}
	return v
}

// Look calls do with the part of a view that is read, and again with the whole view if that
// was not enough.
func (r *Reading) Look(v *spool.View, do func(v *spool.View) error) error {
	if err := do(r.Of(v)); err != nil || r.Enough() {
		return err
	}
	return do(v)
}

// LookAtSlots calls do with a view that has of slots what cycles read of them, and with the view itself if do
// looked up more.
func LookAtSlots(v *spool.View, do func(v *spool.View)) {
	r := ReadingOf(v)
	if r.read == nil {
		r.read = usual
	}
	r.Look(v, func(v *spool.View) error { do(v); return nil })
}

// SlotsThat does as spool.SlotsThat. It reads of slots what cycles read of them, or without cycles what the function looks up for
// some slots; if that is not enough, whole ads.
func SlotsThat(v *spool.View, judge func() func(slot *classad.Ad) bool) (names []string, all int) {
	r := ReadingOf(v)
	if r.read == nil && !r.always {
		r.sample(v, judge())
	}
	names, all = spool.SlotsThat(r.Of(v), judge)
	if !r.Enough() {
		names, all = spool.SlotsThat(v, judge)
	}
	return names, all
}

// sampled is how many slots a sample has.
const sampled = 50

// sample finds out what to read by what a function looks up for some slots.
func (r *Reading) sample(v *spool.View, look func(slot *classad.Ad) bool) {
	names := v.SlotNames()
	some := make([]string, min(sampled, len(names)))
	for i := range some {
		some[i] = names[i*7919%len(names)] // a prime: kinds of slots may follow each other in a rhythm
	}
	for enough := false; !enough && !r.always; {
		r.read = slices.Concat(usual, r.names)
		for _, s := range r.Of(v).SlotsNamed(some) {
			look(s.Ad)
		}
		enough = r.Enough()
	}
	r.read = slices.Concat(usual, r.names)
}

// Extract has later cycles read again what this one did without looking through all that the spool has.
func (r *Reading) Extract(v *spool.View) {
	if r.read != nil {
		spool.KeepExtracts(v)
	}
}

// Keep keeps for later cycles what to read.
func (r *Reading) Keep(tx *spool.Tx) {
	text := strings.Join(r.names, "\n")
	if r.always {
		text = readAll
	}
	putMark(tx, readMark, text)
}

// ForgetRead has the next cycle find out anew what to read, if that was whole ads.
func ForgetRead(tx *spool.Tx) {
	if tx.Mark(readMark) == readAll {
		tx.PutMark(readMark, "")
	}
}

// usual are attributes that cycles look up in many pools: of jobs, of jobs and slots, of slots.
var usual = strings.Fields(`
	Owner AccountingGroup AcctGroup JobStatus JobPrio PreJobPrio1 PreJobPrio2 PostJobPrio1 PostJobPrio2
	PeriodicHold PeriodicRelease PeriodicRemove PeriodicVacate TimerRemove NumJobStarts AfterOk AfterAny
	CronMinute CronHour CronDayOfMonth CronMonth CronDayOfWeek
	DiskUsage ConcurrencyLimits JobUniverse LastCheckpointPlatform NumCkpts
	FileSystemDomain Arch OpSys OpSysMajorVer Cpus Memory Disk GPUs
	Machine State ClassAdLifetime LastHeardFrom LoadAvg SlotWeight PartitionableSlot SlotID Start Offline RemoteOwner HasFileTransfer
	CheckpointPlatform IsValidCheckpointPlatform WithinResourceLimits
	EnteredCurrentState RemoteUserPrio RetirementTimeRemaining TotalJobRunTime`)
