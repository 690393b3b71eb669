package sge

import (
	"maps"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// reader makes jobs of ads by one configuration. It may be used by several goroutines.
type reader struct {
	config   *Config
	facts    []*classad.Name // of Facts
	requests []requestReader
	// departments are the names, sorted; ofUser and ofGroup are the first of them that lists
	// a user or a Unix group.
	departments     []string
	ofUser, ofGroup map[string]int
}

// requestReader finds the requests for one complex.
type requestReader struct {
	complex    int
	attributes []*classad.Name // the first that there is counts
}

func newReader(c *Config) *reader {
	r := &reader{config: c, departments: slices.Sorted(maps.Keys(c.Departments)), ofUser: map[string]int{}, ofGroup: map[string]int{}}
	r.findNames()
	for i, name := range r.departments {
		for _, entry := range c.Departments[name].Entries {
			of := r.ofUser
			if group, isGroup := strings.CutPrefix(entry, "@"); isGroup {
				of, entry = r.ofGroup, group
			}
			if _, listed := of[entry]; !listed {
				of[entry] = i
			}
		}
	}
	return r
}

// own returns a reader for one goroutine: names remember where they were found, in which many
// get into each other's way.
func (r *reader) own() *reader {
	own := *r
	own.findNames()
	return &own
}

// findNames finds the attributes of facts, and those that are requests for complexes with an
// urgency. What is called like two of them means the first.
func (r *reader) findNames() {
	r.facts, r.requests = nil, nil
	for _, f := range Facts {
		r.facts = append(r.facts, classad.NewName(f.Attribute))
	}
	taken := map[string]bool{}
	for i, x := range r.config.Complexes {
		one := requestReader{complex: i}
		for _, name := range [...]string{x.Name, x.Shortcut} {
			if key := strings.ToLower(name); key != "" && !taken[key] {
				taken[key] = true
				one.attributes = append(one.attributes, classad.NewName(RequestPrefix+name))
			}
		}
		if x.counts() && len(one.attributes) > 0 {
			r.requests = append(r.requests, one)
		}
	}
}

// isFact tells whether an attribute stands in Facts.
func isFact(name string) bool {
	return slices.ContainsFunc(Facts, func(f Fact) bool { return strings.EqualFold(f.Attribute, name) })
}

// job returns the facts of a run of procs, as Queue.Job does.
func (r *reader) job(ctx *classad.Context, run jobprio.Run) Job {
	s := sketch{Job: Job{ID: run.FirstJob(), Count: run.Count(), Submitted: min(max(ctx.Now.Unix(), 0), latest), CPUs: 1}}
	for i := range Facts {
		f := &Facts[i]
		if v, ok := valueOf(ctx, run.Ad, r.facts[i], f.fixed); ok {
			f.set(&s, v)
		}
	}
	if s.Project == "" {
		s.Project = r.config.Users[s.User].DefaultProject
	}
	if s.Department == "" {
		s.Department = r.department(s.User, s.group)
	}
	var err error
	if s.Slots, s.LeastSlots, err = r.config.Slots(s.pe, s.slots); err != nil {
		s.Slots, s.LeastSlots = 1, 1
	}
	for i := range r.requests {
		if q, ok := r.request(ctx, run.Ad, &r.requests[i]); ok {
			s.Requests = append(s.Requests, q)
		}
	}
	return s.Job
}

// valueOf returns what an attribute of an ad is worth; false where there is none, or no
// constant though it is to be one.
func valueOf(ctx *classad.Context, ad *classad.Ad, name *classad.Name, fixed bool) (classad.Value, bool) {
	v, e, ok := ad.Get(name)
	if !ok || e == nil {
		return v, ok
	}
	if fixed {
		return e.Constant()
	}
	return e.Eval(ctx, ad, nil), true
}

// department returns the department that lists a user, or a Unix group.
func (r *reader) department(user, group string) string {
	first, listed := r.ofUser[user]
	if n, ok := r.ofGroup[group]; ok && (!listed || n < first) {
		first, listed = n, true
	}
	if !listed {
		return DefaultDepartment
	}
	return r.departments[first]
}

// request returns a job's request for a complex.
func (r *reader) request(ctx *classad.Context, ad *classad.Ad, of *requestReader) (Request, bool) {
	for _, name := range of.attributes {
		if v, ok := valueOf(ctx, ad, name, false); ok {
			if q, ok := r.config.requestOf(of.complex, v, name.String()); ok {
				return q, true
			}
		}
	}
	return Request{}, false
}

// requestOf returns the request for a complex that the value of an attribute is.
func (c *Config) requestOf(i int, v classad.Value, attribute string) (q Request, ok bool) {
	t := c.Complexes[i].Type
	q = Request{Complex: i, Amount: 1, Text: v.String()}
	x, isNumber := v.Number()
	if s, isText := v.Text(); isText {
		q.Text = s
		q.Amount, ok = t.amount(s)
		return q, ok
	}
	switch isBool := v.Kind() == classad.KindBoolean; {
	case t >= String:
		ok = isNumber
	case isBool && t == Bool:
		q.Amount, q.Text, ok = x, strings.ToUpper(q.Text), true
	case isNumber && !isBool && t == Memory:
		q.Amount, ok = t.ofNumber(x * unitOf(attribute))
	case isNumber && !isBool:
		q.Amount, ok = t.ofNumber(x)
	}
	return q, ok
}

// unitOf returns how many bytes a number of an attribute is that the pool knows itself, in MiB
// or KiB; of all others a number is what it is.
func unitOf(attribute string) float64 {
	switch {
	case strings.EqualFold(attribute, pool.AttrRequestMemory):
		return 1 << 20
	case strings.EqualFold(attribute, pool.AttrRequestDisk):
		return 1 << 10
	}
	return 1
}
