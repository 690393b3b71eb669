package selection

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Constraint is an expression that says of each job whether it is meant.
type Constraint struct {
	text   string
	expr   *classad.Expr
	steps  int
	budget *classad.Budget // of steps, for all jobs
}

// ParseConstraint reads an expression that may take so many steps (classad.Budget) for all of
// the jobs that it is asked about; 0: any number.
func ParseConstraint(text string, steps int) (*Constraint, error) {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("-constraint: %w", err)
	}
	k := &Constraint{text: text, expr: e, steps: steps}
	k.begin()
	return k, nil
}

// begin gives the expression all of its steps.
func (k *Constraint) begin() { k.budget = classad.NewBudget(cmp.Or(k.steps, math.MaxInt)) }

// check refuses an expression that looks at no ad and is no boolean, also if there is no job
// to evaluate it for.
func (k *Constraint) check() error {
	ad := classad.New()
	own, external := classad.References(k.expr, ad)
	clock, chance := classad.Varies(k.expr, ad, nil)
	if own == nil && external == nil || len(own)+len(external) > 0 || clock || chance {
		return nil
	}
	_, err := k.ask(ad, 0, time.Time{})
	return err
}

// Of returns the procs for which the constraint is true at a time. It evaluates the constraint once for
// equal procs unless the expression can distinguish them. A value that is neither a boolean nor
// undefined is an error.
func (k *Constraint) Of(procs []Procs, now time.Time) ([]Procs, error) {
	k.begin()
	if err := k.check(); err != nil {
		return nil, err
	}
	var kept []Procs
	for _, s := range procs {
		if s.First == s.Last || !s.Run.TellsApart(k.expr) {
			yes, err := k.holds(s.FirstJob(), s.Run, now)
			if err != nil {
				return nil, err
			}
			if yes {
				kept = append(kept, s)
			}
			continue
		}
		parts, err := k.parts(s, now)
		if err != nil {
			return nil, err
		}
		kept = append(kept, parts...)
	}
	return kept, nil
}

// parts evaluates the constraint for each job.
func (k *Constraint) parts(s Procs, now time.Time) (kept []Procs, err error) {
	for id := range s.Jobs() {
		yes, err := k.holds(id, s.Run, now)
		if err != nil {
			return nil, err
		}
		if i := len(kept) - 1; yes && (i < 0 || !kept[i].Extend(pool.Only(id))) {
			kept = append(kept, Procs{pool.Only(id), s.Run, s.Word})
		}
	}
	return kept, nil
}

func (k *Constraint) holds(id pool.JobID, r spool.Run, now time.Time) (bool, error) {
	yes, err := k.ask(r.Proc(id.Proc), uint64(id.Cluster)<<32|uint64(id.Proc), now)
	switch {
	case k.budget.Spent():
		return false, err // which is about all jobs
	case err != nil:
		return false, fmt.Errorf("%w for job %v", err, id)
	}
	return yes, nil
}

// ask evaluates the expression for an ad. Chance differs between jobs and times.
func (k *Constraint) ask(ad *classad.Ad, job uint64, now time.Time) (bool, error) {
	c := &classad.Context{Now: now, Seed: job ^ uint64(now.UnixNano()), Budget: k.budget}
	before := k.budget.Left()
	v := k.expr.Eval(c, ad, nil)
	switch {
	case k.budget.Spent():
		return false, fmt.Errorf("-constraint: takes more than the %d steps that there are for all jobs (MAX_STEPS_PER_OWNER): make it simpler, or name fewer jobs", k.steps)
	case v.Kind() == classad.KindError && before-k.budget.Left() > classad.UsualSteps:
		return false, fmt.Errorf("-constraint: takes more than %d steps", classad.UsualSteps)
	}
	return truth(v)
}

// Doubt returns the likely mistake in a constraint that is true for none of the procs, empty
// without one: a name that none of the jobs has. A text without quotes reads as a name.
func (k *Constraint) Doubt(procs []Procs) string {
	own, external := classad.References(k.expr, classad.New())
	for _, name := range slices.Concat(own, external) {
		if len(procs) == 0 || slices.ContainsFunc(procs, func(s Procs) bool { return s.Run.Ad.Has(name) }) || caseless.Contains(laterNames, name) {
			continue
		}
		if meant, ok := nearest.Name(name, slices.Concat(procs[0].Run.Ad.Names(), laterNames)); ok {
			return fmt.Sprintf("no job has %s; did you mean %s?", name, meant)
		}
		if strings.EqualFold(strings.TrimSpace(k.text), name) {
			return "no job has " + name
		}
		quoted := regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllLiteralString(k.text, strconv.Quote(name))
		return fmt.Sprintf("no job has %s; put a text in double quotes: -constraint '%s'", name, quoted)
	}
	return ""
}

// laterNames are attributes that jobs get with time, which no job may have now.
var laterNames = []string{
	pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode, pool.AttrReleaseReason, pool.AttrLastHoldReason, pool.AttrRemoveReason,
	pool.AttrRemoteHost, pool.AttrLastRemoteHost, pool.AttrJobStartDate, "JobCurrentStartDate", pool.AttrNumJobStarts, pool.AttrNumJobMatches,
	pool.AttrExitCode, pool.AttrExitBySignal, pool.AttrExitSignal, pool.AttrCompletionDate, "RemoteWallClockTime", pool.AttrMemoryUsage,
	pool.AttrLastMatchTime, pool.AttrVacateReason, pool.AttrLastVacateTime, pool.AttrNumHolds, pool.AttrClusterID, pool.AttrProcID, pool.AttrJobBatchName,
	pool.AttrAccountingGroup, pool.AttrLastJobStatus, "EnteredCurrentStatus", "CurrentTime",
}

func truth(v classad.Value) (bool, error) {
	switch v.Kind() {
	case classad.KindUndefined:
		return false, nil
	case classad.KindBoolean:
		return v.True(), nil
	}
	return false, fmt.Errorf("-constraint: want true or false, got %s", valueText(v))
}

// valueText returns a value for a message.
func valueText(v classad.Value) string {
	const most = 60
	switch v.Kind() {
	case classad.KindList:
		return "a list"
	case classad.KindClassAd:
		return "an ad"
	}
	text := v.String()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
