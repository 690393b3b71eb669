package qstat

import (
	"iter"
	"sort"
	"strings"

	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

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

// totalsNames and listedNames are the attributes that all totals and that all listings
// read, but for -r and for what columns read. Both have those that jobs are chosen by, but for
// -constraint.
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

// reader reads attributes of procs that stand in one run, of the first for all. Of
// a constant it makes nothing but the value, and an ad of its own for the proc only
// when there is an expression to be evaluated in it. It is for one goroutine.
type reader struct {
	context *classad.Context
	span    selection.Span
	own     *classad.Ad // nil: not needed so far
	// varies: what was read since of() was, or may be, not the same for the other procs.
	varies bool

	cluster *classad.Ad // whose requests were looked for last
	shared  []string    // their names
}

func (q queue) reader() *reader { return &reader{context: q.context()} }

// of makes the reader read procs.
func (r *reader) of(s selection.Span) { r.span, r.own, r.varies = s, nil, false }

// proc returns the ad of the first proc.
func (r *reader) proc() *classad.Ad {
	if r.own == nil {
		r.own = r.span.Run.Proc(r.span.First)
	}
	return r.own
}

func (r *reader) value(n *classad.Name) classad.Value {
	v, e, ok := r.span.Run.Ad.Get(n)
	if !ok {
		return classad.Undefined()
	}
	if e != nil {
		r.varies = true
		return e.Eval(r.context, r.proc(), nil)
	}
	return v
}

// int returns a whole number, 0 where there is none.
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
	_, _, ok := r.span.Run.Ad.Get(n)
	return ok
}

// standing returns what the state of the procs is made from, with this claim or nil.
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

// waits tells whether the procs wait for the end of others.
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
func (c claims) parts(s selection.Span) iter.Seq2[selection.Span, *pool.Claim] {
	return func(yield func(selection.Span, *pool.Claim) bool) {
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

// byOther tells whether the reason of a hold by hand says that somebody else did it than
// the owner: "... (by user NAME)".
func byOther(reason, owner string) bool {
	_, by, ok := strings.Cut(reason, "(by user ")
	name, _, closed := strings.Cut(by, ")")
	return ok && closed && name != owner
}
