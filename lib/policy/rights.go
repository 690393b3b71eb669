package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"fairspool/lib/accountant"
	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// Rules are a policy's for what jobs may ask for. They are the same for new jobs, for those in the
// queue, for those that come late, and for what another program sends.
type Rules struct {
	// Attributes are the rules for single attributes, in the order of the checks.
	Attributes []Rule
	// Requests are attributes that CheckRequests checks, beyond those of Attributes.
	Requests []string
	// CheckRequests returns why a job's requests are impossible, for the attributes for which
	// asked is true; nil: there is nothing to check.
	CheckRequests func(r Rights, after *classad.Ad, asked func(attr string) bool) error
	// Settled are the attributes that jobs of one cluster have to have in common where some appear
	// as others finish; SettledOfUsers are such where no administrator submits.
	Settled, SettledOfUsers []string
	// Defaults returns the account that jobs of an owner with a primary Unix group are for where they
	// name none, and by the account the class; under "" that without one. nil: there are no defaults.
	Defaults func(owner, group string) (account string, classes map[string]string)
	// LeastPrio and MostPrio bound JobPrio; both 0: 32 bits do.
	LeastPrio, MostPrio int64
	// Ahead says what users do to move jobs ahead, such as "-p orders the jobs of one submitter".
	Ahead string
}

// Rule is what an attribute of a job has to be.
type Rule struct {
	Attr string
	With []string // other attributes on which the rule looks
	// Allow returns why the attribute cannot have its value after a change, or be
	// missing.
	Allow func(r Rights, before, after *classad.Ad) error
}

// Names returns the attributes of rules.
func Names(rules []Rule) []string {
	list := make([]string, len(rules))
	for i, rule := range rules {
		list[i] = rule.Attr
	}
	return list
}

// Rights are the limits on an owner's jobs: the accounts that they are charged to, and the rules
// of the policy in force for their requests. They are the same for new jobs, for jobs in the
// queue, for jobs that come late, and for jobs from another program.
type Rights struct {
	Config *config.Config
	Rules  Rules
	Caller string // the user who asks
	Admin  bool   // whether the caller is an administrator
	Owner  string // the job's owner
	// Groups returns the names of the owner's Unix groups. It fails if they are unknown.
	Groups func() ([]string, error)
}

// RightsOf returns the rights for the jobs of an owner by a policy. The owner's groups are looked
// up when a rule asks for them first.
func RightsOf(p Policy, c *config.Config, caller string, admin bool, owner string, groupsOf func(user string) ([]string, error)) Rights {
	return Rights{c, p.Rules(c), caller, admin, owner, sync.OnceValues(func() ([]string, error) { return groupsOf(owner) })}
}

// Refusal is why an attribute of a job cannot have the requested value.
type Refusal struct {
	Attr string
	Why  error // without the attribute's name
}

func (r *Refusal) Error() string { return r.Attr + ": " + r.Why.Error() }

func (r *Refusal) Unwrap() error { return r.Why }

// common are the rules under every policy.
var common = []Rule{
	{pool.AttrOwner, nil, owner},
	{pool.AttrAccountingGroup, nil, accountingGroup},
}

// Ruled returns the attributes that there are rules for.
func (r Rules) Ruled() []string {
	return slices.Concat(Names(common), Names(r.Attributes), r.Requests)
}

// SettledFor returns the attributes, or the commands that enter one, that jobs of a cluster have to
// have in common where some appear as others finish.
func (r Rules) SettledFor(admin bool) []string {
	if admin {
		return r.Settled
	}
	return slices.Concat(r.Settled, r.SettledOfUsers, []string{pool.AttrAccountingGroup, "accounting_group_user", "nice_user"})
}

// Priorities are the bounds of JobPrio.
func (r Rules) Priorities() (least, most int64) {
	if r.LeastPrio == 0 && r.MostPrio == 0 {
		return math.MinInt32, math.MaxInt32
	}
	return r.LeastPrio, r.MostPrio
}

// Submit returns why a job with such an ad cannot be submitted: a *Refusal, or another
// error if that cannot be determined.
func (r Rights) Submit(ad *classad.Ad) error { return r.Change(classad.New(), ad, nil) }

// Change returns why some attributes of a job cannot get the values of another ad; nil for
// all attributes with rules. The error is like Submit's.
func (r Rights) Change(before, after *classad.Ad, attrs []string) error {
	meant := func(attr string) bool { return attrs == nil || caseless.Contains(attrs, attr) }
	for _, rules := range [...][]Rule{common, r.Rules.Attributes} {
		for _, rule := range rules {
			if !meant(rule.Attr) && !slices.ContainsFunc(rule.With, meant) {
				continue
			}
			if err := rule.Allow(r, before, after); err != nil {
				return &Refusal{rule.Attr, err}
			}
		}
	}
	if r.Rules.CheckRequests == nil {
		return nil
	}
	return r.Rules.CheckRequests(r, after, func(attr string) bool { return after.Has(attr) && meant(attr) })
}

// owner: the jobs are the caller's own, and say so.
func owner(r Rights, _, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	name, err := NameIn(after, pool.AttrOwner)
	if err == nil && (name != r.Owner || name != r.Caller) {
		err = fmt.Errorf("%q: only administrators may submit for users other than %s", name, r.Caller)
	}
	return err
}

// accountingGroup: the jobs are charged to their owner, in a group that is open to the owner.
func accountingGroup(r Rights, _, after *classad.Ad) error {
	if r.Admin {
		return nil
	}
	name, err := NameIn(after, pool.AttrAccountingGroup)
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
	return r.IsMember(group)
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

// IsMember returns an error where a group has a list of members without the owner.
func (r Rights) IsMember(group string) error {
	members, of, restricted := r.Config.MembersOf(group)
	if !restricted {
		return nil
	}
	in, err := r.IsListed(members)
	if err == nil && !in {
		err = fmt.Errorf("%q: %s is no member of the group %s: leave the group out, or ask an administrator for [groups.%s] members", group, r.Owner, of, of)
	}
	return err
}

// UnixGroup allows a Unix group that the owner belongs to. A job that names none of its owner's groups would count for
// no group.
func UnixGroup(r Rights, _, after *classad.Ad) error {
	name, err := NameIn(after, pool.AttrUnixGroup)
	if r.Admin || err != nil {
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

// IsListed reports whether the owner is listed, by name or by a @group.
func (r Rights) IsListed(entries []string) (bool, error) {
	if config.Lists(entries, r.Owner, nil) {
		return true, nil
	}
	if !config.NamesGroups(entries) {
		return false, nil
	}
	groups, err := r.Groups()
	return config.Lists(entries, r.Owner, groups), err
}

// IsUndefined reports whether an attribute is the constant.
func IsUndefined(ad *classad.Ad, attr string) bool {
	v, ok := ConstantOf(ad, attr)
	return ok && v.Kind() == classad.KindUndefined
}

// ConstantOf returns the value of an attribute that is a constant. An expression counts
// as missing, see sge.Queue.Job, because its value could change.
func ConstantOf(ad *classad.Ad, attr string) (classad.Value, bool) {
	e, ok := ad.Lookup(attr)
	if !ok {
		return classad.Undefined(), true
	}
	return e.Constant()
}

// WholeIn returns a number that an attribute has to be, as it stands; the fallback without
// one.
func WholeIn(ad *classad.Ad, attr string, least, most, fallback int64) (int64, error) {
	v, constant := ConstantOf(ad, attr)
	if constant && v.Kind() == classad.KindUndefined {
		return fallback, nil
	}
	n, isInt := v.Int()
	if !constant || !isInt || v.Kind() == classad.KindBoolean || n < least || n > most {
		return 0, fmt.Errorf("%s: want a whole number from %d to %d", Written(ad, attr), least, most)
	}
	return n, nil
}

// NameIn returns a name that an attribute has to be, as it stands; empty without one.
func NameIn(ad *classad.Ad, attr string) (string, error) {
	v, constant := ConstantOf(ad, attr)
	if constant && v.Kind() == classad.KindUndefined {
		return "", nil
	}
	name, isText := v.Text()
	if !constant || !isText || name == "" {
		return "", fmt.Errorf("%s: want a name in double quotes", Written(ad, attr))
	}
	return name, nil
}

// Written is an attribute's expression as messages quote it.
func Written(ad *classad.Ad, attr string) string {
	e, _ := ad.Lookup(attr)
	return submitfile.Shorten(strings.TrimSpace(e.String()))
}
