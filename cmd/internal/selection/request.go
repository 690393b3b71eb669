package selection

import (
	"fmt"
	"slices"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Synopsis is how the commands that change jobs take their names.
const Synopsis = "CLUSTER | CLUSTER.PROC | USER ..."

// Flags returns the options by which a command takes jobs, beside its arguments.
// does is what it does with them: "remove".
func Flags(does string) []cmdline.Flag {
	return []cmdline.Flag{
		{Name: "a", Aliases: []string{"all"}, Help: does + " all jobs of the queue, as far as they are yours to " + does},
		{Name: "constraint", Args: []string{"EXPR"}, Help: does + " only jobs for whose ads EXPR is true; without names, of all of them"},
	}
}

// Request is which jobs a command line asks to be changed, and who asks.
type Request struct {
	Names
	text  string // of the constraint
	where *Constraint
	who   cmdline.Caller
	now   time.Time
}

// Asked reads the arguments of a command with Flags. It is a usage error to name no
// jobs, or to name some besides all of them.
func Asked(c *cmdline.Call) (Request, error) {
	q := Request{Names: All(), text: c.Value("constraint"), now: c.Now}
	var err error
	switch {
	case c.Has("a") && len(c.Args) > 0:
		return q, cmdline.Usagef("-a: takes all jobs, and no arguments")
	case len(c.Args) > 0:
		if q.Names, err = Parse(c.Args); err != nil {
			return q, cmdline.Usagef("%v", err)
		}
	case !c.Has("a") && !c.Has("constraint"):
		return q, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user; or all with -a")
	}
	if c.Has("constraint") {
		if q.where, err = ParseConstraint(q.text); err != nil {
			return q, cmdline.Usagef("%v", err)
		}
	}
	q.who, err = c.Caller()
	return q, err
}

// Caller returns who asks.
func (q Request) Caller() cmdline.Caller { return q.who }

// Words returns what the journal tells of the request.
func (q Request) Words() []string {
	if q.where == nil {
		return q.Names.Words()
	}
	return append(slices.Clone(q.Names.Words()), "-constraint", q.text)
}

// Chosen is what of a request can be done: the jobs, those that are still to come
// of clusters that were chosen as a whole, and what cannot.
type Chosen struct {
	Spans   []Span
	Late    []Late
	Refused []Refusal // in the order of the words
}

// Refusal is a word that names no job, or jobs of somebody else.
type Refusal struct{ Word, Why string }

// In returns the jobs of the queue that the caller asks for and may change. Who is
// no administrator means only their own jobs where all are named. domain is that of
// the pool's users. A constraint that is no boolean is an error.
func (q Request) In(v *spool.View, domain string) (Chosen, error) {
	spans, missing := q.Names.In(v)
	late, missing := q.late(v, domain, missing)
	why, toCome := map[string]string{}, q.toCome(v)
	for _, word := range missing {
		why[word] = q.missed(word, toCome[word])
	}
	spans = slices.DeleteFunc(spans, func(s Span) bool {
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
	ch := Chosen{Spans: spans, Late: late}
	for _, word := range q.words {
		if why[word] != "" && !q.all {
			ch.Refused = append(ch.Refused, Refusal{word, why[word]})
			delete(why, word)
		}
	}
	return ch, q.narrow(v, &ch)
}

// denied says why the caller may not change jobs of an owner.
func (q Request) denied(owner, word string) string {
	switch {
	case owner == "":
		return "it has no Owner: only administrators may change it"
	case q.users[word]:
		return fmt.Sprintf("jobs of somebody else: you are %s, and no administrator", q.who.Name)
	}
	return fmt.Sprintf("belongs to %s: you are %s, and no administrator", owner, q.who.Name)
}

// missed says why a word names nothing.
func (q Request) missed(word string, toCome bool) string {
	switch {
	case q.users[word]:
		return "no jobs in the queue"
	case toCome:
		return "still to come: until then only its whole cluster can be named"
	}
	return "not in the queue"
}

// narrow leaves what the constraint is true for.
func (q Request) narrow(v *spool.View, ch *Chosen) (err error) {
	if q.where == nil {
		return nil
	}
	if ch.Spans, err = q.where.Of(ch.Spans, q.now); err != nil {
		return err
	}
	var late []Late
	for _, l := range ch.Late {
		yes, err := q.where.ask(l.ad(v), uint64(l.Cluster)<<32, q.now)
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

// Wide tells whether it asks for whatever fits among all jobs or those of a name, of
// which there may be none: all are named, or a constraint narrows what is.
func (q Request) Wide() bool { return q.all || q.where != nil }
