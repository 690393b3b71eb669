package queue

import (
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/config"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/jobprio"
	"fairspool/lib/lifecycle"
	"fairspool/lib/parallel"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Queue is the source of all displays, as of a time.
type Queue struct {
	View   *spool.View // its jobs may have no more attributes than Reads names
	Whole  *spool.View // with all attributes of the jobs; nil: View has them
	Domain string
	Config *config.Config
	Now    time.Time
	Report func() ([]byte, error)                         // the last cycle's, as spool.Spool.Report has it
	Warn   func(format string, args ...any)               // reports slots that cannot be read
	Stuck  func(state string, claim *pool.Claim) []string // says what in the pool keeps a job from running
	// Silence returns the silence of a machine with a pilot that runs jobs; nil: silence
	// is not shown.
	Silence func(machine string) lifecycle.Silence
	// Carried words the progress of an attempt's files on their way to or from another machine; empty: none are. nil:
	// that is not shown.
	Carried func(machine string, a pool.Attempt) string

	past      bool       // the jobs have left the queue
	hierarchy *hierarchy // nil: submitters go by EUP
	// leavers are the claims on promised slots, by the job that is to have the slot; nil: not yet known.
	leavers map[pool.JobID]pool.Claim
	claimed []pool.ClaimSummary // nil: not yet known
}

// submitter returns the submitter that is charged for a job.
func (q *Queue) submitter(ad *classad.Ad) string {
	return lifecycle.Submitter(ad, q.Domain, q.Config.Groups)
}

func (q *Queue) context() *classad.Context { return &classad.Context{Now: q.Now} }

// row is one line of the table: jobs of one cluster that look alike.
type row struct {
	cells               // shown values, which are equal for jobs on one line
	extras              // the same for optional columns
	ranges []pool.Procs // the procs, ascending
	claim  *pool.Claim  // nil for none
	key    jobprio.Job  // of the first proc: its place in the order
	owner  string       // as the ad has it
	group  string       // the accounting group
	who    *account     // the submitter
	// command is the command as typed, in the brief layout; for several different ones, their
	// common beginning (commands).
	command  string
	commands bool
	ad       *classad.Ad   // of the first proc; nil in tables where nothing needed it
	place    int           // of the first proc in the queue of all jobs; 0: it has none
	why      string        // the policy leaves the jobs out of that queue
	aside    bool          // they wait and take no part: they stand among the held ones
	shown    *policy.Shown // a policy's values for the first proc, if it has one queue; nil under others
}

type cells struct {
	cluster           int
	prior             int64 // JobPrio, or its replacement in a policy with one queue
	name, user, state string
	slot              string    // of a job with a claim
	at                time.Time // of the start, else of the submission
	slots             int64
}

// rows returns the lines of the list with what its columns show, in their order.
func (l Listing) rows(c columns) []*row {
	rows := l.read(c, l.Jobs)
	o := l.order()
	for _, r := range rows {
		if r.asked.unmet != "" {
			r.asked.unmet = l.unended(r.asked.unmet)
		}
		r.who = o.account(r.owner, r.group)
	}
	return o.ordered(rows, !c.Single)
}

// read makes rows of all jobs, by ascending id. What takes its time is done by all
// processors.
func (q *Queue) read(c columns, procs []spool.Run) []*row {
	claims := claimsOf(q.View.Claims())
	bounds := parallel.Bounds(len(procs), 1)
	made := make([][]*row, len(bounds)-1)
	parallel.Parts(bounds, func(part, from, to int) {
		m := maker{reader: q.reader(), columns: c, from: q}
		for _, s := range procs[from:to] {
			for p, claim := range claims.parts(s) {
				m.rows(p, claim)
			}
		}
		made[part] = m.made
	})
	return slices.Concat(made...)
}

// split makes a row of each job with a claim, and one of consecutive jobs
// without. Each has its ad.
func (q *Queue) split(s spool.Run, of map[pool.JobID]pool.Claim) (rows []*row) {
	m := maker{reader: q.reader(), from: q}
	first := s.First
	for p := s.First; p <= s.Last; p++ {
		if c, ok := of[pool.JobID{Cluster: s.Cluster, Proc: p}]; ok {
			m.equal(s, first, p-1, nil)
			m.equal(s, p, p, &c)
			first = p + 1
		}
	}
	m.equal(s, first, s.Last, nil)
	for _, r := range m.made {
		if r.ad == nil {
			r.ad = s.Proc(r.ranges[0].First)
		}
	}
	return m.made
}

// maker makes rows of procs.
type maker struct {
	*reader
	columns
	from *Queue
	made []*row
	room []row // for those to come, allocated together
	near []pool.Procs
}

func (m *maker) equal(s spool.Run, first, last int, claim *pool.Claim) {
	if first <= last {
		s.First, s.Last = first, last
		m.rows(s, claim)
	}
}

// rows makes one row of procs of a run, or one of each where something that is shown
// or that orders them is an expression, which each may evaluate differently. In a queue of
// all jobs the policy says which may share a row.
func (m *maker) rows(s spool.Run, claim *pool.Claim) {
	for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
		var in *placed
		if claim == nil {
			in, s.Last = m.from.hierarchy.among(s)
		}
		m.of(s)
		r := m.row(claim)
		if m.varies || m.Single {
			s.Last = s.First
		}
		r.ranges = m.ranges(s)
		if h := m.from.hierarchy; h != nil {
			if in != nil {
				r.place, r.why = in.placeOf(s.First), in.why
			}
			h.fill(m, r, in)
		}
	}
}

// block is how many rows are allocated together.
const block = 512

func (m *maker) next() *row {
	if len(m.room) == 0 {
		m.room = make([]row, block)
	}
	r := &m.room[0]
	m.room = m.room[1:]
	m.made = append(m.made, r)
	return r
}

func (m *maker) ranges(s spool.Run) []pool.Procs {
	if len(m.near) == 0 {
		m.near = make([]pool.Procs, block)
	}
	one := m.near[:1:1]
	m.near = m.near[1:]
	one[0] = s.Procs
	return one
}

func (m *maker) row(claim *pool.Claim) *row {
	r := m.next()
	stand := m.standing(claim)
	r.key = m.job()
	r.owner, r.group = m.text(ownerName), m.text(groupName)
	r.cells = cells{
		cluster: m.procs.Cluster, prior: r.key.JobPrio, name: clean.Line(m.name()), user: clean.Line(r.owner),
		state: stand.state(), at: unix(r.key.QDate), slots: 1,
	}
	if n, ok := m.value(cpusName).Int(); ok {
		r.slots = n
	}
	if claim != nil {
		r.claim, r.slot, r.at = claim, claim.Slot, claim.MatchedAt
		if !claim.StartedAt.IsZero() {
			r.at = claim.StartedAt
		}
	}
	m.extend(r)
	r.ad = m.own
	return r
}

// job returns the values that order the procs, as jobprio.JobOf does.
func (m *maker) job() jobprio.Job {
	return jobprio.Job{
		ID:          pool.JobID{Cluster: m.procs.Cluster, Proc: m.procs.First},
		PreJobPrio1: m.int(preName1), PreJobPrio2: m.int(preName2), JobPrio: m.int(prioName),
		PostJobPrio1: m.int(postName1), PostJobPrio2: m.int(postName2), QDate: m.int(qdateName),
	}
}

// name returns a job's name: what its user called it, else its program.
func (r *reader) name() string {
	if name := r.text(batchName); name != "" {
		return name
	}
	if path := r.text(cmdName); path != "" {
		return filepath.Base(path)
	}
	return "-" // another user's
}

// unended returns the clusters of a list that have jobs in the queue.
func (q *Queue) unended(list string) string {
	var there []string
	for _, word := range strings.Split(list, ", ") {
		if id, err := pool.ParseCluster(word); err == nil {
			if _, ok := q.View.Cluster(id); ok {
				there = append(there, word)
			}
		}
	}
	return strings.Join(there, ", ")
}

// The attributes that every listing reads of every job.
var (
	statusName    = classad.NewName(pool.AttrJobStatus)
	codeName      = classad.NewName(pool.AttrHoldReasonCode)
	startsName    = classad.NewName(pool.AttrNumJobStarts)
	afterOkName   = classad.NewName("AfterOk")
	afterAnyName  = classad.NewName("AfterAny")
	metName       = classad.NewName("DependenciesMet")
	deferralName  = classad.NewName("DeferralTime")
	deadlineName  = classad.NewName("Deadline")
	ownerName     = classad.NewName(pool.AttrOwner)
	groupName     = classad.NewName(pool.AttrAccountingGroup)
	batchName     = classad.NewName("JobBatchName")
	argumentsName = classad.NewName(pool.AttrArguments)
	argsName      = classad.NewName(pool.AttrArgs)
	bySignalName  = classad.NewName(pool.AttrExitBySignal)
	signalName    = classad.NewName(pool.AttrExitSignal)
	exitName      = classad.NewName(pool.AttrExitCode)
	cmdName       = classad.NewName(pool.AttrCmd)
	cpusName      = classad.NewName(pool.AttrRequestCpus)
	preName1      = classad.NewName(pool.AttrPreJobPrio1)
	preName2      = classad.NewName(pool.AttrPreJobPrio2)
	prioName      = classad.NewName(pool.AttrJobPrio)
	postName1     = classad.NewName(pool.AttrPostJobPrio1)
	postName2     = classad.NewName(pool.AttrPostJobPrio2)
	qdateName     = classad.NewName(pool.AttrQDate)
	holdName      = classad.NewName(pool.AttrHoldReason)
	beganName     = classad.NewName(pool.AttrCurrentStartDate)
	enteredName   = classad.NewName(pool.AttrEnteredStatus)
	projectName   = classad.NewName(pool.AttrProject)
	departName    = classad.NewName("Department")
	userCPUName   = classad.NewName(pool.AttrUserCPU)
	sysCPUName    = classad.NewName(pool.AttrSysCPU)
	residentName  = classad.NewName(pool.AttrResidentSetSize)
	bytesInName   = classad.NewName("BytesRecvd")
	bytesOutName  = classad.NewName("BytesSent")
)

// totalsNames and listedNames are the attributes that all totals and that all listings read,
// without those for -r and for columns. Both include the attributes by which jobs are chosen,
// except by -constraint.
var (
	totalsNames = wordsOf(statusName, codeName, startsName, afterOkName, afterAnyName, metName, cpusName,
		classad.NewName(pool.AttrUser), ownerName, holdName, deferralName)
	listedNames = append(wordsOf(groupName, batchName, cmdName, preName1, preName2, prioName, postName1, postName2, qdateName), totalsNames...)
)

func wordsOf(names ...*classad.Name) (list []string) {
	for _, n := range names {
		list = append(list, n.String())
	}
	return list
}

// reader reads attributes of procs of one run, of the first for all. It takes a
// constant's value directly, and makes an ad of its own for the proc only to evaluate an
// expression. It is for one goroutine.
type reader struct {
	context *classad.Context
	procs   spool.Run
	own     *classad.Ad // nil: not needed so far
	// varies: an attribute read since of() differs, or may differ, between the procs.
	varies bool

	cluster *classad.Ad // the cluster whose requests were searched last
	shared  []string    // their names
}

func (q *Queue) reader() *reader { return &reader{context: q.context()} }

// of makes the reader read procs.
func (r *reader) of(s spool.Run) { r.procs, r.own, r.varies = s, nil, false }

// proc returns the ad of the first proc.
func (r *reader) proc() *classad.Ad {
	if r.own == nil {
		r.own = r.procs.Proc(r.procs.First)
	}
	return r.own
}

func (r *reader) value(n *classad.Name) classad.Value {
	v, e, ok := r.procs.Ad.Get(n)
	if !ok {
		return classad.Undefined()
	}
	if e != nil {
		r.varies = true
		return e.Eval(r.context, r.proc(), nil)
	}
	return v
}

// int returns a whole number, 0 if there is none.
func (r *reader) int(n *classad.Name) int64 {
	if x, ok := r.value(n).Int(); ok {
		return x
	}
	return 0
}

func (r *reader) text(n *classad.Name) string {
	s, _ := r.value(n).Text()
	return s
}

func (r *reader) has(n *classad.Name) bool {
	_, _, ok := r.procs.Ad.Get(n)
	return ok
}

// standing returns the inputs of the procs' state, with this claim or nil.
func (r *reader) standing(claim *pool.Claim) standing {
	s := standing{status: pool.Status(r.int(statusName))}
	switch {
	case claim != nil:
		s.claim, s.starts = claim.State, r.int(startsName)
	case s.status == pool.Held:
		s.code = r.int(codeName)
	case s.status == pool.Idle:
		s.waits = r.waits()
	}
	return s
}

// waits reports whether the procs wait for the end of others.
func (r *reader) waits() bool {
	if !r.has(afterOkName) && !r.has(afterAnyName) {
		return false
	}
	r.value(metName) // which may be an expression
	return jobpolicy.Waits(r.proc())
}

// holds returns how the procs are held, or wait for something that will come.
func (r *reader) holds() (h holds) {
	switch pool.Status(r.int(statusName)) {
	case pool.Held:
		switch code := r.int(codeName); {
		case code == 1:
			h.operator = byOther(r.text(holdName), r.text(ownerName))
			h.user = !h.operator
		case code == 15:
			h.user = true
		case code == dependencyFailed:
			h.job = true
		default:
			h.system = !broken(code)
		}
	case pool.Idle:
		h.job = r.waits()
		h.time = r.int(deferralName) > r.context.Now.Unix()
	}
	return h
}

// claims are the claims of the queue, by ascending job.
type claims []pool.Claim

func claimsOf(list []pool.Claim) claims { return list }

// parts goes through procs: each with a claim by itself, those between them
// together and with nil.
func (c claims) parts(s spool.Run) iter.Seq2[spool.Run, *pool.Claim] {
	return func(yield func(spool.Run, *pool.Claim) bool) {
		from := pool.JobID{Cluster: s.Cluster, Proc: s.First}
		i := sort.Search(len(c), func(i int) bool { return !c[i].Job.Less(from) })
		part := s
		for ; i < len(c) && c[i].Job.Cluster == s.Cluster && c[i].Job.Proc <= s.Last; i++ {
			p := c[i].Job.Proc
			if part.Last = p - 1; part.First <= part.Last && !yield(part, nil) {
				return
			}
			part.First, part.Last = p, p
			if !yield(part, &c[i]) {
				return
			}
			part.First = p + 1
		}
		if part.Last = s.Last; part.First <= part.Last {
			yield(part, nil)
		}
	}
}

// byOther reports whether the reason of a hold by hand names another user than the owner:
// "... (by user NAME)".
func byOther(reason, owner string) bool {
	_, by, ok := strings.Cut(reason, "(by user ")
	name, _, closed := strings.Cut(by, ")")
	return ok && closed && name != owner
}
