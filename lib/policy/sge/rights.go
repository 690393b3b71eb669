package sge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/nearest"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// Rules are the rules of qsub(1) and qalter(1): which users may raise a priority or set a
// deadline, and which projects, departments and parallel environments they may name.
func (Policy) Rules(c *config.Config) policy.Rules {
	slots := slotsRequests(Settings(c))
	requests := slices.Clone(slots)
	for _, x := range Settings(c).Complexes {
		requests = append(requests, requestsFor(x)...)
	}
	return policy.Rules{
		Attributes: rules, Requests: requests, CheckRequests: checkRequests,
		Settled:   append(policy.Names(rules), slots...),
		LeastPrio: sge.LeastPOSIX, MostPrio: sge.MostPOSIX,
		Ahead: "-p and -ot put jobs ahead of others",
	}
}

var rules = []policy.Rule{
	{Attr: pool.AttrJobPrio, Allow: priority},
	{Attr: sge.AttrDeadline, Allow: deadline},
	{Attr: sge.AttrJobShare, Allow: jobShare},
	{Attr: pool.AttrProject, Allow: project},
	{Attr: sge.AttrDepartment, Allow: department},
	{Attr: pool.AttrUnixGroup, Allow: policy.UnixGroup},
	{Attr: sge.AttrParallelSlots, Allow: slots},
	{Attr: sge.AttrParallelEnvironment, With: []string{sge.AttrParallelSlots}, Allow: environment},
}

// checkRequests refuses requests that slots cannot be asked for with, and amounts that complexes do
// not have.
func checkRequests(r policy.Rights, after *classad.Ad, asked func(attr string) bool) error {
	if err := slotsAsked(r, after, asked); err != nil {
		return err
	}
	return amounts(r, after, asked)
}

// priority: all users may lower it, and only administrators raise it, even back to an
// earlier value. Before a job is submitted it is 0.
func priority(r policy.Rights, before, after *classad.Ad) error {
	n, err := policy.WholeIn(after, pool.AttrJobPrio, sge.LeastPOSIX, sge.MostPOSIX, 0)
	if err != nil || r.Admin {
		return err
	}
	v, _ := policy.ConstantOf(before, pool.AttrJobPrio)
	old, _ := v.Int()
	if old = min(max(old, sge.LeastPOSIX), sge.MostPOSIX); n > old {
		return fmt.Errorf("%d is above %d: only administrators may raise a priority; yours can be lowered", n, old)
	}
	return nil
}

// deadline: users of the userset deadlineusers may set one.
func deadline(r policy.Rights, _, after *classad.Ad) error {
	n, err := policy.WholeIn(after, sge.AttrDeadline, 0, jobad.LastDeadline, 0)
	if err != nil || n == 0 || r.Admin {
		return err
	}
	in, err := r.IsListed(Settings(r.Config).Usersets[sge.DeadlineUsers].Entries)
	if err == nil && !in {
		err = fmt.Errorf("only administrators and the users of the userset %s may set one, and %s is not one of them", sge.DeadlineUsers, r.Owner)
	}
	return err
}

func jobShare(r policy.Rights, _, after *classad.Ad) error {
	_, err := policy.WholeIn(after, sge.AttrJobShare, 0, sge.MostShares, 0)
	return err
}

// project: it exists, and the owner has access to it. A job that names none is in its
// owner's default project, for which Grid Engine requires the same.
func project(r policy.Rights, _, after *classad.Ad) error {
	name, err := policy.NameIn(after, pool.AttrProject)
	if err != nil {
		return err
	}
	given := ""
	if name == "" {
		if name = Settings(r.Config).Users[r.Owner].DefaultProject; name == "" {
			return nil
		}
		given = ", the default project of " + r.Owner
	}
	p, ok := Settings(r.Config).Projects[name]
	if !ok {
		return fmt.Errorf("%q%s: there is no such project%s", name, given, meant(name, Settings(r.Config).Projects, "[sge.projects."+name+"]"))
	}
	in, err := isInOneOf(r, p.ACL)
	if err == nil && len(p.ACL) > 0 && !in {
		return fmt.Errorf("%q%s: %s has no access to this project, which is for %s: name another one", name, given, r.Owner, strings.Join(p.ACL, ", "))
	}
	out, err2 := isInOneOf(r, p.XACL)
	if err = errors.Join(err, err2); err == nil && out {
		return fmt.Errorf("%q%s: %s has no access to this project, which is not for %s: name another one", name, given, r.Owner, strings.Join(p.XACL, ", "))
	}
	return err
}

// department: it is there, and the owner's.
func department(r policy.Rights, _, after *classad.Ad) error {
	name, err := policy.NameIn(after, sge.AttrDepartment)
	if err != nil || name == "" {
		return err
	}
	if _, ok := Settings(r.Config).Departments[name]; !ok && name != sge.DefaultDepartment {
		return fmt.Errorf("%q: there is no such department%s", name, meant(name, Settings(r.Config).Departments, "[sge.departments."+name+"]"))
	}
	if r.Admin {
		return nil
	}
	own, err := departments(r)
	if err != nil || slices.Contains(own, name) {
		return err
	}
	return fmt.Errorf("%q: %s belongs to %s: leave the department out, or ask an administrator", name, r.Owner, strings.Join(own, ", "))
}

// departments are the departments that list the owner, in the order of their names; without
// any, the default department.
func departments(r policy.Rights) ([]string, error) {
	var own []string
	for _, name := range slices.Sorted(maps.Keys(Settings(r.Config).Departments)) {
		in, err := r.IsListed(Settings(r.Config).Departments[name].Entries)
		if err != nil {
			return nil, err
		}
		if in {
			own = append(own, name)
		}
	}
	if len(own) == 0 {
		own = []string{sge.DefaultDepartment}
	}
	return own, nil
}

// slots: the request for a parallel environment can be parsed.
func slots(r policy.Rights, _, after *classad.Ad) error {
	wanted, err := wantedSlots(after)
	if err == nil && wanted != "" {
		_, err = sge.SlotsText(wanted)
	}
	return err
}

// environment: the parallel environment is there, and which one is meant does not matter.
func environment(r policy.Rights, _, after *classad.Ad) error {
	name, err := policy.NameIn(after, sge.AttrParallelEnvironment)
	if err != nil || name == "" {
		return err
	}
	wanted, err := wantedSlots(after)
	if err != nil {
		return err
	}
	if wanted == "" {
		wanted = "1"
	}
	if _, _, err := Settings(r.Config).Slots(name, wanted); err != nil {
		return err
	}
	return Settings(r.Config).Ambiguous(name, wanted)
}

// wantedSlots returns the slots that a job wants as they stand; empty: it does not say.
func wantedSlots(ad *classad.Ad) (string, error) {
	v, constant := policy.ConstantOf(ad, sge.AttrParallelSlots)
	text, isText := v.Text()
	switch {
	case constant && v.Kind() == classad.KindUndefined:
		return "", nil
	case constant && isText && text != "":
		return text, nil
	case constant && v.Kind() == classad.KindInteger:
		return v.String(), nil
	}
	return "", fmt.Errorf("%s: want a number of slots, or ranges in double quotes", policy.Written(ad, sge.AttrParallelSlots))
}

// isInOneOf reports whether the owner is in one of some usersets.
func isInOneOf(r policy.Rights, sets []string) (bool, error) {
	for _, set := range sets {
		if in, err := r.IsListed(Settings(r.Config).Usersets[set].Entries); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// meant returns the name that was probably meant for an unknown one, or how there could be
// one of it.
func meant(name string, known map[string]sge.Object, table string) string {
	if hint := nearest.Hint(name, slices.Sorted(maps.Keys(known))); hint != "" {
		return hint
	}
	return "; administrators configure it as " + submitfile.Shorten(table)
}

// slotsRequests are the requests for slots, by name and shortcut.
func slotsRequests(c *sge.Config) []string {
	list := requestsFor(sge.Complex{Name: sge.SlotsComplex})
	for _, x := range c.Complexes {
		if strings.EqualFold(x.Name, sge.SlotsComplex) {
			list = append(list, requestsFor(sge.Complex{Name: x.Shortcut})...)
		}
	}
	return list
}

// slotsAsked refuses requests for slots, as resources are requested.
func slotsAsked(r policy.Rights, after *classad.Ad, asked func(attr string) bool) error {
	for _, attr := range slotsRequests(Settings(r.Config)) {
		if asked(attr) && !policy.IsUndefined(after, attr) {
			return &policy.Refusal{Attr: attr, Why: errors.New("slots cannot be requested like that: use parallel_slots")}
		}
	}
	return nil
}

// amounts refuses amounts that a complex does not have by its type. The value of an
// expression is unknown before the queue is ranked.
func amounts(r policy.Rights, after *classad.Ad, asked func(attr string) bool) error {
	for i, x := range Settings(r.Config).Complexes {
		for _, attr := range requestsFor(x) {
			v, constant := policy.ConstantOf(after, attr)
			if !asked(attr) || !constant || v.Kind() == classad.KindUndefined {
				continue
			}
			if want := Settings(r.Config).Wants(i, attr, v); want != "" {
				return &policy.Refusal{Attr: attr, Why: fmt.Errorf("%s: the complex %s wants %s", policy.Written(after, attr), x.Name, want)}
			}
		}
	}
	return nil
}

// requestsFor are the requests for a complex, by name and shortcut.
func requestsFor(x sge.Complex) (attrs []string) {
	for _, name := range [...]string{x.Name, x.Shortcut} {
		if name != "" {
			attrs = append(attrs, pool.RequestPrefix+strings.ToUpper(name[:1])+name[1:])
		}
	}
	return attrs
}
