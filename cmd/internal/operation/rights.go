package operation

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// Permit returns why jobs cannot be submitted: what is wrong with which place of the description,
// or what keeps this from being told. The jobs are looked at by their ads, whatever has set an
// attribute, and by runs; those that appear later are as these (Settled).
func Permit(r policy.Rights, d *jobad.Jobs, c jobad.Cluster) error {
	ruled := r.Rules.Ruled()
	plain := false // whether jobs that have nothing of this but what all share were looked at
	first := 0     // proc of the run
	for _, run := range c.Runs {
		ad, proc := c.Ad, first
		first += run.Count
		if run.Has(ruled...) {
			ad = run.Ad().Chain(c.Ad)
		} else if plain {
			continue
		} else {
			plain = true
		}
		if err := located(d, proc, r.Submit(ad)); err != nil {
			return err
		}
	}
	return nil
}

// located returns a refusal of a proc with the place in the description that is refused.
func located(d *jobad.Jobs, proc int, err error) error {
	var refusal *policy.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	err = d.Refuse(refusal.Attr, proc, refusal.Why)
	if placed := (*submitfile.Error)(nil); refusal.Attr == pool.AttrAccountingGroup && !errors.As(err, &placed) {
		return d.RefuseCommand("accounting_group_user", refusal.Attr, proc, refusal.Why) // the other command that gives it
	}
	return err
}

// settledNames returns what jobs that appear later have to have in common with those of a cluster
// that are there, as the text of an ad; empty where an administrator submits them.
func settledNames(r policy.Rights, c jobad.Cluster) string {
	if r.Admin {
		return ""
	}
	ad := c.Runs[0].Ad().Chain(c.Ad)
	names := classad.New()
	for _, attr := range append(r.Rules.SettledFor(false), pool.AttrOwner) {
		if !strings.Contains(attr, "_") { // which no command is without
			names.Set(attr, valueOf(ad, attr))
		}
	}
	return names.String()
}

// sameNames returns an error where jobs that appear now differ in what settledNames had of those
// before them.
func sameNames(settled string, c jobad.Cluster) error {
	if settled == "" {
		return nil
	}
	names, err := classad.ParseAd(settled)
	if err != nil {
		return err
	}
	attrs := names.OwnNames()
	for i, run := range c.Runs {
		if i > 0 && !run.Has(attrs...) {
			continue
		}
		ad := run.Ad().Chain(c.Ad)
		for _, attr := range attrs {
			want, is := valueOf(names, attr).Format(classad.StyleSpool), valueOf(ad, attr).Format(classad.StyleSpool)
			if want != is {
				return fmt.Errorf("%s: %s, where the jobs submitted with them have %s", attr, submitfile.Shorten(is), submitfile.Shorten(want))
			}
		}
	}
	return nil
}

// valueOf returns an attribute's expression; undefined without it.
func valueOf(ad *classad.Ad, attr string) *classad.Expr {
	if e, ok := ad.Lookup(attr); ok {
		return e
	}
	return classad.Literal(classad.Undefined())
}

// Barring is NEGOTIATOR_JOB_CONSTRAINT. A cycle does not ask a policy with one queue about the
// jobs that it bars, so that they neither have a place there nor make a difference to the
// others. The zero Barring bars none.
type Barring struct{ constraint *classad.Expr }

// BarringOf compiles the configured expression; one that is none is an error.
func BarringOf(cfg *config.Config) (b Barring, err error) {
	b.constraint, err = cfg.Expr("NEGOTIATOR_JOB_CONSTRAINT")
	return b, err
}

// Bars reports whether a proc of a run is barred.
func (b Barring) Bars(c *classad.Context, run spool.Run, proc int) bool {
	return b.constraint != nil && !b.constraint.Eval(c, run.Proc(proc), nil).True()
}

// TellsApart reports whether some procs of a run may be barred and others not.
func (b Barring) TellsApart(run spool.Run) bool {
	return b.constraint != nil && run.TellsApart(b.constraint)
}

// Reads returns the names of the attributes of jobs that the answer depends on; ok is false
// where that may be any.
func (b Barring) Reads() (names []string, ok bool) {
	if b.constraint == nil {
		return nil, true
	}
	if strings.Contains(strings.ToLower(b.constraint.String()), "eval") {
		return nil, false
	}
	own, external := classad.References(b.constraint, classad.New())
	return append(own, external...), own != nil || external != nil
}
