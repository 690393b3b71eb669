package prio

import (
	"errors"
	"fmt"
	"math"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
)

// rights are what the caller may change jobs to: by their owners, as each has other projects.
type rights struct {
	cfg *config.Config
	who cmdline.Caller
	of  map[string]operation.SGERights
}

func newRights(cfg *config.Config, who cmdline.Caller) *rights {
	return &rights{cfg, who, map[string]operation.SGERights{}}
}

// outside tells why an adjustment of a priority leaves the range; empty if it does not.
func (r *rights) outside(old int64, ch change) string {
	inside := func(n int64) bool { return n >= math.MinInt32 && n <= math.MaxInt32 }
	least, most := operation.PriorityBounds(r.cfg)
	sum := old + ch.add // of which 64 bits are enough once old is inside
	switch {
	case inside(old) && sum >= least && sum <= most:
		return ""
	case operation.IsSGE(r.cfg):
		return fmt.Sprintf("%d %s %s is outside of %d to %d", old, ch.text[:1], ch.text[1:], least, most)
	}
	return fmt.Sprintf("%d %s %s is outside of 32 bits", old, ch.text[:1], ch.text[1:])
}

// permit returns why jobs may not become what the changes make of them.
func (r *rights) permit(list changes, made []*classad.Expr, span selection.Span) error {
	if !operation.IsSGE(r.cfg) {
		return nil
	}
	before, after := span.Run.Proc(span.First), span.Run.Proc(span.First)
	owner, _ := before.EvalString(&classad.Context{}, pool.AttrOwner)
	of, ok := r.of[owner]
	if !ok {
		of, _ = operation.SGERightsOf(r.cfg, owner, r.who.Admin)
		r.of[owner] = of
	}
	var attrs []string
	for i, ch := range list {
		after.Set(ch.attr, made[i])
		attrs = append(attrs, ch.attr)
	}
	return of.Change(before, after, attrs)
}

// worded says why changes are refused: without the attribute where there is but one.
func (list changes) worded(err error) string {
	var refusal *operation.SGERefusal
	if len(list) == 1 && list[0].priority && errors.As(err, &refusal) {
		return refusal.Why.Error()
	}
	return err.Error()
}
