package operation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobad"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// priority: everybody may lower one, and only administrators raise it, also back to what it
// was. Before a job is submitted it is 0.
func (r Rights) priority(before, after *classad.Ad) error {
	n, err := wholeIn(after, pool.AttrJobPrio, sge.LeastPOSIX, sge.MostPOSIX, 0)
	if err != nil || r.Admin {
		return err
	}
	v, _ := constantOf(before, pool.AttrJobPrio)
	old, _ := v.Int()
	if old = min(max(old, sge.LeastPOSIX), sge.MostPOSIX); n > old {
		return fmt.Errorf("%d is above %d: only administrators may raise a priority; yours can be lowered", n, old)
	}
	return nil
}

// deadline: users of the userset deadlineusers may set one.
func (r Rights) deadline(_, after *classad.Ad) error {
	n, err := wholeIn(after, sge.AttrDeadline, 0, jobad.LastDeadline, 0)
	if err != nil || n == 0 || r.Admin {
		return err
	}
	in, err := r.isListed(r.Config.SGE.Usersets[sge.DeadlineUsers].Entries)
	if err == nil && !in {
		err = fmt.Errorf("only administrators and the users of the userset %s may set one, and %s is none of them", sge.DeadlineUsers, r.Owner)
	}
	return err
}

func (r Rights) jobShare(_, after *classad.Ad) error {
	_, err := wholeIn(after, sge.AttrJobShare, 0, sge.MostShares, 0)
	return err
}

// project: it is there, and the owner has access to it. A job that names none is in its
// owner's default project, of which Grid Engine asks the same.
func (r Rights) project(_, after *classad.Ad) error {
	name, err := nameIn(after, pool.AttrProject)
	if err != nil {
		return err
	}
	given := ""
	if name == "" {
		if name = r.Config.SGE.Users[r.Owner].DefaultProject; name == "" {
			return nil
		}
		given = ", the default project of " + r.Owner
	}
	p, ok := r.Config.SGE.Projects[name]
	if !ok {
		return fmt.Errorf("%q%s: there is no such project%s", name, given, meant(name, r.Config.SGE.Projects, "[sge.projects."+name+"]"))
	}
	in, err := r.isInOneOf(p.ACL)
	if err == nil && len(p.ACL) > 0 && !in {
		return fmt.Errorf("%q%s: %s has no access to this project, which is for %s: name another one", name, given, r.Owner, strings.Join(p.ACL, ", "))
	}
	out, err2 := r.isInOneOf(p.XACL)
	if err = errors.Join(err, err2); err == nil && out {
		return fmt.Errorf("%q%s: %s has no access to this project, which is not for %s: name another one", name, given, r.Owner, strings.Join(p.XACL, ", "))
	}
	return err
}

// department: it is there, and the owner's.
func (r Rights) department(_, after *classad.Ad) error {
	name, err := nameIn(after, sge.AttrDepartment)
	if err != nil || name == "" {
		return err
	}
	if _, ok := r.Config.SGE.Departments[name]; !ok && name != sge.DefaultDepartment {
		return fmt.Errorf("%q: there is no such department%s", name, meant(name, r.Config.SGE.Departments, "[sge.departments."+name+"]"))
	}
	if r.Admin {
		return nil
	}
	own, err := r.departments()
	if err != nil || slices.Contains(own, name) {
		return err
	}
	return fmt.Errorf("%q: %s belongs to %s: leave the department out, or ask an administrator", name, r.Owner, strings.Join(own, ", "))
}

// departments are those that list the owner, in the order of their names; without any, that
// of all others.
func (r Rights) departments() ([]string, error) {
	var own []string
	for _, name := range slices.Sorted(maps.Keys(r.Config.SGE.Departments)) {
		in, err := r.isListed(r.Config.SGE.Departments[name].Entries)
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

// slots: what is wanted of a parallel environment can be told.
func (r Rights) slots(_, after *classad.Ad) error {
	wanted, err := wantedSlots(after)
	if err == nil && wanted != "" {
		_, err = sge.SlotsText(wanted)
	}
	return err
}

// environment: the parallel environment is there, and which one is meant does not matter.
func (r Rights) environment(_, after *classad.Ad) error {
	name, err := nameIn(after, sge.AttrParallelEnvironment)
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
	if _, _, err := r.Config.SGE.Slots(name, wanted); err != nil {
		return err
	}
	return r.Config.SGE.Ambiguous(name, wanted)
}

// wantedSlots returns the slots that a job wants as they stand; empty: it does not say.
func wantedSlots(ad *classad.Ad) (string, error) {
	v, constant := constantOf(ad, sge.AttrParallelSlots)
	text, isText := v.Text()
	switch {
	case constant && v.Kind() == classad.KindUndefined:
		return "", nil
	case constant && isText && text != "":
		return text, nil
	case constant && v.Kind() == classad.KindInteger:
		return v.String(), nil
	}
	return "", fmt.Errorf("%s: want a number of slots, or ranges in double quotes", written(ad, sge.AttrParallelSlots))
}

// isInOneOf reports whether the owner is in one of some usersets.
func (r Rights) isInOneOf(sets []string) (bool, error) {
	for _, set := range sets {
		if in, err := r.isListed(r.Config.SGE.Usersets[set].Entries); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// isListed reports whether the owner is listed, by name or by a @group.
func (r Rights) isListed(entries []string) (bool, error) {
	if config.Lists(entries, r.Owner, nil) {
		return true, nil
	}
	if !config.NamesGroups(entries) {
		return false, nil
	}
	groups, err := r.Groups()
	return config.Lists(entries, r.Owner, groups), err
}

// meant returns the name that was probably meant for an unknown one, or how there could be
// one of it.
func meant(name string, known map[string]sge.Object, table string) string {
	if hint := nearest.Hint(name, slices.Sorted(maps.Keys(known))); hint != "" {
		return hint
	}
	return "; administrators configure it as " + submitfile.Shorten(table)
}

// IsSGE reports whether JOB_PRIORITY_POLICY is Grid Engine's.
func IsSGE(cfg *config.Config) bool { return cfg.JobPriorityPolicy == "sge" }

// PriorityBounds are those of JobPrio: Grid Engine's are narrower than others'.
func PriorityBounds(cfg *config.Config) (least, most int64) {
	if IsSGE(cfg) {
		return sge.LeastPOSIX, sge.MostPOSIX
	}
	return math.MinInt32, math.MaxInt32
}

// sgeRules are those of qsub(1) and qalter(1): who may raise a priority or set a deadline, and
// which projects, departments and parallel environments there are for whom. They are the same
// for new jobs and for those in the queue.
var sgeRules = []rule{
	{pool.AttrJobPrio, nil, Rights.priority},
	{sge.AttrDeadline, nil, Rights.deadline},
	{sge.AttrJobShare, nil, Rights.jobShare},
	{pool.AttrProject, nil, Rights.project},
	{sge.AttrDepartment, nil, Rights.department},
	{pool.AttrUnixGroup, nil, Rights.unixGroup},
	{sge.AttrParallelSlots, nil, Rights.slots},
	{sge.AttrParallelEnvironment, []string{sge.AttrParallelSlots}, Rights.environment},
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
func (r Rights) slotsAsked(after *classad.Ad, asked func(attr string) bool) error {
	for _, attr := range slotsRequests(&r.Config.SGE) {
		if asked(attr) && !isUndefined(after, attr) {
			return &Refusal{attr, errors.New("slots cannot be requested like that: use parallel_slots")}
		}
	}
	return nil
}

// requests refuses amounts that a complex does not have by its type. Of what is no constant
// nobody can tell before the queue is ranked.
func (r Rights) requests(after *classad.Ad, asked func(attr string) bool) error {
	for i, x := range r.Config.SGE.Complexes {
		for _, attr := range requestsFor(x) {
			v, constant := constantOf(after, attr)
			if !asked(attr) || !constant || v.Kind() == classad.KindUndefined {
				continue
			}
			if want := r.Config.SGE.Wants(i, attr, v); want != "" {
				return &Refusal{attr, fmt.Errorf("%s: the complex %s wants %s", written(after, attr), x.Name, want)}
			}
		}
	}
	return nil
}

// requestsFor are the requests for a complex, by name and shortcut.
func requestsFor(x sge.Complex) (attrs []string) {
	for _, name := range [...]string{x.Name, x.Shortcut} {
		if name != "" {
			attrs = append(attrs, sge.RequestPrefix+strings.ToUpper(name[:1])+name[1:])
		}
	}
	return attrs
}

// isUndefined reports whether an attribute is the constant.
func isUndefined(ad *classad.Ad, attr string) bool {
	v, ok := constantOf(ad, attr)
	return ok && v.Kind() == classad.KindUndefined
}

// constantOf returns the value of an attribute that is a constant. What is none counts as if
// it were not there, see sge.Queue.Job, or nobody could tell today what it is tomorrow.
func constantOf(ad *classad.Ad, attr string) (classad.Value, bool) {
	e, ok := ad.Lookup(attr)
	if !ok {
		return classad.Undefined(), true
	}
	return e.Constant()
}

// wholeIn returns a number that an attribute has to be, as it stands; the fallback without
// one.
func wholeIn(ad *classad.Ad, attr string, least, most, fallback int64) (int64, error) {
	v, constant := constantOf(ad, attr)
	if constant && v.Kind() == classad.KindUndefined {
		return fallback, nil
	}
	n, isInt := v.Int()
	if !constant || !isInt || v.Kind() == classad.KindBoolean || n < least || n > most {
		return 0, fmt.Errorf("%s: want a whole number from %d to %d", written(ad, attr), least, most)
	}
	return n, nil
}

// nameIn returns a name that an attribute has to be, as it stands; empty without one.
func nameIn(ad *classad.Ad, attr string) (string, error) {
	v, constant := constantOf(ad, attr)
	if constant && v.Kind() == classad.KindUndefined {
		return "", nil
	}
	name, isText := v.Text()
	if !constant || !isText || name == "" {
		return "", fmt.Errorf("%s: want a name in double quotes", written(ad, attr))
	}
	return name, nil
}

// written is an attribute's expression as messages quote it.
func written(ad *classad.Ad, attr string) string {
	e, _ := ad.Lookup(attr)
	return submitfile.Shorten(strings.TrimSpace(e.String()))
}
