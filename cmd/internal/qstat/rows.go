package qstat

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/jobprio"
	"fairspool/lib/parallel"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// queue is what a listing is made from.
type queue struct {
	call  *cmdline.Call
	spool *spool.Spool
	view  *spool.View
	whole *spool.View // whose jobs have all their attributes; nil: those of view do
	every bool        // what is shown is all jobs of whole, which are not chosen one by one

	past      bool       // the jobs have left the queue
	hierarchy *hierarchy // nil: submitters go by EUP
}

// submitter returns who is charged for a job.
func (q queue) submitter(ad *classad.Ad) string {
	return operation.Submitter(ad, q.spool.Domain(), q.call.Config.Groups)
}

func (q queue) context() *classad.Context { return &classad.Context{Now: q.call.Now} }

// row is one line of the table: jobs of one cluster that look alike.
type row struct {
	cells               // what is shown, and what has to be equal to share a line
	extras              // the same of what columns show that were asked for
	ranges []pool.Procs // the procs, ascending
	claim  *pool.Claim  // nil for none
	key    jobprio.Job  // of the first proc: its place in the order
	owner  string       // as the ad has it
	group  string       // the accounting group
	who    *account     // who is charged
	// command is what was typed, in the brief layout; of several that differ, what they begin
	// with (commands).
	command  string
	commands bool
	ad       *classad.Ad // of the first proc; nil in tables where nothing needed it
	place    int         // of the first proc in the queue of all jobs; 0: it has none
	why      string      // the policy leaves the jobs out of that queue
	aside    bool        // they wait and take no part: they stand among the held ones
	ranked   *ranked     // what the policy "sge" says of the first proc; nil under others
}

type cells struct {
	cluster           int
	prior             int64 // JobPrio; under the policy "maui" the start priority
	name, user, state string
	slot              string    // of a job with a claim
	at                time.Time // of the start, else of the submission
	slots             int64
}

// rowsWith returns the lines of the table with what its columns show, in their order.
func (q queue) rowsWith(c columns, spans []selection.Span) ([]*row, error) {
	var policy jobprio.Policy
	if q.hierarchy == nil {
		var err error
		if policy, err = jobprio.Named(q.call.Config.JobPriorityPolicy); err != nil {
			return nil, q.call.Config.Complain("JOB_PRIORITY_POLICY", err)
		}
	}
	rows := q.read(c, spans)
	o := q.order()
	for _, r := range rows {
		if r.asked.unmet != "" {
			r.asked.unmet = q.unended(r.asked.unmet)
		}
		r.who = o.account(r.owner, r.group)
	}
	return o.ordered(policy, rows, !c.single), nil
}

// read makes rows of all jobs, by ascending id. What takes its time is done by all
// processors.
func (q queue) read(c columns, spans []selection.Span) []*row {
	claims := claimsOf(q.view.Claims())
	bounds := parallel.Bounds(len(spans), 1)
	made := make([][]*row, len(bounds)-1)
	parallel.Parts(bounds, func(part, from, to int) {
		m := maker{reader: q.reader(), columns: c, from: q}
		for _, s := range spans[from:to] {
			for p, claim := range claims.parts(s) {
				m.rows(p, claim)
			}
		}
		made[part] = m.made
	})
	return slices.Concat(made...)
}

// split makes a row of each job with a claim, and one of each stretch of jobs
// without. Each has its ad.
func (q queue) split(s selection.Span, of map[pool.JobID]pool.Claim) (rows []*row) {
	m := maker{reader: q.reader(), from: q}
	first := s.First
	for p := s.First; p <= s.Last; p++ {
		if c, ok := of[pool.JobID{Cluster: s.Cluster, Proc: p}]; ok {
			m.stretch(s, first, p-1, nil)
			m.stretch(s, p, p, &c)
			first = p + 1
		}
	}
	m.stretch(s, first, s.Last, nil)
	for _, r := range m.made {
		if r.ad == nil {
			r.ad = s.Run.Proc(r.ranges[0].First)
		}
	}
	return m.made
}

// maker makes rows of procs.
type maker struct {
	*reader
	columns
	from queue
	made []*row
	room []row // for those to come, allocated together
	near []pool.Procs
}

func (m *maker) stretch(s selection.Span, first, last int, claim *pool.Claim) {
	if first <= last {
		s.First, s.Last = first, last
		m.rows(s, claim)
	}
}

// rows makes one row of procs of a run, or one of each where something that is shown
// or that orders them is an expression, which each may evaluate differently. In a queue of
// all jobs the policy says which may share a row.
func (m *maker) rows(s selection.Span, claim *pool.Claim) {
	for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
		var in *stretch
		if claim == nil {
			in, s.Last = m.from.hierarchy.span(s)
		}
		m.of(s)
		r := m.row(claim)
		if m.varies || m.single {
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

func (m *maker) ranges(s selection.Span) []pool.Procs {
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
		cluster: m.span.Cluster, prior: r.key.JobPrio, name: clean.Line(m.name()), user: clean.Line(r.owner),
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

// job returns what the place of the procs in the order comes from, as jobprio.JobOf does.
func (m *maker) job() jobprio.Job {
	return jobprio.Job{
		ID:          pool.JobID{Cluster: m.span.Cluster, Proc: m.span.First},
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

// unended returns those of a list of clusters that have jobs in the queue.
func (q queue) unended(list string) string {
	var there []string
	for _, word := range strings.Split(list, ", ") {
		if id, err := pool.ParseCluster(word); err == nil {
			if _, ok := q.view.Cluster(id); ok {
				there = append(there, word)
			}
		}
	}
	return strings.Join(there, ", ")
}
