package operation

import (
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/spool"
)

// Barring is NEGOTIATOR_JOB_CONSTRAINT. A cycle does not ask a policy with one queue about the
// jobs that it bars, so that they neither have a place there nor make a difference to the
// others. The zero Barring bars none.
type Barring struct{ constraint *classad.Expr }

// BarringOf compiles the configured expression; one that is none is an error.
func BarringOf(cfg *config.Config) (b Barring, err error) {
	b.constraint, err = cfg.Expr("NEGOTIATOR_JOB_CONSTRAINT")
	return b, err
}

// Bars tells whether a proc of a run is barred.
func (b Barring) Bars(c *classad.Context, run spool.Run, proc int) bool {
	return b.constraint != nil && !b.constraint.Eval(c, run.Proc(proc), nil).True()
}

// TellsApart tells whether some procs of a run may be barred and others not.
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
