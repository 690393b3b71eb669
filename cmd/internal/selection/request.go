package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Synopsis is how the commands that change jobs take their names, and SynopsisAll how
// they do without names.
const (
	Synopsis    = "CLUSTER | CLUSTER.PROC | USER ..."
	SynopsisAll = "{-a | -u USER[,USER...] | -constraint EXPR}"
)

// Flags returns the options by which a command selects jobs, besides its arguments. does
// is its action on them: "remove".
func Flags(does string) []cmdline.Flag {
	return []cmdline.Flag{
		{Name: "a", Aliases: []string{"all"}, Help: does + " all jobs in the queue that you may " + does},
		{Name: "u", Args: []string{"USER[,USER...]"}, Repeat: true, Help: does + " the jobs of these users, or theirs among the named jobs; * means all users"},
		{Name: "constraint", Args: []string{"EXPR"}, Help: does + " the jobs for whose ads EXPR is true, or such jobs among the named ones"},
	}
}

// Elsewhere are options of other batch systems' commands that change jobs.
var Elsewhere = cmdline.Elsewhere(
	[2]string{"f", "slots withdraw -gone HOST gives up a machine that is gone, with its jobs"}, [2]string{"forcex", "slots withdraw -gone HOST gives up a machine that is gone, with its jobs"},
	[2]string{"name", "there is one queue, the spool's: see -spool"}, [2]string{"pool", "there is one queue, the spool's: see -spool"},
	[2]string{"t", "name procs after a dot: 12.0 or 12.0-9"}, [2]string{"s", "choose jobs by state with -constraint, such as JobStatus == 1"}, [2]string{"state", "choose jobs by state with -constraint, such as JobStatus == 1"},
	[2]string{"user", "name users with -u USER"}, [2]string{"9", "the job is ended in any case: leave it out"}, [2]string{"KILL", "the job is ended in any case: leave it out"}, [2]string{"signal", "the job is ended in any case: leave it out"},
)

// Request is a command line's selection of jobs to change, with the caller.
type Request struct {
	Names
	of    *Names // only these users' jobs; nil: all users'
	text  string // of the constraint
	where *Constraint
	said  *answers // of the constraint, once asked
	who   cmdline.Caller
	call  *cmdline.Call
	// ownOnly: jobs of others are to the caller as if they were not there.
	ownOnly bool
}

// Asked reads the arguments of a command with Flags. It is a usage error to name no
// jobs, or to name some besides all of them.
func Asked(c *cmdline.Call) (Request, error) {
	q := Request{Names: All(), text: c.Value("constraint"), call: c, ownOnly: c.OwnJobsOnly()}
	users, err := usersOf(c.Repeated("u"))
	switch {
	case err != nil:
		return q, err
	case c.Has("a") && len(c.Args) > 0:
		return q, cmdline.Usagef("-a: takes all jobs, and no arguments")
	case c.Has("a") && c.Has("u"):
		return q, cmdline.Usagef("-a and -u: only one of them at a time")
	case len(c.Args) > 0:
		if q.Names, err = Parse(c.Args); err != nil {
			return q, cmdline.Usagef("%v", err)
		}
		if !users.all {
			q.of = &users
		}
	case c.Has("u"):
		q.Names = users
	case !c.Has("a") && !c.Has("constraint"):
		return q, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user; or all with -a")
	}
	if c.Has("constraint") {
		if q.where, err = ParseConstraint(q.text, c.Config.Cycle.Steps); err != nil {
			return q, cmdline.Usagef("%v", err)
		}
	}
	q.who, err = c.Caller()
	return q, err
}

// everybody stands for all users.
const everybody = "*"

// usersOf returns the jobs of the users of -u, which may be given several times, with
// commas between users: all jobs without it, or where everybody is among them.
func usersOf(given [][]string) (Names, error) {
	var users []string
	for _, args := range given {
		list := strings.Split(args[0], ",")
		// An empty variable of a script must not select jobs.
		if slices.Contains(list, "") || strings.ContainsAny(args[0], " \t") ||
			slices.ContainsFunc(list, func(u string) bool { return u != everybody && strings.ContainsAny(u, "*?[") }) {
			return All(), cmdline.Usagef("-u: %q: want names of users with commas between, or *", args[0])
		}
		users = append(users, list...)
	}
	if len(users) == 0 || slices.Contains(users, everybody) {
		return All(), nil
	}
	return Users(users), nil
}

// Caller returns the caller.
func (q Request) Caller() cmdline.Caller { return q.who }

// Words returns the words of the request for the journal.
func (q Request) Words() []string {
	words := slices.Clone(q.Names.Words())
	if q.of != nil {
		words = append(words, "-u", strings.Join(q.of.Words(), ","))
	}
	if q.where != nil {
		words = append(words, "-constraint", q.text)
	}
	return words
}

// Chosen is what of a request can be done: the jobs, those that are still to come
// of clusters that were chosen as a whole, and what cannot.
type Chosen struct {
	Procs   []Procs
	Late    []Late
	Refused []Refusal // in the order of the words
	Doubt   string    // the likely mistake in a constraint that is true for no job; may be empty
}

// Refusal is a word that names no job, or another user's jobs.
type Refusal struct {
	Word string `json:"Name"`
	Why  string
}

// Answer is a command's output with -json about jobs that it changed.
type Answer struct {
	Done    []Done
	Refused []Refusal // names that could not be served, or jobs
}

// Done is what became of some procs.
type Done struct {
	Jobs pool.Procs
	What string // "held"
}

// AnswerOf returns the answer with these lines.
func AnswerOf(lines Lines, refused []Refusal) Answer {
	a := Answer{Done: make([]Done, len(lines)), Refused: append([]Refusal{}, refused...)}
	for i, l := range lines {
		a.Done[i] = Done{l.Procs, l.What}
	}
	return a
}

// JSON is the flag for that.
var JSON = cmdline.Flag{Name: "json", Help: "print what was done, and what was refused, as JSON"}

// answers are the jobs for which a constraint is true, among those of the queue as of one
// transaction.
type answers struct {
	seq   uint64
	procs map[int][]Procs // by cluster
	late  map[int]bool    // clusters of jobs that are still to come; false: it is not true
	doubt string
}

// mostTries is how often a constraint is asked anew because jobs have changed meanwhile.
const mostTries = 10

// Update does it, in an update of the spool, with what In returns there. No expression is
// evaluated in the transaction, which keeps all others from the queue: the constraint is asked before, and
// once more if jobs that it was asked about have changed in between. A constraint that is no
// boolean is an error.
func (q *Request) Update(s *spool.Spool, do func(in func(*spool.Tx) (Chosen, error)) error) error {
	in := func(tx *spool.Tx) (Chosen, error) { return q.in(&tx.View, s.Domain()) }
	if q.where == nil {
		return do(in)
	}
	for range mostTries {
		if err := s.View(func(v *spool.View) error { return q.ask(v, s.Domain()) }); err != nil {
			return err
		}
		if err := do(in); !errors.Is(err, errChanged) {
			return err
		}
	}
	return errChanged
}

var errChanged = errors.New("-constraint: jobs change faster than it is evaluated: nothing was done; try again")

// ask asks the constraint about all jobs that are named.
func (q *Request) ask(v *spool.View, domain string) error {
	ch := q.choose(v, domain)
	all := ch.Procs
	if err := q.narrow(v, &ch); err != nil {
		return err
	}
	q.said = &answers{seq: v.Seq(), procs: map[int][]Procs{}, late: map[int]bool{}, doubt: ch.Doubt}
	for _, s := range all {
		q.said.procs[s.Cluster] = nil // asked about
	}
	for _, s := range ch.Procs {
		q.said.procs[s.Cluster] = append(q.said.procs[s.Cluster], s)
	}
	for _, l := range q.choose(v, domain).Late {
		q.said.late[l.Cluster] = slices.ContainsFunc(ch.Late, func(o Late) bool { return o.Cluster == l.Cluster })
	}
	return nil
}

// in is choose, restricted by the constraint. errChanged: the constraint was not evaluated
// for all of these jobs as they are now.
func (q *Request) in(v *spool.View, domain string) (Chosen, error) {
	ch := q.choose(v, domain)
	if q.where == nil {
		return ch, nil
	}
	var kept []Procs
	for _, s := range ch.Procs {
		yes, asked := q.said.procs[s.Cluster]
		if !asked || s.Run.Seq > q.said.seq {
			return ch, errChanged
		}
		for _, y := range yes {
			if part, ok := s.Intersect(y.Procs); ok {
				kept = append(kept, Procs{part, s.Run, s.Word})
			}
		}
	}
	var late []Late
	for _, l := range ch.Late {
		yes, asked := q.said.late[l.Cluster]
		if !asked {
			return ch, errChanged
		}
		if yes {
			late = append(late, l)
		}
	}
	ch.Procs, ch.Late, ch.Doubt = kept, late, q.said.doubt
	return ch, nil
}

// choose returns the jobs of the queue that the caller asks for and may change, without the
// constraint. If all jobs are named, a caller who is no administrator means only its own.
// domain is the domain of the pool's users.
func (q Request) choose(v *spool.View, domain string) Chosen {
	procs, missing := q.Names.In(v)
	late, missing := q.late(v, domain, missing)
	why, toCome := map[string]string{}, q.toCome(v)
	for _, word := range missing {
		why[word] = q.missed(v, word, toCome[word])
	}
	if q.of != nil {
		procs = slices.DeleteFunc(procs, func(s Procs) bool { return q.of.byUser(s.Run, map[string]bool{}) == "" })
		late = slices.DeleteFunc(late, func(l Late) bool { return q.of.byOwner(l.Factory, domain, map[string]bool{}) == "" })
	}
	procs = slices.DeleteFunc(procs, func(s Procs) bool {
		owner, _ := s.Run.Ad.EvalString(&classad.Context{}, pool.AttrOwner)
		if q.who.May(owner) {
			return false
		}
		for _, word := range q.Naming(s) {
			why[word] = q.denied(owner, word)
		}
		return true
	})
	late = slices.DeleteFunc(late, func(l Late) bool {
		if q.who.May(l.Owner) {
			return false
		}
		why[l.Word] = q.denied(l.Owner, l.Word)
		return true
	})
	ch := Chosen{Procs: procs, Late: late}
	for _, word := range q.words {
		if why[word] != "" && !q.all {
			ch.Refused = append(ch.Refused, Refusal{word, why[word]})
			delete(why, word)
		}
	}
	return ch
}

// denied says why the caller may not change jobs of an owner.
func (q Request) denied(owner, word string) string {
	switch {
	case q.ownOnly && q.users[word]:
		return "no jobs in the queue"
	case q.ownOnly:
		return "not in the queue"
	case owner == "":
		return "it has no Owner: only administrators may change it"
	case q.users[word]:
		return fmt.Sprintf("jobs of others: you are %s, not an administrator", q.who.Name)
	}
	return fmt.Sprintf("belongs to %s: you are %s, not an administrator", owner, q.who.Name)
}

// missed says why a word names nothing.
func (q Request) missed(v *spool.View, word string, toCome bool) string {
	switch {
	case q.users[word] && (word == "all" || word == "ALL"):
		return "no jobs in the queue; -a means all jobs"
	case q.users[word]:
		return "no jobs in the queue" + q.hint(v, word)
	case toCome:
		return "still to come: until then only its whole cluster can be named"
	}
	return "not in the queue"
}

// hint names the owner of jobs that a word may mean.
func (q Request) hint(v *spool.View, word string) string {
	if q.ownOnly {
		return ""
	}
	return nearest.Hint(word, v.Owners())
}

// narrow keeps the jobs for which the constraint is true.
func (q Request) narrow(v *spool.View, ch *Chosen) (err error) {
	if q.where == nil {
		return nil
	}
	all := ch.Procs
	if ch.Procs, err = q.where.Of(all, q.call.Now); err != nil {
		return err
	}
	if len(ch.Procs) == 0 {
		ch.Doubt = q.where.Doubt(all)
	}
	var late []Late
	for _, l := range ch.Late {
		yes, err := q.where.ask(l.ad(v), uint64(l.Cluster)<<32, q.call.Now)
		if err != nil {
			return fmt.Errorf("%w for the jobs of cluster %d that are still to come", err, l.Cluster)
		}
		if yes {
			late = append(late, l)
		}
	}
	ch.Late = late
	return nil
}

// Wide reports whether the request may match no job without an error: all jobs are named,
// or -u or a constraint restricts the selection.
func (q Request) Wide() bool { return q.all || q.where != nil || q.of != nil }

// Lines are a command's answer about jobs, in ascending order.
type Lines []Line

// Line says what happened to all of some procs.
type Line struct {
	pool.Procs
	What string // "held"
}

// Add adds jobs, to the last line where they go on there.
func (l *Lines) Add(s Line) {
	if k := len(*l) - 1; k >= 0 && (*l)[k].What == s.What && (*l)[k].Extend(s.Procs) {
		return
	}
	*l = append(*l, s)
}

// String returns a line: Job 12.4 held, or Jobs 12.0-3 held.
func (s Line) String() string { return Named(s.Procs) + " " + s.What }

// Named names procs as a sentence begins with them: Job 12.4, or Jobs 12.0-3.
func Named(p pool.Procs) string {
	if p.First == p.Last {
		return "Job " + p.String()
	}
	return "Jobs " + p.String()
}
