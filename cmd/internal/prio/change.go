package prio

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// change is what becomes of one attribute.
type change struct {
	attr string
	expr *classad.Expr // nil: an adjustment
	add  int64
	text string // as the journal has it
	// priority says that it was asked for as one, by -p, a sign or -system.
	priority bool
}

// changes are what becomes of a job, each of another attribute.
type changes []change

// levels are the options for the priorities that count before and behind JobPrio.
var levels = []struct{ flag, attr, where string }{
	{"pre1", pool.AttrPreJobPrio1, "which counts first"},
	{"pre2", pool.AttrPreJobPrio2, "which counts second, before JobPrio"},
	{"post1", pool.AttrPostJobPrio1, "which counts after JobPrio"},
	{"post2", pool.AttrPostJobPrio2, "which counts last"},
}

func levelFlags() (flags []cmdline.Flag) {
	for _, l := range levels {
		flags = append(flags, cmdline.Flag{Name: l.flag, Args: []string{"N"}, Help: "set " + l.attr + " to N, " + l.where})
	}
	return flags
}

// changesOf reads the caller's changes.
func changesOf(c *cmdline.Call, who cmdline.Caller) (changes, error) {
	flag, err := c.One("p", "adjust")
	if err != nil {
		return nil, err
	}
	var list changes
	if flag != "" {
		ch, err := priority(c, flag)
		if err != nil {
			return nil, err
		}
		list = append(list, ch)
	}
	for _, l := range levels {
		if !c.Has(l.flag) {
			continue
		}
		ch, err := number(l.attr, c.Value(l.flag), math.MinInt32, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		ch.text = "-" + l.flag + " " + ch.text
		list = append(list, ch)
	}
	for _, p := range registry.Policies {
		for _, o := range p.Options() {
			if !c.Has(o.Name) {
				continue
			}
			ch, err := optionChange(c, o, who)
			if err != nil {
				return nil, err
			}
			list = append(list, ch)
		}
	}
	for _, words := range c.Repeated("set") {
		ch, err := assignment(c.Config, words[0], who)
		if err != nil {
			return nil, err
		}
		list = append(list, ch)
	}
	if len(list) == 0 {
		return nil, cmdline.Usagef("want a new priority, -p N, or an adjustment, +N or -N")
	}
	return list, list.once()
}

// optionFlags are the options of policies.
func optionFlags() (flags []cmdline.Flag) {
	for _, p := range registry.Policies {
		for _, o := range p.Options() {
			flags = append(flags, cmdline.Flag{Name: o.Name, Args: []string{o.Arg}, Help: o.Help})
		}
	}
	return flags
}

// optionChange reads what an option of a policy sets.
func optionChange(c *cmdline.Call, o policy.Option, who cmdline.Caller) (change, error) {
	s, err := o.Set(policy.Edit{Value: c.Value(o.Name), Now: c.Now, Admin: who.Admin, Policy: registry.Of(c.Config), Config: c.Config})
	var misused *policy.ValueError
	switch {
	case errors.As(err, &misused):
		return change{}, cmdline.Usagef("%v", err)
	case err != nil:
		return change{}, err
	case s.Doubt != "":
		c.Warn("-%s %s", o.Name, s.Doubt)
	}
	if err := jobad.CheckEdit(s.Attr, s.Expr, who.Admin); err != nil && !s.Priority {
		return change{}, fmt.Errorf("-%s: %w", o.Name, err)
	}
	return change{attr: s.Attr, expr: s.Expr, text: "-" + o.Name + " " + c.Value(o.Name), priority: s.Priority}, nil
}

// once refuses two changes of one attribute.
func (list changes) once() error {
	seen := map[string]bool{}
	for _, ch := range list {
		name := strings.ToLower(ch.attr)
		if seen[name] {
			return cmdline.Usagef("%s: changed twice", ch.attr)
		}
		seen[name] = true
	}
	return nil
}

// priority reads -p N, or +N and -N.
func priority(c *cmdline.Call, flag string) (change, error) {
	least, most := registry.Of(c.Config).Rules(c.Config).Priorities()
	if flag == "adjust" { // the sum is what counts
		least, most = math.MinInt32, math.MaxInt32
	}
	ch, err := number(pool.AttrJobPrio, c.Value(flag), least, most)
	if ch.priority = true; flag == "adjust" {
		ch.expr, ch.text = nil, fmt.Sprintf("%+d", ch.add)
	}
	return ch, err
}

func number(attr, text string, least, most int64) (change, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return change{}, cmdline.Usagef("%q: want a whole number from %d to %d", text, least, most)
	}
	return change{attr: attr, expr: classad.Literal(classad.Int(n)), add: n, text: strconv.FormatInt(n, 10)}, nil
}

// assignment reads ATTR=EXPR.
func assignment(cfg *config.Config, text string, who cmdline.Caller) (change, error) {
	name, value, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return change{}, cmdline.Usagef("-set %q: want an attribute and an expression, like RequestMemory=4096", text)
	}
	value = strings.TrimSpace(value)
	e, err := classad.ParseExpr(value)
	if err == nil && jobad.BeyondInteger(value) {
		err = fmt.Errorf("too large for an integer: want %d to %d", math.MinInt64, math.MaxInt64)
	}
	if err != nil {
		return change{}, cmdline.Usagef("-set %s: %v", name, err)
	}
	if err := checkEdit(cfg, name, e, who); err != nil {
		return change{}, fmt.Errorf("-set %w", err)
	}
	return change{attr: name, expr: e, text: "-set " + name + "=" + e.Format(classad.StyleSpool)}, nil
}

// checkEdit refuses what no job may have, with the range of the policy.
func checkEdit(cfg *config.Config, name string, e *classad.Expr, who cmdline.Caller) error {
	err := jobad.CheckEdit(name, e, who.Admin)
	least, most := registry.Of(cfg).Rules(cfg).Priorities()
	if err == nil || least == math.MinInt32 || !strings.EqualFold(name, pool.AttrJobPrio) {
		return err
	}
	return fmt.Errorf("%s: %s: want a whole number from %d to %d", name, submitfile.Shorten(e.String()), least, most)
}

// words returns the changes as the journal has them.
func (list changes) words() (words []string) {
	for _, ch := range list {
		words = append(words, ch.text)
	}
	return words
}

// apply makes the changes for some procs of a cluster: for all at once where they share
// a constant priority, as most do.
func (list changes) apply(tx *spool.Tx, procs selection.Procs, o *outcome) {
	if e, ok := procs.Run.Ad.Lookup(pool.AttrJobPrio); ok && list.adjust() {
		if _, constant := e.Constant(); !constant {
			for id := range procs.Jobs() {
				one := procs
				one.Procs = pool.Only(id)
				list.alike(tx, one, o)
			}
			return
		}
	}
	list.alike(tx, procs, o)
}

func (list changes) adjust() bool { return len(list) > 0 && list[0].expr == nil }

// alike makes the changes for jobs that have one priority.
func (list changes) alike(tx *spool.Tx, procs selection.Procs, o *outcome) {
	ad := procs.Run.Proc(procs.First)
	made := make([]*classad.Expr, len(list))
	for i, ch := range list {
		if why := ch.waitsInVain(tx, procs.Cluster); why != "" {
			o.refuse(procs, why)
			return
		}
		if made[i] = ch.expr; made[i] != nil {
			continue
		}
		// Other values count as 0, as in the order of jobs.
		old, _ := ad.EvalInt(&classad.Context{}, ch.attr)
		if why := o.rights.outside(old, ch); why != "" {
			o.refuse(procs, why)
			return
		}
		made[i] = classad.Literal(classad.Int(old + ch.add))
	}
	if err := o.rights.permit(list, made, procs); err != nil {
		o.refuse(procs, list.worded(err))
		return
	}
	if err := lifecycle.ChargeEdit(tx, o.rights.cfg, procs.Cluster, added(ad, list, made)); err != nil {
		o.refuse(procs, err.Error())
		return
	}
	list.log(tx, procs, ad, made, &o.log) // with the earlier values
	for i, ch := range list {
		tx.SetRange(procs.Procs, ch.attr, made[i])
		ch.watch(tx, procs)
	}
	o.done.Add(selection.Line{Procs: procs.Procs, What: "changed"})
}

// added returns by how many bytes changes make a job's ad longer. A number in the place of something
// else does not count, so that a change of priority costs no look at what its owner has.
func added(ad *classad.Ad, list changes, made []*classad.Expr) (bytes int64) {
	for i, ch := range list {
		after := len(made[i].Format(classad.StyleSpool))
		before, ok := ad.Lookup(ch.attr)
		switch {
		case !ok:
			bytes += int64(len(ch.attr) + after)
		case after > longestNumber:
			bytes += int64(max(after-len(before.Format(classad.StyleSpool)), 0))
		}
	}
	return bytes
}

// longestNumber is how many bytes the longest integer takes.
const longestNumber = len("-9223372036854775808")

// log notes an event for each job and change.
func (list changes) log(tx *spool.Tx, procs selection.Procs, ad *classad.Ad, made []*classad.Expr, log *joblog.Events) {
	if !ad.Has(pool.AttrUserLog) {
		return
	}
	var events []userlog.AttributeChanged
	for i, ch := range list {
		from := ""
		if before, ok := ad.Lookup(ch.attr); ok {
			from = before.String()
		}
		events = append(events, userlog.AttributeChanged{Name: ch.attr, From: from, To: made[i].String()})
	}
	for id := range procs.Jobs() {
		for _, e := range events {
			log.Add(tx, id, procs.Run.Proc(id.Proc), e)
		}
	}
}

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

// waitsFor returns the clusters that jobs wait for after a change, and whether the change
// is about that.
func (ch change) waitsFor() (clusters []int, is bool) {
	if !strings.EqualFold(ch.attr, jobpolicy.AttrAfterOk) && !strings.EqualFold(ch.attr, jobpolicy.AttrAfterAny) {
		return nil, false
	}
	v, _ := ch.expr.Constant()
	text, ok := v.Text()
	if !ok {
		text = v.String()
	}
	clusters, _ = jobpolicy.ParseClusters(text) // what cannot be read means none
	return clusters, true
}

// waitsInVain tells why jobs of a cluster would wait for ever by a change, empty if
// they would not.
func (ch change) waitsInVain(tx *spool.Tx, cluster int) string {
	clusters, _ := ch.waitsFor()
	for _, of := range clusters {
		switch {
		case of == cluster:
			return fmt.Sprintf("%s: they would wait for themselves", ch.attr)
		case of >= tx.NextCluster():
			return fmt.Sprintf("%s: there is no cluster %d", ch.attr, of)
		case of > cluster: // else jobs might wait for one another
			return fmt.Sprintf("%s: cluster %d was submitted after them: they can only wait for one from before", ch.attr, of)
		}
	}
	return ""
}

// watch begins to watch the clusters that a change has made relevant.
func (ch change) watch(tx *spool.Tx, procs selection.Procs) {
	if strings.EqualFold(ch.attr, pool.AttrJobNotification) || strings.EqualFold(ch.attr, pool.AttrNotifyUser) {
		lifecycle.Watch(tx, procs.Cluster)
	}
	clusters, is := ch.waitsFor()
	if !is {
		return
	}
	for _, of := range clusters {
		lifecycle.Watch(tx, of)
	}
	if procs.Run.Ad.Has(jobpolicy.AttrDependenciesMet) { // of the clusters before
		tx.SetRange(procs.Procs, jobpolicy.AttrDependenciesMet, nil)
	}
}
