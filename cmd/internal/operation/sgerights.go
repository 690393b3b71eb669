package operation

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// IsSGE tells whether JOB_PRIORITY_POLICY is Grid Engine's.
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

// isUndefined tells whether an attribute is the constant.
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
