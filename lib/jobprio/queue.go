package jobprio

import (
	"sync/atomic"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Queue is a policy that puts the jobs of all submitters into one order, in the place of
// shares by EUP. It knows the time, and what else it reckons with.
type Queue interface {
	// Name is the policy's name, such as "maui".
	Name() string
	// Attributes are the names of the attributes of jobs that the order is made from.
	Attributes() []string
	// Order puts jobs in order. The order of its input does not matter.
	Order(w Waiting) Order
}

// Run is idle, held or running procs of one cluster that differ only in ProcId.
type Run struct {
	pool.Procs
	Submitter string
	// Ad is the complete ad of the first proc, with ClusterId and ProcId. It may be
	// shared and is not changed.
	Ad *classad.Ad
	// Likeness is what the run has in common with others; nil: nothing that is known.
	Likeness *Likeness
	// QDate is the ad's, where the run has a Likeness.
	QDate int64
}

// Likeness is what runs of one submitter have in common whose ads are the same but for the attributes in Apart: a cycle looks at one
// of them for all. It holds what cycles found out where all that they looked at was constant, and lasts as long as the ads. It is for
// one goroutine.
type Likeness struct {
	Job    Job // of any of the jobs, but for ID and QDate
	Viewed bool
	Asks   float64 // the weight that one job asks for; 0: not known
	Owner  string  // who pays for the job's expressions; empty: not known
	// Expressions is the number of the ad's expressions, from 1, by the one who numbers them; 0: not known.
	Expressions int
	By          any
	// Shape is the number of what tells autoclusters apart, from 1, by ShapeBy; 0: not known.
	Shape   int
	ShapeBy any
	memos   [places]memo
	facts   atomic.Pointer[any]
}

// Facts returns what KeepFacts kept last, nil for nothing. Several goroutines may call both.
func (l *Likeness) Facts() any {
	if f := l.facts.Load(); f != nil {
		return *f
	}
	return nil
}

// KeepFacts keeps what a Queue found in the ad of a job.
func (l *Likeness) KeepFacts(f any) { l.facts.Store(&f) }

// Apart are the attributes in which runs of one Likeness may differ. Each of them is a constant there.
var Apart = [...]string{pool.AttrClusterID, pool.AttrProcID, pool.AttrQDate, pool.AttrEnteredStatus}

// Memo has a value for each Likeness. Each use has a place of its own among the constants below, and one Memo at a time.
type Memo[T any] struct {
	place  int
	mark   *byte // in Likenesses that have a value
	values []T
	last   *Likeness // what was asked for last
	at     int       // and where its value is
}

// memo is where a Memo has the value of a Likeness, which lasts longer than the Memo.
type memo struct {
	mark *byte
	at   int
}

// The places of Memos.
const (
	OfPayer = iota
	OfAutocluster
	OfKind
	OfRepresentatives
	OfQueue
	places
)

// NewMemo returns one for a place, without values.
func NewMemo[T any](place int) Memo[T] { return Memo[T]{place: place, mark: new(byte)} }

// Forget makes the memo one without values, and keeps their room.
func (m *Memo[T]) Forget() { m.mark, m.values, m.last = new(byte), m.values[:0], nil }

// Of returns the value of a Likeness, which may be changed until the next call. The first call for it makes the value.
func (m *Memo[T]) Of(like *Likeness, made func() T) *T {
	if like != m.last {
		kept := &like.memos[m.place]
		if kept.mark != m.mark {
			m.values = append(m.values, made())
			*kept = memo{m.mark, len(m.values) - 1}
		}
		m.last, m.at = like, kept.at
	}
	return &m.values[m.at]
}

// AppendRepresentatives appends the first run of each Likeness, and all runs without one, in their order.
func AppendRepresentatives(list, runs []Run) []Run {
	seen := NewMemo[bool](OfRepresentatives)
	for i := range runs {
		first := runs[i].Likeness == nil
		if !first {
			seen.Of(runs[i].Likeness, func() bool { first = true; return true })
		}
		if first {
			list = append(list, runs[i])
		}
	}
	return list
}

// Part returns the procs of the run from first to last, with an ad of their own where they
// do not begin with the run's first.
func (r Run) Part(first, last int) Run {
	if first != r.First {
		r.Ad = r.Ad.Clone()
		r.Ad.SetInt(pool.AttrProcID, int64(first))
	}
	r.First, r.Last = first, last
	return r
}

// Singly splits runs into single procs, each with an ad of its own.
func Singly(runs []Run) (one []Run) {
	for _, r := range runs {
		for id := range r.Jobs() {
			one = append(one, r.Part(id.Proc, id.Proc))
		}
	}
	return one
}

// Running is a job that has a claim.
type Running struct {
	Run
	// Started is when its claim began to run, or was made if it has not.
	Started time.Time
}

// Waiting is the input of a queue. No proc is in two runs.
type Waiting struct {
	Idle    []Run // jobs that want a slot
	Held    []Run // jobs that are held or wait for others
	Running []Running
}

// Part is some procs of the run with an index of Waiting.Idle or, where that is said, Waiting.Held.
type Part struct {
	Run int
	pool.Procs
}

// Order is a queue: every idle job stands in one of Places and Blocked.
type Order struct {
	Places  []Place // the first to be served first
	Blocked []Blocked
	// Clocks are jobs with another start of their counted time from now on.
	Clocks []Clock
	// Tickets are the tickets of Waiting.Running, job by job, for their run-time priority,
	// whole numbers; below 0: the job keeps its tickets. Nil: no run-time priority follows
	// tickets, including those of Places.
	Tickets []float64
	// Limits bound what may run at a time; nil: nothing does.
	Limits Limits
	// CountPassed says that the order depends on how often jobs were passed over.
	CountPassed bool
}

// Place is the place of equal jobs that follow each other.
type Place struct {
	Part
	Priority float64 // higher goes first
	QOS      string  // that they are charged under; empty: as their ads say
	PE       float64 // processor equivalents of one of them; 0: not known
	// Tickets are the tickets with which each of them starts, if Order.Tickets is not
	// nil.
	Tickets float64
}

// Blocked are jobs that are not considered.
type Blocked struct {
	Part
	Priority float64
	Why      string // such as "negative priority"
}

// Clock says since when jobs are considered, in Unix seconds; 0: they are not.
type Clock struct {
	Part
	Held  bool // Part is of Waiting.Held
	Since int64
}

// Limits is the policy's own limits on running jobs. It counts the jobs that run when the
// queue is made, and then those taken.
type Limits interface {
	// Attributes are the names of the attributes by which limits distinguish jobs.
	Attributes() []string
	// Kind returns the number of the jobs' kind: limits treat jobs of one kind alike.
	Kind(r Run) int
	// Refuses says which limit one more job of a kind would break, such as "MAXJOB 5 of
	// user alice: 5 in use"; empty for none. Soft limits count unless hard is true.
	Refuses(kind int, hard bool) string
	// Admits reports whether one more job of a kind breaks no limit once a job of each of some
	// kinds has ended.
	Admits(kind int, ended []int, hard bool) bool
	// Take counts one more job of a kind.
	Take(kind int)
	// Lasting reports whether a job of a kind may take the place of an equal one, which has
	// ended, without asking: what limits count is the same then.
	Lasting(kind int) bool
}
