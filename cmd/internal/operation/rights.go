package operation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/maui"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// Rights are what an owner's jobs may be charged to and ask for: whom they are accounted as,
// and by the policy in force Maui's names and Grid Engine's (qsub(1), qalter(1)). They are the same for new jobs and
// for those in the queue, for those that come late, and for what another program sends.
type Rights struct {
	Config *config.Config
	Caller string // who asks
	Admin  bool   // whether the caller is an administrator
	Owner  string // whose the job is
	// Groups returns the names of the owner's Unix groups. The error is that they cannot be told.
	Groups func() ([]string, error)
}

// RightsOf returns the rights for the jobs of an owner. The owner's groups are looked up when a
// rule asks for them first.
func RightsOf(cfg *config.Config, caller string, admin bool, owner string, groupsOf func(user string) ([]string, error)) Rights {
	return Rights{cfg, caller, admin, owner, sync.OnceValues(func() ([]string, error) { return groupsOf(owner) })}
}

// Refusal is why an attribute of a job cannot be what is asked for.
type Refusal struct {
	Attr string
	Why  error // without the attribute's name
}

func (r *Refusal) Error() string { return r.Attr + ": " + r.Why.Error() }

func (r *Refusal) Unwrap() error { return r.Why }

// rule is what an attribute of a job has to be.
type rule struct {
	attr string
	with []string // other attributes on which the rule looks
	// allow returns why the attribute cannot be what it is after a change, or missing.
	allow func(r Rights, before, after *classad.Ad) error
}

// ownRules hold under every policy, and mauiRules under Maui's.
var (
	ownRules = []rule{
		{pool.AttrOwner, nil, Rights.owner},
		{pool.AttrAccountingGroup, nil, Rights.accountingGroup},
	}
	mauiRules = []rule{
		{pool.AttrUnixGroup, nil, Rights.unixGroup},
		{pool.AttrAcctGroup, []string{pool.AttrUnixGroup}, Rights.account},
		{pool.AttrClass, []string{pool.AttrUnixGroup, pool.AttrAcctGroup}, Rights.class},
		{pool.AttrQOS, []string{pool.AttrUnixGroup, pool.AttrAcctGroup, pool.AttrClass}, Rights.qos},
	}
)

// IsMaui reports whether JOB_PRIORITY_POLICY is Maui's.
func IsMaui(cfg *config.Config) bool { return cfg.JobPriorityPolicy == "maui" }

// rulesOf returns the rules of a configuration.
func rulesOf(cfg *config.Config) []rule {
	switch {
	case IsSGE(cfg):
		return slices.Concat(ownRules, sgeRules)
	case IsMaui(cfg):
		return slices.Concat(ownRules, mauiRules)
	}
	return ownRules
}

// Ruled returns the attributes that there are rules for.
func Ruled(cfg *config.Config) []string {
	var attrs []string
	for _, rule := range rulesOf(cfg) {
		attrs = append(attrs, rule.attr)
	}
	if IsSGE(cfg) {
		attrs = append(attrs, slotsRequests(&cfg.SGE)...)
		for _, x := range cfg.SGE.Complexes {
			attrs = append(attrs, requestsFor(x)...)
		}
	}
	return attrs
}

// Settled returns the attributes, or the commands that enter one, that jobs of the caller's have to have in common where some
// appear as others finish.
func Settled(cfg *config.Config, admin bool) []string {
	var attrs []string
	switch {
	case IsSGE(cfg):
		for _, rule := range sgeRules {
			attrs = append(attrs, rule.attr)
		}
		attrs = append(attrs, slotsRequests(&cfg.SGE)...)
	case IsMaui(cfg) && !admin:
		for _, rule := range mauiRules {
			attrs = append(attrs, rule.attr)
		}
	}
	if !admin {
		attrs = append(attrs, pool.AttrAccountingGroup, "accounting_group_user", "nice_user")
	}
	return attrs
}

// Submit returns why a job with such an ad cannot be submitted: a *Refusal, or an error that
// keeps this from being told.
func (r Rights) Submit(ad *classad.Ad) error { return r.Change(classad.New(), ad, nil) }

// Change returns why some attributes of a job cannot become what they are in another ad; nil
// for all attributes that there are rules for. The error is as that of Submit.
func (r Rights) Change(before, after *classad.Ad, attrs []string) error {
	meant := func(attr string) bool {
		isIt := func(a string) bool { return strings.EqualFold(a, attr) }
		return attrs == nil || slices.ContainsFunc(attrs, isIt)
	}
	for _, rule := range rulesOf(r.Config) {
		if !meant(rule.attr) && !slices.ContainsFunc(rule.with, meant) {
			continue
		}
		if err := rule.allow(r, before, after); err != nil {
			return &Refusal{rule.attr, err}
		}
	}
	if !IsSGE(r.Config) {
		return nil
	}
	asked := func(attr string) bool { return after.Has(attr) && meant(attr) }
	if err := r.slotsAsked(after, asked); err != nil {
		return err
	}
	return r.requests(after, asked)
}

// owner: the jobs are the caller's own, and say so.
func (r Rights) owner(_, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	name, err := nameIn(after, pool.AttrOwner)
	if err == nil && (name != r.Owner || name != r.Caller) {
		err = fmt.Errorf("%q: only administrators may submit for somebody else than %s", name, r.Caller)
	}
	return err
}

// accountingGroup: the jobs are charged to their owner, who may be in a group that is open to the
// owner.
func (r Rights) accountingGroup(_, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	name, err := nameIn(after, pool.AttrAccountingGroup)
	if err != nil || name == "" || name == r.Owner {
		return err
	}
	group, ok := strings.CutSuffix(name, "."+r.Owner)
	if !ok {
		return fmt.Errorf("%q: jobs of %s are charged to %s, or in a group to GROUP.%s: only administrators may charge others", name, r.Owner, r.Owner, r.Owner)
	}
	if strings.EqualFold(group, r.Config.NiceGroup) {
		return nil
	}
	if in := r.Config.Groups.OfUser(name).Name; in != accountant.RootGroup && len(in) > len(group) {
		return fmt.Errorf("%q: it would count for the group %s, as names of groups end at the last dot", name, in)
	}
	if i, ok := r.Config.Groups.Find(group); !ok || i == 0 {
		return fmt.Errorf("%q: GROUP_NAMES has no group %s%s: only administrators may charge other names", name, group, nearest.Hint(group, groupNames(r.Config.Groups)))
	}
	return r.isMember(group)
}

// groupNames returns the names of all groups but the root.
func groupNames(groups *accountant.Groups) (names []string) {
	if groups.None() {
		return nil
	}
	for _, g := range groups.List[1:] {
		names = append(names, g.Name)
	}
	return names
}

// isMember returns an error where a group has a list of members without the owner.
func (r Rights) isMember(group string) error {
	members, of, restricted := r.Config.MembersOf(group)
	if !restricted {
		return nil
	}
	in, err := r.isListed(members)
	if err == nil && !in {
		err = fmt.Errorf("%q: %s is no member of the group %s: leave the group out, or ask an administrator for [groups.%s] members", group, r.Owner, of, of)
	}
	return err
}

// unixGroup: the owner belongs to it. A job that names none of its owner's groups would count for
// no group.
func (r Rights) unixGroup(_, after *classad.Ad) error {
	name, err := nameIn(after, pool.AttrUnixGroup)
	if r.Admin && (err == nil || !IsSGE(r.Config)) {
		return nil
	}
	if err != nil {
		return err
	}
	groups, err := r.Groups()
	switch {
	case slices.Contains(groups, name):
		return nil
	case name != "" && err != nil:
		return err
	case name != "":
		return fmt.Errorf("%q: %s does not belong to this Unix group: leave it out, or ask an administrator", name, r.Owner)
	case len(groups) > 0:
		return fmt.Errorf("want one of the Unix groups of %s: %s", r.Owner, strings.Join(groups, ", "))
	}
	return nil
}

// account, class and qos: the owner has it, by the lists of Maui's credentials.

func (r Rights) account(_, after *classad.Ad) error {
	name, err := nameIn(after, pool.AttrAcctGroup)
	_, _, restricted := r.Config.MembersOf(name)
	switch {
	case r.Admin:
		return nil
	case err == nil && strings.EqualFold(name, r.Config.NiceGroup):
		return nil
	case err == nil && restricted: // which goes for the account of a group, too
		return r.isMember(name)
	}
	return r.mauiName(maui.Account, pool.AttrAcctGroup, after)
}

func (r Rights) class(_, after *classad.Ad) error {
	return r.mauiName(maui.Class, pool.AttrClass, after)
}

func (r Rights) qos(_, after *classad.Ad) error { return r.mauiName(maui.QOS, pool.AttrQOS, after) }

// mauiLists are the attributes of credentials that give others, for messages.
var mauiLists = [maui.Kinds]string{maui.Account: "ALIST", maui.Class: "CLIST", maui.QOS: "QLIST"}

// mauiName returns why a job cannot have the credential of a kind that an attribute names.
func (r Rights) mauiName(kind maui.Kind, attr string, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	name, err := nameIn(after, attr)
	if err != nil {
		return err
	}
	text := func(attr string) string {
		v, _ := constantOf(after, attr)
		s, _ := v.Text()
		return s
	}
	n := maui.Names{User: r.Owner, Group: text(pool.AttrUnixGroup), Account: text(pool.AttrAcctGroup), Class: text(pool.AttrClass), QOS: text(pool.AttrQOS)}
	if name == "" {
		if given := r.Config.Maui.DefaultOf(kind, n); given != "" && kind != maui.QOS {
			err = fmt.Errorf("missing: want %q, which is what %s has by default", given, r.Owner)
		}
		return err
	}
	if !r.Config.Maui.MayHave(kind, n) {
		return fmt.Errorf("%q: %s has no access to it: leave it out, or ask an administrator to put it into %s", name, r.Owner, mauiLists[kind])
	}
	return nil
}

// Permit returns why jobs cannot be submitted: what is wrong with which place of the description,
// or what keeps this from being told. The jobs are looked at by their ads, whatever has set an
// attribute, and by runs; those that appear later are as these (Settled).
func (r Rights) Permit(d *jobad.Jobs, c jobad.Cluster) error {
	ruled := Ruled(r.Config)
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
	var refusal *Refusal
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
func (r Rights) settledNames(c jobad.Cluster) string {
	if r.Admin {
		return ""
	}
	ad := c.Runs[0].Ad().Chain(c.Ad)
	names := classad.New()
	for _, attr := range append(Settled(r.Config, false), pool.AttrOwner) {
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

// What Maui's setspri takes, and what it keeps: an absolute priority as it is, and one
// that is added to the job's own as relativeSystem and that. Up to 1e9 what is kept is
// absolute, so that the least that can be added is above -1e9.
const (
	maxSystem      = 1000
	relativeSystem = 2_000_000_000
	leastRelative  = -999_999_999
	mostRelative   = 1_000_000_000
)

// SystemPriority is what prio -system gives jobs.
type SystemPriority struct {
	text     string
	n        int64
	relative bool
}

// ReadSystemPriority reads N, +N or -N. Its errors are about how that is written.
func ReadSystemPriority(text string) (SystemPriority, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	s := SystemPriority{text, n, text != "" && (text[0] == '+' || text[0] == '-')}
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange): // else n is the nearest that there is
		return s, fmt.Errorf("-system %q: want a whole number: N, +N or -N", text)
	case s.relative && (n < leastRelative || n > mostRelative):
		return s, fmt.Errorf("-system %s: want a whole number from %d to +%d to add", text, leastRelative, mostRelative)
	case !s.relative && n > maxSystem:
		return s, fmt.Errorf("-system %s: system priority must be in the range 0 - %d; +%s adds to a job's own", text, maxSystem, text)
	}
	return s, nil
}

// String returns it as it was written, behind its flag.
func (s SystemPriority) String() string { return "-system " + s.text }

// Kept returns the SystemPriority that jobs get. It fails where the configuration has none
// such.
func (s SystemPriority) Kept(cfg *config.Config) (int64, error) {
	switch {
	case cfg.JobPriorityPolicy != "maui":
		return 0, errors.New(`-system: JOB_PRIORITY_POLICY is not "maui", which alone has system priorities: ` + insteadOfSystem(cfg))
	case s.relative && s.n < 0 && cfg.Maui.Compatible:
		return 0, fmt.Errorf("%v: Maui 3.3.1, which COMPATIBILITY asks for, takes nothing away from a priority", s)
	case s.relative:
		return relativeSystem + s.n, nil
	}
	return s.n, nil
}

// insteadOfSystem says what moves jobs under another policy than Maui's.
func insteadOfSystem(cfg *config.Config) string {
	if IsSGE(cfg) {
		return "-p and -ot put jobs ahead of others"
	}
	return "-p orders the jobs of one submitter"
}
