package negotiate

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/cmd/internal/trial"
	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/nearest"
	"fairspool/lib/policy/maui"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
)

// readQdel reads jobs that leave: `12.0`.
func readQdel(words []string) (func(*world) error, error) {
	names, err := selection.Parse(words)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if len(words) == 0 {
		return nil, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user")
	}
	return func(w *world) error { return w.remove(names) }, nil
}

// remove takes jobs out of the queue. What runs is taken to have ended already.
func (w *world) remove(names selection.Names) error {
	spans, err := w.named(names)
	if err != nil {
		return err
	}
	w.eachOf(spans, func(jobprio.Run) []jobprio.Run { return nil })
	for _, list := range spans {
		w.gone = append(w.gone, list...)
	}
	for _, c := range w.Claims() {
		if spans.Has(c.Job) {
			w.End(c)
		}
	}
	return nil
}

// readPrio reads priorities: `+5 12`, `-p 3 12.0`, `-system 5 12`.
func readPrio(words []string) (func(*world) error, error) {
	line := cmdline.Command{Name: "prio", Number: "adjust", Flags: []cmdline.Flag{
		{Name: "p", Args: []string{"N"}}, {Name: "adjust", Args: []string{"N"}}, {Name: "system", Args: []string{"N"}},
	}}
	flags, args, err := line.Parse(words)
	switch {
	case err != nil || len(flags) != 1: // prio has options that change what cannot be tried
		return nil, cmdline.Usagef("want a new priority, -p N, an adjustment, +N or -N, or -system N")
	case len(args) == 0:
		return nil, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user")
	}
	names, err := selection.Parse(args)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if flags[0].Name == "system" {
		s, err := maui.ReadSystemPriority(flags[0].Args[0])
		if err != nil {
			return nil, cmdline.Usagef("%v", err)
		}
		return func(w *world) error { return w.setSystem(names, s) }, nil
	}
	n, err := strconv.ParseInt(flags[0].Args[0], 10, 32)
	if err != nil {
		return nil, cmdline.Usagef("%q: want a whole number from %d to %d", flags[0].Args[0], math.MinInt32, math.MaxInt32)
	}
	adjust := flags[0].Name == "adjust"
	return func(w *world) error { return w.prioritise(names, n, adjust) }, nil
}

// setSystem sets the system priorities of jobs.
func (w *world) setSystem(names selection.Names, s maui.SystemPriority) error {
	n, err := s.Kept(registry.Of(&w.Config), &w.Config)
	if err != nil {
		return err
	}
	spans, err := w.named(names)
	if err != nil {
		return err
	}
	w.eachOf(spans, func(j jobprio.Run) []jobprio.Run {
		j.Ad = j.Ad.Clone()
		j.Ad.SetInt(pool.AttrSystemPriority, n)
		return []jobprio.Run{j}
	})
	return nil
}

// prioritise sets the priorities of jobs to n, or adds it to them.
func (w *world) prioritise(names selection.Names, n int64, adjust bool) error {
	spans, err := w.named(names)
	if err != nil {
		return err
	}
	w.eachOf(spans, func(j jobprio.Run) []jobprio.Run {
		jobs := []jobprio.Run{j}
		if e, ok := j.Ad.Lookup(pool.AttrJobPrio); adjust && ok {
			if _, constant := e.Constant(); !constant {
				jobs = apart(j)
			}
		}
		for i := range jobs {
			old, _ := jobs[i].Ad.EvalInt(&classad.Context{}, pool.AttrJobPrio)
			to := n
			if adjust {
				to += old
			}
			if least, most := registry.Of(&w.Config).Rules(&w.Config).Priorities(); to < least || to > most {
				err = fmt.Errorf("%v: priority %d is outside of %d to %d", jobs[i].FirstJob(), to, least, most)
			}
			jobs[i].Ad = jobs[i].Ad.Clone()
			jobs[i].Ad.SetInt(pool.AttrJobPrio, to)
		}
		return jobs
	})
	return err
}

// maxNew bounds how many jobs or slots a change may add.
const maxNew = 1_000_000

// readSubmit reads jobs that are added: `100 like 12.0`.
func readSubmit(words []string) (func(*world) error, error) {
	const usage = "want a number and a cluster or job, like 100 like 12.0"
	if len(words) != 3 || words[1] != "like" {
		return nil, cmdline.Usagef(usage)
	}
	n, err := count(words[0])
	if err != nil {
		return nil, err
	}
	id, _, err := readJob(words[2])
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	return func(w *world) error { return w.submit(n, id, words[2]) }, nil
}

// count reads a number of jobs or slots to add.
func count(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxNew {
		return 0, cmdline.Usagef("%q: want a whole number from 1 to %d", word, maxNew)
	}
	return n, nil
}

// readJob reads a cluster or a job; a cluster's proc is none, -1.
func readJob(word string) (id pool.JobID, whole bool, err error) {
	if cluster, err := pool.ParseCluster(word); err == nil {
		return pool.JobID{Cluster: cluster, Proc: -1}, true, nil
	}
	if id, err = pool.ParseJobID(word); err != nil {
		err = fmt.Errorf("%q: want a cluster or a job like 12.0", word)
	}
	return id, false, err
}

// ofItsPast are the attributes of a job's ad that tell what became of it so far. How large
// it was found to be (ImageSize, DiskUsage) is not among them: requests may refer to it, and
// the description may have set it.
var ofItsPast = []string{
	pool.AttrLastJobStatus, pool.AttrRemoteHost, pool.AttrRemoteSlotID, pool.AttrLastRemoteHost, pool.AttrCurrentHosts,
	pool.AttrNumJobMatches, pool.AttrLastMatchTime, pool.AttrNumShadowStarts, pool.AttrJobRunCount, pool.AttrNumJobStarts,
	pool.AttrJobStartDate, pool.AttrCurrentStartDate, pool.AttrLastStartDate, pool.AttrExecutingDate, pool.AttrShadowBday,
	pool.AttrWallClock, pool.AttrWallClockCkpt, pool.AttrLastWallClock, pool.AttrCumulativeSlot, pool.AttrCommittedTime,
	pool.AttrCommittedSlotTime, pool.AttrWastedTime, pool.AttrUserCPU, pool.AttrSysCPU, pool.AttrCpusUsage,
	pool.AttrResidentSetSize, pool.AttrMemoryUsage, pool.AttrBytesSent, pool.AttrBytesRecvd, pool.AttrTickets,
	pool.AttrMemoryLimitedBy, pool.AttrDiskLimitedBy, pool.AttrNumCkpts, pool.AttrLastCkptTime,
	pool.AttrExitBySignal, pool.AttrExitCode, pool.AttrExitSignal, pool.AttrNumCompletions, pool.AttrCompletionDate,
	pool.AttrRemoveReason, pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode,
	pool.AttrLastHoldReason, pool.AttrLastHoldReasonCode, pool.AttrLastHoldReasonSubCode, pool.AttrReleaseReason,
	pool.AttrNumHolds, pool.AttrNumSystemHolds, pool.AttrVacateReason, pool.AttrVacateReasonCode, pool.AttrVacateReasonSub,
	pool.AttrLastVacateTime, pool.AttrEligibleSince, pool.AttrBypassCount, pool.AttrSystemPriority,
}

// ofItsSlots are the names of what a job's ad has from the slots that it had.
var ofItsSlots = regexp.MustCompile(`^(MATCH_|MachineAttr.*[0-9]$)`)

// submit adds a cluster of n idle jobs that are otherwise like the one given.
func (w *world) submit(n int, like pool.JobID, written string) error {
	if list := w.added(written); len(list) > 0 {
		like = pool.JobID{Cluster: list[0].Cluster, Proc: list[0].First}
	} else if like.Proc < 0 {
		like.Proc = 0
		if cluster, ok := w.Queue.Cluster(like.Cluster); ok && len(cluster.Runs) > 0 {
			like.Proc = cluster.Runs[0].First
		}
	}
	old, ok := w.job(like)
	if !ok {
		return fmt.Errorf("%s: not in the queue", written)
	}
	ad := old.Flat().Clone()
	for _, name := range append(ad.OwnNames(), ofItsPast...) {
		if slices.Contains(ofItsPast, name) || ofItsSlots.MatchString(name) {
			ad.Delete(name)
		}
	}
	ad.SetInt(pool.AttrClusterID, int64(w.next))
	ad.SetInt(pool.AttrProcID, 0)
	ad.SetInt(pool.AttrJobStatus, int64(pool.Idle))
	ad.SetInt(pool.AttrQDate, w.Now.Unix())
	ad.SetInt(pool.AttrEnteredStatus, w.Now.Unix())
	w.Pool.Jobs = append(w.Pool.Jobs, jobprio.Run{
		Procs:     pool.Procs{Cluster: w.next, First: 0, Last: n - 1},
		Submitter: w.submitter(ad),
		Ad:        ad,
	})
	w.next++
	return nil
}

// job returns the ad of a job of the queue, or of one that a change added.
func (w *world) job(id pool.JobID) (*classad.Ad, bool) {
	for _, j := range w.Pool.Jobs {
		if id.Cluster >= w.firstNew && j.Has(id) {
			return j.Ad, true
		}
	}
	return w.Queue.Job(id)
}

// named returns the jobs that have these names, as the changes so far left them.
func (w *world) named(names selection.Names) (trial.Spans, error) {
	s := trial.Spans{}
	for _, word := range names.Words() {
		one, err := selection.Parse([]string{word})
		if err != nil {
			return nil, err
		}
		list, _ := one.In(w.Queue)
		var jobs []pool.Procs
		for _, x := range list {
			jobs = append(jobs, x.Procs)
		}
		jobs = without(append(jobs, w.added(word)...), w.gone)
		if len(jobs) == 0 {
			return nil, fmt.Errorf("%s: not in the queue", word)
		}
		for _, p := range jobs {
			s[p.Cluster] = append(s[p.Cluster], p)
		}
	}
	for _, list := range s {
		slices.SortFunc(list, pool.Procs.Compare)
	}
	return s, nil
}

// added returns the jobs of a cluster, job or user that changes added.
func (w *world) added(name string) (list []pool.Procs) {
	id, whole, err := readJob(name)
	for _, j := range w.Pool.Jobs {
		p := j.Procs
		if p.Cluster < w.firstNew {
			continue
		}
		owner, _ := j.Ad.EvalString(&classad.Context{}, pool.AttrOwner)
		user, _ := j.Ad.EvalString(&classad.Context{}, pool.AttrUser)
		switch {
		case err != nil && (name == owner || name == user), err == nil && whole && p.Cluster == id.Cluster:
			list = append(list, p)
		case err == nil && p.Has(id):
			list = append(list, pool.Only(id))
		}
	}
	return list
}

// eachOf replaces the idle and held jobs in spans by what becomes of them.
func (w *world) eachOf(s trial.Spans, become func(jobprio.Run) []jobprio.Run) {
	w.Pool.Jobs = s.Replaced(w.Pool.Jobs, become)
	w.Pool.Held = s.Replaced(w.Pool.Held, become)
}

// apart returns the procs of a run one by one.
func apart(j jobprio.Run) []jobprio.Run {
	jobs := make([]jobprio.Run, j.Count())
	for i := range jobs {
		jobs[i] = j.Part(j.First+i, j.First+i)
	}
	return jobs
}

// readSlots reads a change of slots: `add 10 like slot1@node1`.
func readSlots(words []string) (func(*world) error, error) {
	const usage = "want one of: add N like NAME; withdraw NAME...; set NAME ATTRIBUTE=EXPRESSION..."
	switch {
	case len(words) == 4 && words[0] == "add" && words[2] == "like":
		n, err := count(words[1])
		return func(w *world) error { return w.addSlots(n, words[3]) }, err
	case len(words) > 1 && words[0] == "withdraw":
		return func(w *world) error { return w.withdraw(words[1:]) }, nil
	case len(words) > 2 && words[0] == "set":
		settings, err := readAttributes(words[2:])
		return func(w *world) error { return w.setSlot(words[1], settings) }, err
	}
	return nil, cmdline.Usagef(usage)
}

// attribute is an attribute of an ad, and what it is set to.
type attribute struct {
	name string
	to   *classad.Expr
}

func readAttributes(words []string) ([]attribute, error) {
	var list []attribute
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok || !isName(name) {
			return nil, cmdline.Usagef("%s: want ATTRIBUTE=EXPRESSION", word)
		}
		if strings.EqualFold(name, pool.AttrName) {
			return nil, cmdline.Usagef("%s: a slot keeps its name", word)
		}
		e, err := classad.ParseExpr(text)
		if err != nil {
			return nil, cmdline.Usagef("%s: %v", name, err)
		}
		list = append(list, attribute{name, e})
	}
	return list, nil
}

// isName reports whether a text can be the name of an attribute without quotes.
func isName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '_', c|0x20 >= 'a' && c|0x20 <= 'z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return text != ""
}

// slot returns the place of a slot's ad.
func (w *world) slot(name string) (int, bool) {
	i := slices.IndexFunc(w.Pool.Slots, func(s pool.Slot) bool { return s.Name == name })
	return i, i >= 0
}

// slotNames returns all names of slots' ads.
func (w *world) slotNames() []string {
	names := make([]string, len(w.Pool.Slots))
	for i, s := range w.Pool.Slots {
		names[i] = s.Name
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// like returns the place of the slot called name, or an error with the one that was
// probably meant.
func (w *world) like(name string) (int, error) {
	i, ok := w.slot(name)
	if !ok {
		return i, fmt.Errorf("%s: no such slot%s", name, nearest.Hint(name, w.slotNames()))
	}
	return i, nil
}

// addSlots adds n slots with the ad of the one called name, free and under names of
// their own: what-if1-slot1@node and on, like slot1@node. Those come behind the others
// wherever names decide, so that nothing moves for the sake of a name.
func (w *world) addSlots(n int, name string) error {
	i, err := w.like(name)
	if err != nil {
		return err
	}
	ad := w.unclaimed(w.Pool.Slots[i].Ad)
	taken := map[string]bool{}
	for _, s := range w.Pool.Slots {
		taken[s.Name] = true
	}
	for k := 1; n > 0; k++ {
		fresh := "what-if" + strconv.Itoa(k) + "-" + name
		if taken[fresh] {
			continue
		}
		one := ad.Clone()
		one.SetString(pool.AttrName, fresh)
		w.Pool.Slots = append(w.Pool.Slots, pool.Slot{Name: fresh, Ad: one})
		n--
	}
	return nil
}

// ofHolder are the attributes of a slot's ad that tell of whoever holds it.
var ofHolder = []string{
	pool.AttrRemoteUser, pool.AttrRemoteOwner, pool.AttrAccountingGroup, "RemoteGroup", "RemoteNegotiatingGroup",
	"RemoteAutoregroup", "JobId", "GlobalJobId", "JobStart", "ClientMachine", "CurrentRank", "ConcurrencyLimits",
	"PreemptingUser", "PreemptingOwner", "PreemptingRank", "PreemptingConcurrencyLimits",
}

// unclaimed returns a slot's ad as the slot would be advertised now if nobody held it.
func (w *world) unclaimed(ad *classad.Ad) *classad.Ad {
	ad = ad.Flat().Clone()
	for _, name := range ofHolder {
		ad.Delete(name)
	}
	if ad.Has(pool.AttrState) {
		ad.SetString(pool.AttrState, "Unclaimed")
	}
	if ad.Has(pool.AttrActivity) {
		ad.SetString(pool.AttrActivity, "Idle")
	}
	if ad.Has(pool.AttrLastHeardFrom) {
		ad.SetInt(pool.AttrLastHeardFrom, w.Now.Unix())
	}
	return ad
}

// withdraw takes slots out of the pool, those written by hand too. As with the real
// one, what has a claim stays.
func (w *world) withdraw(names []string) error {
	claimed := map[string]pool.JobID{}
	for _, c := range w.Claims() {
		claimed[c.SlotAd()] = c.Job
	}
	for _, name := range names {
		i, err := w.like(name)
		if err != nil {
			return err
		}
		if job, ok := claimed[name]; ok {
			return fmt.Errorf("%s: claimed for job %v: remove that first, with -what-if 'qdel %v'", name, job, job)
		}
		w.Pool.Slots = slices.Delete(w.Pool.Slots, i, i+1)
	}
	return nil
}

// setSlot sets attributes of a slot's ad. A lone name that is no attribute of it would
// be undefined: it is a text whose quotes went as those of the words do.
func (w *world) setSlot(name string, settings []attribute) error {
	i, err := w.like(name)
	if err != nil {
		return err
	}
	ad := w.Pool.Slots[i].Ad.Clone()
	for _, a := range settings {
		if _, constant := a.to.Constant(); !constant && isName(a.to.String()) && !ad.Has(a.to.String()) {
			return fmt.Errorf("%s: the slot has no attribute %s; a text has quotes of its own: '%s=\"%s\"'", a.name, a.to, a.name, a.to)
		}
		ad.Set(a.name, a.to)
	}
	w.Pool.Slots[i].Ad = ad
	return nil
}
