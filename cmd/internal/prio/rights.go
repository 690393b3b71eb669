package prio

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
)

// rights are the caller's limits on changes of jobs: by their owners, as each has other
// groups.
type rights struct {
	*cmdline.Call
	cfg   *config.Config
	rules policy.Rules
	who   cmdline.Caller
	of    map[string]policy.Rights
}

func newRights(c *cmdline.Call, who cmdline.Caller) *rights {
	return &rights{c, c.Config, registry.Of(c.Config).Rules(c.Config), who, map[string]policy.Rights{}}
}

// outside tells why an adjustment of a priority leaves the range; empty if it does not.
func (r *rights) outside(old int64, ch change) string {
	inside := func(n int64) bool { return n >= math.MinInt32 && n <= math.MaxInt32 }
	least, most := r.rules.Priorities()
	sum := old + ch.add // 64 bits suffice once old is in range
	switch {
	case inside(old) && sum >= least && sum <= most:
		return ""
	case least != math.MinInt32:
		return fmt.Sprintf("%d %s %s is outside of %d to %d", old, ch.text[:1], ch.text[1:], least, most)
	}
	return fmt.Sprintf("%d %s %s is outside of 32 bits", old, ch.text[:1], ch.text[1:])
}

// permit returns why jobs may not have the values of the changes.
func (r *rights) permit(list changes, made []*classad.Expr, procs selection.Procs) error {
	attrs := make([]string, len(list))
	for i, ch := range list {
		attrs[i] = ch.attr
	}
	if !slices.ContainsFunc(attrs, r.ruled) {
		return nil
	}
	before, after := procs.Run.Proc(procs.First), procs.Run.Proc(procs.First)
	owner, _ := before.EvalString(&classad.Context{}, pool.AttrOwner)
	of, ok := r.of[owner]
	if !ok {
		of = policy.RightsOf(registry.Of(r.cfg), r.cfg, r.who.Name, r.who.Admin, owner, r.GroupsOf)
		r.of[owner] = of
	}
	for i, ch := range list {
		after.Set(ch.attr, made[i])
	}
	return of.Change(before, after, attrs)
}

// ruled reports whether there are rules for an attribute.
func (r *rights) ruled(attr string) bool {
	return caseless.Contains(r.rules.Ruled(), attr)
}

// worded says why changes are refused: without the attribute where there is but one.
func (list changes) worded(err error) string {
	var refusal *policy.Refusal
	if len(list) == 1 && list[0].priority && errors.As(err, &refusal) {
		return refusal.Why.Error()
	}
	return err.Error()
}
