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

// mostGuesses is how often a cycle guesses what it will look up, before it reads whole ads.
const mostGuesses = 3

// Reading is how a cycle reads jobs and slots. A cycle looks up only a few attributes, and the spool remembers their names. The first
// cycle, and one that looks up other attributes, guesses the names from the expressions of some jobs and slots.
type Reading struct {
	guess   bool            // what to read is to be guessed
	guesses int             // how often it was
	read    []string        // nil: whole ads
	unread  *classad.Unread // of the last view read; nil: of none yet
	names   []string        // besides the usual ones, for later cycles
	always  bool            // later cycles read whole ads
}

// ReadingOf returns how to read a view.
func ReadingOf(v *spool.View) *Reading {
	switch text := v.Mark(readMark); text {
	case "":
		return &Reading{guess: true, names: []string{pool.AttrRequirements}}
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
// caller has to compute them again, with more attributes from now on.
func (r *Reading) Enough() bool {
	missed, all := r.missed()
	if len(missed) == 0 && !all {
		return true
	}
	r.always = r.always || all
	r.Looked(missed)
	r.read, r.unread, r.guess = nil, nil, r.guesses < mostGuesses && !r.always
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
	if r.guess {
		r.guessAt(v)
	}
	if r.read != nil {
		v, r.unread = v.Part(r.read, pool.RequestPrefix)
	}
	return v
}

// Look calls do with the part of a view that is read, and again with more of it if that was not enough.
func (r *Reading) Look(v *spool.View, do func(v *spool.View) error) error {
	for {
		if err := do(r.Of(v)); err != nil || r.Enough() {
			return err
		}
	}
}

// LookAtSlots calls do with a view that has of slots what cycles read of them, and with more of it if that was not enough.
func LookAtSlots(v *spool.View, do func(v *spool.View)) {
	r := ReadingOf(v)
	if r.guess {
		r.guess, r.read = false, usual
	}
	r.Look(v, func(v *spool.View) error { do(v); return nil })
}

// SlotsThat does as spool.SlotsThat. It reads of slots what cycles read of them, or without cycles what the function looks up for
// some slots, and more if that is not enough.
func SlotsThat(v *spool.View, judge func() func(slot *classad.Ad) bool) (names []string, all int) {
	r := ReadingOf(v)
	if r.guess {
		r.sample(v, judge())
	}
	r.Look(v, func(v *spool.View) error { names, all = spool.SlotsThat(v, judge); return nil })
	return names, all
}

// sampled is how many slots a sample has, and how many jobs at most.
const sampled = 50

// someSlots returns the names of a sample of the slots.
func someSlots(v *spool.View) []string {
	names := v.SlotNames()
	some := make([]string, min(sampled, len(names)))
	for i := range some {
		some[i] = names[i*stride%len(names)]
	}
	return some
}

// stride is a prime: kinds of slots may follow each other in a rhythm.
const stride = 7919

// sample finds out what to read by what a function looks up for some slots.
func (r *Reading) sample(v *spool.View, look func(slot *classad.Ad) bool) {
	some := someSlots(v)
	for enough := false; !enough && !r.always; {
		r.guess, r.read = false, slices.Concat(usual, r.names)
		for _, s := range r.Of(v).SlotsNamed(some) {
			look(s.Ad)
		}
		enough = r.Enough()
	}
}

// guessAt guesses what to read: what decides about matches of some jobs and slots. It leaves out what their policies refer to. Most of
// that is never looked up, and EnteredCurrentStatus, say, differs from job to job: with it no two jobs would share an ad.
func (r *Reading) guessAt(v *spool.View) {
	r.guess, r.guesses = false, r.guesses+1
	var ads []*classad.Ad
	for _, s := range v.SlotsNamed(someSlots(v)) {
		ads = append(ads, s.Ad)
	}
	for i := range sampled {
		if c, there := v.Cluster(i*stride%max(v.NextCluster(), 1) + 1); there && len(c.Runs) > 0 {
			ads = append(ads, c.Runs[0].Ad)
		}
	}
	found, known := append(slices.Clone(r.names), pool.AttrRank, pool.AttrConcurrencyLimits), map[string]bool{}
	for _, ad := range ads {
		found = append(found, ad.NamesFrom(pool.RequestPrefix)...)
	}
	for len(found) > 0 {
		name := strings.ToLower(found[0])
		if found = found[1:]; known[name] {
			continue
		}
		known[name] = true
		r.Looked([]string{name})
		found = append(found, referred(ads, classad.NewName(name))...)
	}
	if !r.always {
		r.read = slices.Concat(usual, r.names)
	}
}

// referred returns the names that the ads' expressions of one name look up.
func referred(ads []*classad.Ad, name *classad.Name) (names []string) {
	seen := map[*classad.Expr]bool{}
	for _, ad := range ads {
		if _, e, _ := ad.Get(name); e != nil && !seen[e] {
			seen[e] = true
			looks, _ := classad.Sides(e)
			names = slices.Concat(names, looks.Own, looks.Other, looks.Either)
		}
	}
	return names
}

// Extract has later cycles read again what this one did without looking through all that the spool has. A cycle that guesses leaves it to
// the next one, which may have more to read.
func (r *Reading) Extract(v *spool.View) {
	if r.read != nil && r.guesses == 0 {
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
	PeriodicHold PeriodicRelease PeriodicRemove PeriodicVacate TimerRemove LeaveJobInQueue NumJobStarts AfterOk AfterAny DependenciesMet
	PeriodicHoldReason PeriodicHoldSubCode PeriodicReleaseReason PeriodicReleaseSubCode PeriodicRemoveReason PeriodicRemoveSubCode
	PeriodicVacateReason PeriodicVacateSubCode DeferralTime DeferralWindow FlockedTo
	CronMinute CronHour CronDayOfMonth CronMonth CronDayOfWeek
	DiskUsage ConcurrencyLimits JobUniverse LastCheckpointPlatform NumCkpts
	FileSystemDomain Arch OpSys OpSysMajorVer Cpus Memory Disk GPUs
	Machine State ClassAdLifetime LastHeardFrom LoadAvg SlotWeight PartitionableSlot SlotID Start Offline RemoteOwner HasFileTransfer
	CheckpointPlatform IsValidCheckpointPlatform WithinResourceLimits
	MachineResources TotalSlotCpus TotalSlotMemory TotalSlotDisk
	EnteredCurrentState RemoteUserPrio RetirementTimeRemaining TotalJobRunTime JobCurrentStartDate`)
