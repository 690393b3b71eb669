package operation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// SGERights are what Grid Engine lets people ask for their jobs (qsub(1), qalter(1)): who may
// raise a priority or set a deadline, and which projects, departments and parallel
// environments there are for whom. They are the same for new jobs and for those in the queue.
type SGERights struct {
	Config *sge.Config
	Owner  string // whose the job is
	Admin  bool   // whether who asks is an administrator
	// InGroup tells whether the owner belongs to a Unix group. The error is that this
	// cannot be told.
	InGroup func(group string) (bool, error)
}

// SGERightsOf returns the rights for the jobs of an owner; false where the policy is another
// one, which asks for none.
func SGERightsOf(cfg *config.Config, owner string, admin bool) (SGERights, bool) {
	return SGERights{&cfg.SGE, owner, admin, groupsOf(owner)}, IsSGE(cfg)
}

// IsSGE tells whether JOB_PRIORITY_POLICY is Grid Engine's.
func IsSGE(cfg *config.Config) bool { return cfg.JobPriorityPolicy == "sge" }

// PriorityBounds are those of JobPrio: Grid Engine's are narrower than others'.
func PriorityBounds(cfg *config.Config) (least, most int64) {
	if IsSGE(cfg) {
		return sge.LeastPOSIX, sge.MostPOSIX
	}
	return math.MinInt32, math.MaxInt32
}

// SGERefusal is why an attribute of a job cannot be what is asked for.
type SGERefusal struct {
	Attr string
	Why  error // without the attribute's name
}

func (r *SGERefusal) Error() string { return r.Attr + ": " + r.Why.Error() }

func (r *SGERefusal) Unwrap() error { return r.Why }

// sgeRule returns why an attribute of a job cannot be what it is after a change, or missing.
type sgeRule func(r SGERights, before, after *classad.Ad) error

var sgeRules = []struct {
	attr  string
	with  string // another attribute on which the rule looks; empty: none
	allow sgeRule
}{
	{pool.AttrJobPrio, "", SGERights.priority},
	{sge.AttrDeadline, "", SGERights.deadline},
	{sge.AttrJobShare, "", SGERights.jobShare},
	{pool.AttrProject, "", SGERights.project},
	{sge.AttrDepartment, "", SGERights.department},
	{pool.AttrUnixGroup, "", SGERights.unixGroup},
	{sge.AttrParallelSlots, "", SGERights.slots},
	{sge.AttrParallelEnvironment, sge.AttrParallelSlots, SGERights.environment},
}

// SGERuled returns the attributes that there are rules for.
func SGERuled(c *sge.Config) []string {
	var attrs []string
	for _, rule := range sgeRules {
		attrs = append(attrs, rule.attr)
	}
	return append(attrs, slotsRequests(c)...)
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

// Submit returns why a job with such an ad cannot be submitted: a *SGERefusal, or an error
// that keeps this from being told.
func (r SGERights) Submit(ad *classad.Ad) error { return r.Change(classad.New(), ad, nil) }

// Change returns why some attributes of a job cannot become what they are in another ad; nil
// for all attributes that there are rules for. The error is as that of Submit.
func (r SGERights) Change(before, after *classad.Ad, attrs []string) error {
	meant := func(attr string) bool {
		isIt := func(a string) bool { return strings.EqualFold(a, attr) }
		return attrs == nil || slices.ContainsFunc(attrs, isIt)
	}
	for _, rule := range sgeRules {
		if !meant(rule.attr) && !meant(rule.with) {
			continue
		}
		if err := rule.allow(r, before, after); err != nil {
			return &SGERefusal{rule.attr, err}
		}
	}
	asked := func(attr string) bool { return after.Has(attr) && meant(attr) }
	for _, attr := range slotsRequests(r.Config) {
		if asked(attr) && !isUndefined(after, attr) {
			return &SGERefusal{attr, errors.New("slots cannot be requested like that: use parallel_slots")}
		}
	}
	return r.requests(after, asked)
}

// requests refuses amounts that a complex does not have by its type. Of what is no constant
// nobody can tell before the queue is ranked.
func (r SGERights) requests(after *classad.Ad, asked func(attr string) bool) error {
	for i, x := range r.Config.Complexes {
		for _, attr := range requestsFor(x) {
			v, constant := constantOf(after, attr)
			if !asked(attr) || !constant || v.Kind() == classad.KindUndefined {
				continue
			}
			if want := r.Config.Wants(i, attr, v); want != "" {
				return &SGERefusal{attr, fmt.Errorf("%s: the complex %s wants %s", written(after, attr), x.Name, want)}
			}
		}
	}
	return nil
}

// SGERequests returns the attributes that are requests for complexes.
func SGERequests(c *sge.Config) (attrs []string) {
	for _, x := range c.Complexes {
		attrs = append(attrs, requestsFor(x)...)
	}
	return attrs
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
