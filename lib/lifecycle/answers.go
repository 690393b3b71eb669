package lifecycle

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/spool"
)

// Answers are the results of computations on users' expressions, each kept under the expressions and all their
// inputs. No such computation runs in a transaction that holds the writers' lock: Account stops the transaction,
// runs the same function on a fork of the spool, where each question is answered at once, and then begins anew
// under the lock. So an answer counts only for the inputs that it was computed from.
//
// The zero Answers is ready for use, by one goroutine at a time. A process that ends many similar jobs keeps its
// Answers, so that it rarely has to ask. Stopping a transaction costs the process all that it has read; so if
// one transaction asked, the next one is run on a fork first.
type Answers struct {
	known   map[[sha256.Size]byte]any
	once    map[[sha256.Size]byte]any // for one Account: those that depend on whole ads
	budgets *classad.Budgets          // of the owners, for one Account
	short   bool                      // some answer is for want of steps
	last    bool                      // unknown answers are not computed any more
	asked   bool                      // the last Account, or this one, found an answer that was not known
}

const (
	// mostAnswers is how many answers are kept for later transactions.
	mostAnswers = 1024
	// mostRounds is how often Account begins anew for jobs that are changed all the time. Then each unknown
	// answer is the zero value.
	mostRounds = 10
	// mostSteps bounds the expressions of an owner's jobs for one Account: some tenths of a second.
	mostSteps = 100 * classad.UsualSteps
)

// errUnanswered says that a transaction needs an answer that is not known yet.
var errUnanswered = errors.New("an expression is not evaluated yet")

// unanswered is what ask throws, so that the operation does nothing more. It does not leave the package.
type unanswered struct{}

// caught turns a panic of ask into errUnanswered.
func caught(err *error) {
	switch thrown := recover().(type) {
	case nil:
	case unanswered:
		*err = errUnanswered
	default:
		panic(thrown)
	}
}

// Update runs fn in a transaction of the spool that charges no submitter, as the function
// Account does.
func Update(s *spool.Spool, fn func(*spool.Tx) error) error { return new(Answers).update(s, fn) }

// Account does as the function Account, with the answers known so far, and keeps those that it finds.
func (a *Answers) Account(s *spool.Spool, at accountant.Reading, fn func(*spool.Tx) error) error {
	return a.update(s, func(tx *spool.Tx) error {
		if err := accounted(tx, at); err != nil {
			return err
		}
		return fn(tx)
	})
}

func (a *Answers) update(s *spool.Spool, fn func(*spool.Tx) error) (err error) {
	if a.known == nil || len(a.known) > mostAnswers {
		a.known = map[[sha256.Size]byte]any{}
	}
	a.once = nil
	a.budgets, a.short = classad.NewBudgets(mostSteps), false
	run := func(tx *spool.Tx) (err error) {
		defer caught(&err)
		tx.With = a
		return fn(tx)
	}
	ask := func() {
		a.asked, a.last = false, false
		s.View(func(v *spool.View) error { return v.Fork().Update(run) }) // what fails there fails again
	}
	if a.asked {
		ask()
	}
	for round := range mostRounds {
		a.last = round == mostRounds-1
		if err = s.Update(run); !errors.Is(err, errUnanswered) {
			break
		}
		ask()
	}
	if a.short {
		a.known = nil
	}
	return err
}

// question is the input of a computation: one ad, or two that are each other's TARGET. The only other input is
// the time, in whole seconds.
type question struct {
	what  string // which computation it is, and what else it depends on
	now   time.Time
	ads   [2]*classad.Ad
	names [2][]string // of the attributes that it evaluates
	whole bool        // it may evaluate any attribute
}

// Values returns the values of attributes of my, with target, which may be nil, as TARGET. Tx is the transaction
// that asks, see Account; nil where no lock is held.
func Values(tx *spool.Tx, my, target *classad.Ad, names ...string) []classad.Value {
	values := ask(tx, question{what: "values", ads: [2]*classad.Ad{my, target}, names: [2][]string{names}},
		func(c *classad.Context, ads [2]*classad.Ad) (values []classad.Value) {
			for _, name := range names {
				values = append(values, ads[0].Eval(c, name, ads[1]))
			}
			return values
		})
	if len(values) < len(names) {
		return slices.Repeat([]classad.Value{classad.Error()}, len(names))
	}
	return values
}

// Value returns the value of an expression, as Values does.
func Value(tx *spool.Tx, e *classad.Expr, my, target *classad.Ad) classad.Value {
	const name = "$$" // which no attribute has
	with := classad.New().Chain(my)
	with.Set(name, e)
	return Values(tx, with, target, name)[0]
}

// ask returns what compute makes of the ads of a question, or of the parts of them that it looks at. If
// the attributes are constants nothing is evaluated, and compute runs at once; so it does without a transaction,
// or in one outside of Account.
func ask[T any](tx *spool.Tx, q question, compute func(c *classad.Context, ads [2]*classad.Ad) T) (answer T) {
	if q.constant() {
		return compute(&classad.Context{Now: q.now}, q.ads)
	}
	var a *Answers
	if tx != nil {
		a, _ = tx.With.(*Answers)
	}
	if a == nil {
		return compute(&classad.Context{Now: q.now, MaxSteps: classad.UsualSteps, Budget: classad.NewBudget(mostSteps)}, q.ads)
	}
	parts, key := q.narrow()
	answers := a.known
	if q.whole {
		if a.once == nil {
			a.once = map[[sha256.Size]byte]any{}
		}
		answers = a.once
	}
	if known, ok := answers[key]; ok {
		answer, _ = known.(T)
		return answer
	}
	switch {
	case tx.Forked:
	case a.last:
		return answer
	default:
		panic(unanswered{})
	}
	a.asked = true
	evaluating()
	c := &classad.Context{Now: q.now.Truncate(time.Second), MaxSteps: classad.UsualSteps, Budget: a.budgets.Of(q.owner())}
	answer = compute(c, parts)
	a.short = a.short || c.Budget.Spent()
	answers[key] = answer
	return answer
}

// evaluating is called before each computation that evaluates expressions; a test puts its own here.
var evaluating = func() {}

// owner returns the owner of the job that the question is about.
func (q question) owner() string {
	for _, ad := range q.ads {
		if ad != nil && ad.Has("Owner") {
			return ownerOf(ad)
		}
	}
	return ""
}

// constant reports whether all attributes of the question are constants or missing.
func (q question) constant() bool {
	for side, ad := range q.ads {
		for _, name := range q.names[side] {
			if e, ok := ad.Lookup(name); ok && !isConstant(e) {
				return false
			}
		}
	}
	return !q.whole
}

// isConstant reports whether an expression is a single value.
func isConstant(e *classad.Expr) bool {
	v, ok := e.Constant()
	return ok && v.Kind() < classad.KindList
}

// narrow returns the parts of the ads that the computation looks at, and the key of its answer.
func (q question) narrow() (parts [2]*classad.Ad, key [sha256.Size]byte) {
	parts, ok := q.reached()
	if q.whole || !ok {
		parts = q.ads
	}
	var b strings.Builder
	fmt.Fprintln(&b, q.what, q.names)
	if q.whole || q.timed() {
		fmt.Fprintln(&b, q.now.Unix(), q.now.Location())
	}
	for _, ad := range parts {
		if ad != nil {
			b.WriteString(ad.Flat().Format(classad.StyleSpool))
		}
		b.WriteByte('\n')
	}
	return parts, sha256.Sum256([]byte(b.String()))
}

// reached returns the attributes of both ads that the question's expressions refer to, through others too;
// ok is false if that cannot be told.
func (q question) reached() (parts [2]*classad.Ad, ok bool) {
	type name struct {
		side int
		name string
	}
	var open []name
	for side, ad := range q.ads {
		if ad == nil {
			continue
		}
		if ad.ShadowsScopes() {
			return parts, false
		}
		parts[side] = classad.New()
		for _, n := range q.names[side] {
			open = append(open, name{side, n})
		}
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if q.ads[n.side] == nil || parts[n.side].Has(n.name) {
			continue
		}
		e, there := q.ads[n.side].Lookup(n.name)
		if !there {
			continue
		}
		parts[n.side].Set(n.name, e)
		looks, ok := classad.Sides(e)
		if !ok {
			return parts, false
		}
		for _, x := range slices.Concat(looks.Own, looks.Either) {
			open = append(open, name{n.side, x})
		}
		for _, x := range slices.Concat(looks.Other, looks.Either) {
			open = append(open, name{1 - n.side, x})
		}
	}
	return parts, true
}

// comparesTime reports whether the package jobpolicy compares an attribute with the time.
var comparesTime = map[string]bool{"TimerRemove": true, jobpolicy.AttrDeferralTime: true, "CronMinute": true, "CronHour": true, "CronDayOfMonth": true, "CronMonth": true, "CronDayOfWeek": true}

// timed reports whether the answer may be another one at another time, or by chance.
func (q question) timed() bool {
	for side, ad := range q.ads {
		for _, name := range q.names[side] {
			e, ok := ad.Lookup(name)
			if !ok {
				continue
			}
			if clock, chance := classad.Varies(e, ad, q.ads[1-side]); clock || chance || comparesTime[name] {
				return true
			}
		}
	}
	return false
}
