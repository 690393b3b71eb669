package operation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// priority: everybody may lower one, and only administrators raise it, also back to what it
// was. Before a job is submitted it is 0.
func (r SGERights) priority(before, after *classad.Ad) error {
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
func (r SGERights) deadline(_, after *classad.Ad) error {
	n, err := wholeIn(after, sge.AttrDeadline, 0, jobad.LastDeadline, 0)
	if err != nil || n == 0 || r.Admin {
		return err
	}
	in, err := r.isListed(r.Config.Usersets[sge.DeadlineUsers].Entries)
	if err == nil && !in {
		err = fmt.Errorf("only administrators and the users of the userset %s may set one, and %s is none of them", sge.DeadlineUsers, r.Owner)
	}
	return err
}

func (r SGERights) jobShare(_, after *classad.Ad) error {
	_, err := wholeIn(after, sge.AttrJobShare, 0, sge.MostShares, 0)
	return err
}

// project: it is there, and the owner has access to it. A job that names none is in its
// owner's default project, of which Grid Engine asks the same.
func (r SGERights) project(_, after *classad.Ad) error {
	name, err := nameIn(after, pool.AttrProject)
	if err != nil {
		return err
	}
	given := ""
	if name == "" {
		if name = r.Config.Users[r.Owner].DefaultProject; name == "" {
			return nil
		}
		given = ", the default project of " + r.Owner
	}
	p, ok := r.Config.Projects[name]
	if !ok {
		return fmt.Errorf("%q%s: there is no such project%s", name, given, meant(name, r.Config.Projects, "[sge.projects."+name+"]"))
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
func (r SGERights) department(_, after *classad.Ad) error {
	name, err := nameIn(after, sge.AttrDepartment)
	if err != nil || name == "" {
		return err
	}
	if _, ok := r.Config.Departments[name]; !ok && name != sge.DefaultDepartment {
		return fmt.Errorf("%q: there is no such department%s", name, meant(name, r.Config.Departments, "[sge.departments."+name+"]"))
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
func (r SGERights) departments() ([]string, error) {
	var own []string
	for _, name := range slices.Sorted(maps.Keys(r.Config.Departments)) {
		in, err := r.isListed(r.Config.Departments[name].Entries)
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

// unixGroup: the owner belongs to it, as departments may list it.
func (r SGERights) unixGroup(_, after *classad.Ad) error {
	name, err := nameIn(after, pool.AttrUnixGroup)
	if err != nil || name == "" || r.Admin {
		return err
	}
	in, err := r.InGroup(name)
	if err == nil && !in {
		err = fmt.Errorf("%q: %s does not belong to this Unix group: leave it out, or ask an administrator", name, r.Owner)
	}
	return err
}

// slots: what is wanted of a parallel environment can be told.
func (r SGERights) slots(_, after *classad.Ad) error {
	wanted, err := wantedSlots(after)
	if err == nil && wanted != "" {
		_, err = sge.SlotsText(wanted)
	}
	return err
}

// environment: the parallel environment is there, and which one is meant does not matter.
func (r SGERights) environment(_, after *classad.Ad) error {
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
	if _, _, err := r.Config.Slots(name, wanted); err != nil {
		return err
	}
	return r.Config.Ambiguous(name, wanted)
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

// isInOneOf tells whether the owner is in one of some usersets.
func (r SGERights) isInOneOf(sets []string) (bool, error) {
	for _, set := range sets {
		if in, err := r.isListed(r.Config.Usersets[set].Entries); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// isListed tells whether the owner is listed, by name or by a @group.
func (r SGERights) isListed(entries []string) (bool, error) {
	if slices.Contains(entries, r.Owner) {
		return true, nil
	}
	for _, e := range entries {
		group, isGroup := strings.CutPrefix(e, "@")
		if !isGroup {
			continue
		}
		if in, err := r.InGroup(group); in || err != nil {
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
