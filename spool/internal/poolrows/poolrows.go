// Package poolrows says what the rows of the small tables of the spool have of claims, accounts and the
// rest of the pool: Write functions set the attributes of a row, and Of functions read one.
package poolrows

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/pool"
	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/rowtext"
	"fairspool/spool/internal/windowtext"
)

func credentialsIn(r *rowtext.Row) accountant.Credentials {
	return accountant.Credentials{
		User: r.Optional("Owner"), Group: r.Optional("UnixGroup"), Account: r.Optional("AcctGroup"),
		QOS: r.Optional("QOS"), Class: r.Optional("Class"), Project: r.Optional("Project"), Cpus: r.Int("RequestCpus"), PE: r.Real("PE"),
	}
}

// ClaimOf reads a claim.
func ClaimOf(r *rowtext.Row) (pool.Claim, error) {
	c := pool.Claim{
		Job: rowtext.Parsed(r, "Job", pool.ParseJobID), State: rowtext.Parsed(r, "State", pool.ParseClaimState),
		Attempt: int(r.Int("Attempt")), Slot: r.Text("Slot"), Machine: r.Text("Machine"),
		Submitter: r.Text("Submitter"), Weight: accountant.Weight(r.Int("Weight")), By: credentialsIn(r),
		MatchedAt: r.Time("MatchedAt"), StartedAt: r.Time("StartedAt"), VacateSince: r.Time("VacateSince"),
		PID: int(r.Int("PID")), Seq: uint64(r.Int("Seq")),
		Limits: r.Optional("Limits"), Rank: r.Real("Rank"), ChargedSince: r.Time("ChargedSince"),
		Flocked: r.Optional("Flocked"), Instance: r.Optional("Instance"), Told: int(r.Int("Told")),
		VacateReason: r.Optional("VacateReason"), VacateCode: int(r.Int("VacateCode")), VacateSubcode: int(r.Int("VacateSubcode")),
	}
	var err error
	if c.Piece, err = pieceIn(r); r.Has(promisedToName) {
		c.PromisedTo = rowtext.Parsed(r, promisedToName, pool.ParseJobID)
	}
	return c, cmp.Or(r.Err, err)
}

// pieceIn reads what a claim takes of a partitionable slot; of a whole one there is
// nothing of it in the row.
func pieceIn(r *rowtext.Row) (pool.Piece, error) {
	p := pool.Piece{Of: r.Optional("Of"), Takes: pool.Resources(r.Optional(takesName))}
	if p.Of == "" && p.Takes != "" {
		return p, fmt.Errorf("%s: without Of, whose part that is", takesName)
	}
	if _, err := p.Takes.Amounts(); err != nil {
		return p, fmt.Errorf("%s: %w", takesName, err)
	}
	return p, nil
}

const takesName = "Takes"

// WriteSubmitter writes a submitter's record.
func WriteSubmitter(ad rowtext.Attributes, s accountant.Record) {
	ad.SetString("Name", s.Name)
	ad.SetReal("Priority", s.Priority)
	rowtext.SetTime(ad, "At", s.At)
	ad.SetInt("HalfLife", s.HalfLife.Nanoseconds())
	rowtext.SetReal(ad, "PriorityFactor", s.Factor)
	ad.SetInt("ResourcesUsed", int64(s.ResourcesUsed))
	ad.SetInt("InUse", int64(s.InUse))
	rowtext.SetInt(ad, "Subtree", int64(s.Subtree))
	rowtext.SetInt(ad, "OutsideSlots", int64(s.OutsideSlots))
	rowtext.SetInt(ad, "Outside", int64(s.Outside))
	setUsage(ad, "Slot", s.Slots)
	setUsage(ad, "Weighted", s.Weighted)
	rowtext.SetTime(ad, "Begin", s.Begin)
	rowtext.SetTime(ad, "Last", s.Last)
	if s.Ceiling.Set {
		ad.SetInt("Ceiling", s.Ceiling.Slots)
	}
	rowtext.SetInt(ad, "Floor", s.Floor)
	setLease(ad, "Factor", s.FactorLease)
	setLease(ad, "Ceiling", s.CeilingLease)
	setLease(ad, "Floor", s.FloorLease)
}

func setLease(ad rowtext.Attributes, name string, l accountant.Lease) {
	rowtext.SetTime(ad, name+"Until", l.Until)
	rowtext.SetReal(ad, name+"Before", l.Before)
}

func leaseIn(r *rowtext.Row, name string) accountant.Lease {
	return accountant.Lease{Until: r.Time(name + "Until"), Before: r.Real(name + "Before")}
}

// limitIn reads a bound, none when it is not there.
func limitIn(r *rowtext.Row, name string) accountant.Limit {
	if !r.Has(name) {
		return accountant.Limit{}
	}
	return accountant.LimitOf(r.Int(name))
}

func setUsage(ad rowtext.Attributes, name string, u accountant.Usage) {
	ad.SetInt(name+"Millis", u.Millis)
	if u.Rest != 0 {
		ad.SetInt(name+"Rest", u.Rest)
	}
}

func usageIn(r *rowtext.Row, name string) accountant.Usage {
	return accountant.Usage{Millis: r.Int(name + "Millis"), Rest: r.Int(name + "Rest")}
}

// SubmitterOf reads a submitter's record.
func SubmitterOf(r *rowtext.Row) (accountant.Record, error) {
	s := accountant.Record{
		Name: r.Text("Name"), Priority: r.Real("Priority"), At: r.Time("At"),
		HalfLife: time.Duration(r.Int("HalfLife")), Factor: r.Real("PriorityFactor"),
		ResourcesUsed: int(r.Int("ResourcesUsed")), InUse: accountant.Weight(r.Int("InUse")), Subtree: accountant.Weight(r.Int("Subtree")),
		OutsideSlots: int(r.Int("OutsideSlots")), Outside: accountant.Weight(r.Int("Outside")),
		Slots: usageIn(r, "Slot"), Weighted: usageIn(r, "Weighted"),
		Begin: r.Time("Begin"), Last: r.Time("Last"),
		Ceiling: limitIn(r, "Ceiling"), Floor: r.Int("Floor"),
		FactorLease: leaseIn(r, "Factor"), CeilingLease: leaseIn(r, "Ceiling"), FloorLease: leaseIn(r, "Floor"),
	}
	return s, r.Err
}

// The attributes that have the windows of a tally.
const (
	windowsName     = "Windows"
	equivalentsName = "Equivalents"
)

// WriteTally writes a tally.
func WriteTally(ad rowtext.Attributes, y accountant.Tally) {
	ad.SetString("Kind", y.Kind)
	ad.SetString("Name", y.Name)
	rowtext.SetTime(ad, "At", y.At)
	rowtext.SetInt(ad, "Cpus", y.Cpus)
	if y.PE != accountant.EquivalentsOf(y.Cpus) {
		ad.SetInt("PE", int64(y.PE))
	}
	rowtext.SetInt(ad, "Interval", y.Interval.Nanoseconds())
	if len(y.Windows) > 0 {
		ad.SetString(windowsName, windowtext.Of(y.Windows))
	}
	if slices.ContainsFunc(y.Windows, func(w accountant.Window) bool { return w.Equivalent != w.Dedicated }) {
		ad.SetString(equivalentsName, windowtext.Equivalents(y.Windows))
	}
	setRecent(ad, "Decayed", y.Decayed)
	setRecent(ad, "LongTerm", y.LongTerm)
}

func setRecent(ad rowtext.Attributes, name string, r accountant.Recent) {
	rowtext.SetReal(ad, name+"CPU", r.CPU)
	rowtext.SetReal(ad, name+"Memory", r.Memory)
	rowtext.SetReal(ad, name+"IO", r.IO)
}

// TallyOf reads a tally.
func TallyOf(r *rowtext.Row) (accountant.Tally, error) {
	y := accountant.Tally{
		Key: accountant.Key{Kind: r.Text("Kind"), Name: r.Text("Name")},
		At:  r.Time("At"), Cpus: r.Int("Cpus"), Interval: time.Duration(r.Int("Interval")),
		Windows: windowsIn(r), Decayed: recentIn(r, "Decayed"), LongTerm: recentIn(r, "LongTerm"),
	}
	if y.PE = accountant.EquivalentsOf(y.Cpus); r.Has("PE") {
		y.PE = accountant.Weight(r.Int("PE"))
	}
	return y, r.Err
}

func windowsIn(r *rowtext.Row) []accountant.Window {
	text, equivalents := r.Optional(windowsName), r.Optional(equivalentsName)
	if r.Err != nil {
		return nil
	}
	var windows []accountant.Window
	var err error
	if text != "" {
		if windows, err = windowtext.Parse(text); err != nil {
			r.Err = fmt.Errorf("%s: %w", windowsName, err)
			return nil
		}
	}
	if equivalents != "" {
		if err = windowtext.ParseEquivalents(equivalents, windows); err != nil {
			r.Err = fmt.Errorf("%s: %w", equivalentsName, err)
		}
	}
	return windows
}

func recentIn(r *rowtext.Row, name string) accountant.Recent {
	return accountant.Recent{CPU: r.Real(name + "CPU"), Memory: r.Real(name + "Memory"), IO: r.Real(name + "IO")}
}

// WriteBackoff writes that a slot is left alone.
func WriteBackoff(ad rowtext.Attributes, b pool.Backoff) {
	ad.SetString("Slot", b.Slot)
	ad.SetInt("Failures", int64(b.Failures))
	rowtext.SetTime(ad, "Until", b.Until)
}

// BackoffOf reads that a slot is left alone.
func BackoffOf(r *rowtext.Row) (pool.Backoff, error) {
	b := pool.Backoff{Slot: r.Text("Slot"), Failures: int(r.Int("Failures")), Until: r.Time("Until")}
	return b, r.Err
}

// WriteClaim writes a claim.
func WriteClaim(to rowtext.Attributes, c pool.Claim) {
	to.SetString("Job", c.Job.String()) // and what totals need, see summarytext.Claim
	to.SetString("State", c.State.String())
	to.SetString("Slot", c.Slot)
	to.SetString("Machine", c.Machine)
	rowtext.SetText(to, "Of", c.Piece.Of)
	rowtext.SetText(to, takesName, string(c.Piece.Takes))
	rowtext.SetText(to, "AcctGroup", c.By.Account)
	to.SetInt("Attempt", int64(c.Attempt))
	rowtext.SetTime(to, "ChargedSince", c.ChargedSince)
	rowtext.SetText(to, "Class", c.By.Class)
	rowtext.SetText(to, "Flocked", c.Flocked)
	rowtext.SetText(to, "Instance", c.Instance)
	rowtext.SetText(to, "Limits", c.Limits)
	rowtext.SetTime(to, "MatchedAt", c.MatchedAt)
	rowtext.SetText(to, "Owner", c.By.User)
	rowtext.SetReal(to, "PE", c.By.PE)
	rowtext.SetInt(to, "PID", int64(c.PID))
	rowtext.SetText(to, "Project", c.By.Project)
	if c.PromisedTo != (pool.JobID{}) {
		to.SetString(promisedToName, c.PromisedTo.String())
	}
	rowtext.SetText(to, "QOS", c.By.QOS)
	rowtext.SetReal(to, "Rank", c.Rank)
	rowtext.SetInt(to, "RequestCpus", c.By.Cpus)
	rowtext.SetInt(to, "Seq", int64(c.Seq))
	rowtext.SetTime(to, "StartedAt", c.StartedAt)
	to.SetString("Submitter", c.Submitter)
	rowtext.SetInt(to, "Told", int64(c.Told))
	rowtext.SetText(to, "UnixGroup", c.By.Group)
	rowtext.SetInt(to, "VacateCode", int64(c.VacateCode))
	rowtext.SetText(to, "VacateReason", c.VacateReason)
	rowtext.SetTime(to, "VacateSince", c.VacateSince)
	rowtext.SetInt(to, "VacateSubcode", int64(c.VacateSubcode))
	to.SetInt("Weight", int64(c.Weight))
}

const promisedToName = "PromisedTo"

// WriteReservation writes a reservation.
func WriteReservation(to rowtext.Attributes, r pool.Reservation) {
	to.SetString("Job", r.Job.String())
	to.SetString("Slot", r.Slot)
	to.SetString("Submitter", r.Submitter)
	to.SetInt("Since", r.Since)
}

// ReservationOf reads a reservation.
func ReservationOf(r *rowtext.Row) (pool.Reservation, error) {
	v := pool.Reservation{Job: rowtext.Parsed(r, "Job", pool.ParseJobID), Slot: r.Text("Slot"), Submitter: r.Text("Submitter"), Since: r.Int("Since")}
	return v, r.Err
}

// WriteInput writes the standard input of a cluster's jobs.
func WriteInput(to rowtext.Attributes, in pool.Input) {
	to.SetInt("Cluster", int64(in.Cluster))
	to.SetString("Text", in.Text)
}

// InputOf reads the standard input of a cluster's jobs.
func InputOf(r *rowtext.Row) (pool.Input, error) {
	in := pool.Input{Cluster: int(r.Int("Cluster")), Text: r.Text("Text")}
	return in, r.Err
}

// WriteEndings writes how the jobs of a cluster end.
func WriteEndings(to rowtext.Attributes, e pool.Endings) {
	to.SetInt("Cluster", int64(e.Cluster))
	rowtext.SetText(to, "Owner", e.Owner)
	rowtext.SetText(to, "Name", e.Name)
	rowtext.SetText(to, "To", e.To)
	rowtext.SetInt(to, "Notification", int64(e.Notification))
	rowtext.SetInt(to, "Submitted", e.Submitted)
	rowtext.SetInt(to, "Succeeded", int64(e.Succeeded))
	rowtext.SetInt(to, "Failed", int64(e.Failed))
	rowtext.SetInt(to, "Signalled", int64(e.Signalled))
	rowtext.SetInt(to, "Removed", int64(e.Removed))
	setTexts(to, "Troubles", e.Troubles)
	setTexts(to, "Shown", e.Shown)
	rowtext.SetInt(to, "Held", int64(e.Held))
	rowtext.SetText(to, "FirstHeld", e.FirstHeld)
	rowtext.SetReal(to, "Wall", e.Wall)
	rowtext.SetReal(to, "CPU", e.CPU)
	rowtext.SetInt(to, "First", e.First)
	rowtext.SetInt(to, "Last", e.Last)
	rowtext.SetFlag(to, "Unknown", e.Unknown)
	rowtext.SetText(to, "Seen", e.Seen)
	rowtext.SetInt(to, "From", int64(e.From))
	rowtext.SetInt(to, "Gone", int64(e.Gone))
	rowtext.SetList(to, "Told", e.Told)
	rowtext.SetInt(to, "Tries", int64(e.Tries))
	rowtext.SetInt(to, "Retry", e.Retry)
}

// EndingsOf reads how the jobs of a cluster end.
func EndingsOf(r *rowtext.Row) (pool.Endings, error) {
	number := func(name string) int { return int(r.Int(name)) }
	e := pool.Endings{
		Cluster: number("Cluster"), Owner: r.Optional("Owner"), Name: r.Optional("Name"), To: r.Optional("To"),
		Notification: number("Notification"), Submitted: r.Int("Submitted"),
		Succeeded: number("Succeeded"), Failed: number("Failed"), Signalled: number("Signalled"), Removed: number("Removed"),
		Troubles: readTexts(r, "Troubles"), Shown: readTexts(r, "Shown"),
		Held: number("Held"), FirstHeld: r.Optional("FirstHeld"),
		Wall: r.Real("Wall"), CPU: r.Real("CPU"), First: r.Int("First"), Last: r.Int("Last"),
		Unknown: r.Flag("Unknown"), Seen: r.Optional("Seen"), From: number("From"), Gone: number("Gone"),
		Told:  rowtext.List(r, "Told", func(word string) (pool.Tell, error) { return pool.Tell(word), nil }),
		Tries: number("Tries"), Retry: r.Int("Retry"),
	}
	return e, r.Err
}

// WriteSuccessors writes what a claim may go on with.
func WriteSuccessors(to rowtext.Attributes, q pool.Successors) {
	rowtext.SetList(to, "Jobs", q.Jobs)
	to.SetString("Submitter", q.Submitter)
	rowtext.SetList(to, "Places", q.Places)
	rowtext.SetInt(to, "More", int64(q.More))
	rowtext.SetFlag(to, "Takes", q.Takes)
	rowtext.SetText(to, "Limit", q.Limit)
	rowtext.SetFlag(to, "Asks", q.Asks)
	rowtext.SetText(to, "QOS", q.QOS)
	rowtext.SetReal(to, "PE", q.PE)
}

// SuccessorsOf reads what a claim may go on with.
func SuccessorsOf(r *rowtext.Row) (pool.Successors, error) {
	q := pool.Successors{
		Jobs: rowtext.List(r, "Jobs", pool.ParseProcs), Submitter: r.Text("Submitter"), Places: rowtext.List(r, "Places", strconv.Atoi), More: int(r.Int("More")),
		Takes: r.Flag("Takes"), Limit: r.Optional("Limit"), Asks: r.Flag("Asks"), QOS: r.Optional("QOS"), PE: r.Real("PE"),
	}
	if r.Err == nil && (len(q.Jobs) == 0 || len(q.Places) != len(q.Jobs)) {
		return q, fmt.Errorf("%d successors at %d places", len(q.Jobs), len(q.Places))
	}
	return q, r.Err
}

// FirstSuccessor returns the first job, which no other successors have.
func FirstSuccessor(q pool.Successors) (first pool.JobID) {
	if len(q.Jobs) > 0 {
		first = q.Jobs[0].FirstJob()
	}
	return first
}

// FirstOf returns the first job of the text of a list of procs.
func FirstOf(text string) (pool.JobID, error) {
	first, _, _ := strings.Cut(text, " ")
	p, err := pool.ParseProcs(first)
	return p.FirstJob(), err
}

// WriteEntitled writes what a submitter may have.
func WriteEntitled(to rowtext.Attributes, e pool.Entitled) {
	to.SetString("Submitter", e.Submitter)
	to.SetReal("Weight", e.Weight)
	rowtext.SetList(to, "Jobs", e.Jobs)
}

// EntitledOf reads what a submitter may have.
func EntitledOf(r *rowtext.Row) (pool.Entitled, error) {
	e := pool.Entitled{Submitter: r.Text("Submitter"), Weight: r.Real("Weight"), Jobs: rowtext.List(r, "Jobs", pool.ParseJobID)}
	return e, r.Err
}

// QueuesOf returns how many queues there are in a course.
func QueuesOf(c pool.Course) string {
	if c.OneQueue {
		return "one"
	}
	return "several"
}

// WriteCourse writes what holds of all successors.
func WriteCourse(to rowtext.Attributes, c pool.Course) {
	to.SetString("Queues", QueuesOf(c))
	rowtext.SetInt(to, "More", int64(c.More))
	setTexts(to, "Limits", c.Limits)
}

// CourseOf reads what holds of all successors.
func CourseOf(r *rowtext.Row) (pool.Course, error) {
	queues := r.Text("Queues")
	c := pool.Course{OneQueue: queues == "one", More: int(r.Int("More")), Limits: readTexts(r, "Limits")}
	if r.Err == nil && queues != QueuesOf(c) {
		return c, fmt.Errorf("attribute Queues: %.80s: want one or several", queues)
	}
	return c, r.Err
}

// WritePilot writes a pilot.
func WritePilot(to rowtext.Attributes, p pool.Pilot) {
	to.SetInt("ID", int64(p.ID))
	rowtext.SetTime(to, "AskedAt", p.AskedAt)
	rowtext.SetText(to, "Engine", p.Engine)
	rowtext.SetText(to, "Instance", p.Instance)
	rowtext.SetTime(to, "LiveAt", p.LiveAt)
	to.SetString("Machine", p.Machine)
	rowtext.SetTime(to, "OverAt", p.OverAt)
	rowtext.SetText(to, "Owner", p.Owner)
	rowtext.SetText(to, "Ref", p.Ref)
	rowtext.SetText(to, "Says", p.Says)
	to.SetString("State", p.State.String())
	rowtext.SetText(to, "Token", p.Token)
	rowtext.SetText(to, "Why", p.Why)
}

// PilotOf reads a pilot.
func PilotOf(r *rowtext.Row) (pool.Pilot, error) {
	p := pool.Pilot{
		ID: int(r.Int("ID")), Engine: r.Optional("Engine"), Machine: r.Text("Machine"), State: rowtext.Parsed(r, "State", pool.ParsePilotState),
		Token: r.Optional("Token"), Instance: r.Optional("Instance"),
		AskedAt: r.Time("AskedAt"), LiveAt: r.Time("LiveAt"), OverAt: r.Time("OverAt"), Why: r.Optional("Why"),
		Owner: r.Optional("Owner"), Ref: r.Optional("Ref"), Says: r.Optional("Says"),
	}
	return p, r.Err
}

// setTexts sets a list of texts, if there are any, as a dump has it.
func setTexts(to rowtext.Attributes, name string, list []string) {
	if len(list) > 0 {
		to.SetString(name, string(dumptext.AppendTexts(nil, list)))
	}
}

func readTexts(r *rowtext.Row, name string) []string {
	if !r.Has(name) {
		return nil
	}
	return rowtext.Parsed(r, name, func(text string) ([]string, error) { return dumptext.ParseTexts([]byte(text)) })
}
