package sge

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// reader makes jobs of ads by one configuration. It may be used by several goroutines.
type reader struct {
	config   *Config
	facts    []*classad.Name // of Facts
	status   *classad.Name   // JobStatus
	start    *classad.Name   // DeferralTime
	requests []requestReader
	// departments are the names, sorted; ofUser and ofGroup are the first of them that lists
	// a user or a Unix group.
	departments     []string
	ofUser, ofGroup map[string]int

	origin *classad.Origin // of all but the submission; nil: jobs are not remembered
	known  map[*classad.Ad]Job
	last   *jobprio.Likeness // the one that was asked about last
	like   *likeJob
}

// likeJob is the facts of a Likeness: what its jobs have in common by a configuration, if it comes from constants.
type likeJob struct {
	config *Config
	Job
	constant           bool
	suspended, unknown bool // unknown: suspended is no constant
	timed              bool // it has a start time
}

// likeJobOf returns the facts of a Likeness by a configuration, nil if there are none yet.
func likeJobOf(like *jobprio.Likeness, c *Config) *likeJob {
	if like == nil {
		return nil
	}
	if is, ok := like.Facts().(*likeJob); ok && is.config == c {
		return is
	}
	return nil
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

// own returns a reader for one goroutine: names remember where they were found, which would
// conflict between goroutines. Jobs that share an ad mostly share facts.
func (r *reader) own() *reader {
	own := *r
	own.findNames()
	var names []*classad.Name
	for i, f := range Facts {
		if f.Attribute != pool.AttrQDate {
			names = append(names, own.facts[i])
		}
	}
	for _, q := range own.requests {
		names = append(names, q.attributes...)
	}
	own.origin, own.known, own.last = classad.NewOrigin(names...), map[*classad.Ad]Job{}, nil
	return &own
}

// findNames finds the attributes of facts, and the requests for complexes with an urgency. A
// name that fits two of them means the first.
func (r *reader) findNames() {
	r.facts, r.requests = nil, nil
	r.status, r.start = classad.NewName(pool.AttrJobStatus), classad.NewName(deferralTime.String())
	for _, f := range Facts {
		r.facts = append(r.facts, classad.NewName(f.Attribute))
	}
	taken := map[string]bool{}
	for i, x := range r.config.Complexes {
		one := requestReader{complex: i}
		for _, name := range [...]string{x.Name, x.Shortcut} {
			if key := strings.ToLower(name); key != "" && !taken[key] {
				taken[key] = true
				one.attributes = append(one.attributes, classad.NewName(pool.RequestPrefix+name))
			}
		}
		if x.counts() && len(one.attributes) > 0 {
			r.requests = append(r.requests, one)
		}
	}
}

// isFact reports whether an attribute stands in Facts.
func isFact(name string) bool {
	return slices.ContainsFunc(Facts, func(f Fact) bool { return strings.EqualFold(f.Attribute, name) })
}

// job returns the facts of a run of procs, as Queue.Job does.
func (r *reader) job(ctx *classad.Context, run jobprio.Run) Job {
	j := r.common(ctx, run)
	j.ID, j.Count, j.Submitted = run.FirstJob(), run.Count(), min(max(ctx.Now.Unix(), 0), latest)
	submitted := classad.Int(run.QDate)
	if run.Likeness == nil || run.QDate == 0 {
		submitted, _ = valueOf(ctx, run.Ad, r.facts[submission], false)
	}
	setSeconds(&j.Submitted, submitted)
	return j
}

// common returns the facts but for the submission.
func (r *reader) common(ctx *classad.Context, run jobprio.Run) Job {
	like := run.Likeness
	if like == nil || r.origin == nil {
		j, _ := r.byAd(ctx, run.Ad)
		return j
	}
	if like != r.last {
		is := likeJobOf(like, r.config)
		if is == nil {
			is = &likeJob{config: r.config}
			is.Job, is.constant = r.byAd(ctx, run.Ad)
			_, e, _ := run.Ad.Get(r.status)
			is.suspended, is.unknown = isSuspended(ctx, run.Ad), e != nil
			_, _, is.timed = run.Ad.Get(r.start)
			like.KeepFacts(is)
		}
		r.last, r.like = like, is
	}
	if r.like.constant {
		return r.like.Job
	}
	j, _ := r.byAd(ctx, run.Ad)
	return j
}

// byAd returns the facts but for the submission, and reports whether they come from constants alone.
func (r *reader) byAd(ctx *classad.Context, ad *classad.Ad) (j Job, constant bool) {
	if r.origin == nil {
		return r.lasting(ctx, ad)
	}
	from := r.origin.Of(ad)
	if j, constant = r.known[from]; !constant {
		if j, constant = r.lasting(ctx, ad); constant {
			r.known[from] = j
		}
	}
	return j, constant
}

// submission is the place of the submission among Facts.
var submission = slices.IndexFunc(Facts, func(f Fact) bool { return f.Attribute == pool.AttrQDate })

// lasting returns the facts but for the submission, and reports whether they come from constants alone.
func (r *reader) lasting(ctx *classad.Context, ad *classad.Ad) (j Job, constant bool) {
	s := sketch{Job: Job{CPUs: 1}}
	constant = true
	look := func(name *classad.Name) {
		_, e, _ := ad.Get(name)
		constant = constant && e == nil
	}
	for i := range Facts {
		f := &Facts[i]
		if i == submission {
			continue
		}
		look(r.facts[i])
		if v, ok := valueOf(ctx, ad, r.facts[i], f.fixed); ok {
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
		for _, name := range r.requests[i].attributes {
			look(name)
		}
		if q, ok := r.request(ctx, ad, &r.requests[i]); ok {
			s.Requests = append(s.Requests, q)
		}
	}
	s.Requests = slices.Clip(s.Requests)
	return s.Job, constant
}

// valueOf returns the value of an attribute of an ad; false if there is none, or if fixed
// is set and it is no constant.
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

// unitOf returns the unit in bytes of an attribute of the pool's own, in MiB or KiB; 1 for all
// others.
func unitOf(attribute string) float64 {
	switch {
	case strings.EqualFold(attribute, pool.AttrRequestMemory):
		return 1 << 20
	case strings.EqualFold(attribute, pool.AttrRequestDisk):
		return 1 << 10
	}
	return 1
}

// mostAmount is what larger amounts count as, INFINITY among them, and negative ones likewise.
// No machine has more of anything: of bytes this is an exabyte. It fits into an integer of 64
// bits, and displays have 19 digits of it; the largest number that there is would have 300,
// and the sums with it would leave none of the digits of others.
const mostAmount = 1e18

// counts reports whether requests for the complex make a difference: SlotsComplex is what jobs
// have without asking.
func (x *Complex) counts() bool { return x.Urgency != 0 && !strings.EqualFold(x.Name, SlotsComplex) }

// amount reads an amount as in complex(5): INT and DOUBLE are a number; TIME is seconds or
// h:m:s, in which parts may be empty; MEMORY is a number of bytes with k (1000), K (1024), m,
// M, g, G, t or T behind it; BOOL is TRUE, FALSE, 1 or 0; the other types are any text, as
// they have no amounts. INFINITY is the largest number. It is false for text that does not fit
// the type.
func (t ComplexType) amount(text string) (x float64, ok bool) {
	text = strings.TrimSpace(text)
	if t >= String {
		return 1, true
	}
	if t != Bool && strings.EqualFold(text, "INFINITY") {
		return mostAmount, true
	}
	switch t {
	case Bool:
		return truth(text)
	case Time:
		return duration(text)
	case Memory:
		return bytes(text)
	case Int:
		if strings.Trim(text, "0123456789+-") != "" {
			return 0, false
		}
	}
	return decimal(text)
}

func truth(text string) (float64, bool) {
	switch strings.ToUpper(text) {
	case "TRUE", "1":
		return 1, true
	case "FALSE", "0":
		return 0, true
	}
	return 0, false
}

// decimal reads a decimal number.
func decimal(text string) (float64, bool) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, false // ParseFloat knows more words
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return min(max(x, -mostAmount), mostAmount), true
}

// duration reads seconds, or hours, minutes and seconds; the first may be left out and each
// be empty.
func duration(text string) (seconds float64, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 || text == "" {
		return 0, false
	}
	for _, part := range parts {
		x, ok := 0.0, part == "" && len(parts) > 1
		if !ok && strings.Trim(part, "0123456789.") == "" {
			x, ok = decimal(part)
		}
		if !ok {
			return 0, false
		}
		seconds = 60*seconds + x
	}
	return min(seconds, mostAmount), true
}

// units are the letters behind a number of bytes.
var units = map[byte]float64{'k': 1e3, 'K': 1 << 10, 'm': 1e6, 'M': 1 << 20, 'g': 1e9, 'G': 1 << 30, 't': 1e12, 'T': 1 << 40}

func bytes(text string) (float64, bool) {
	unit := 1.0
	if n := len(text); n > 0 && units[text[n-1]] != 0 {
		unit, text = units[text[n-1]], text[:n-1]
	}
	x, ok := decimal(text)
	return min(max(x*unit, -mostAmount), mostAmount), ok
}

// ofNumber returns the amount that a number of an ad is.
func (t ComplexType) ofNumber(x float64) (float64, bool) {
	switch {
	case x != x:
		return 0, false
	case t == Bool:
		return x, x == 0 || x == 1
	case t == Int:
		x = math.Trunc(x)
	}
	return min(max(x, -mostAmount), mostAmount), true
}

// wants describes valid requests for a complex of each type with amounts, as the ad of a
// job has them.
var wants = [...]string{
	Int:    "a whole number: its type is INT",
	Double: "a number: its type is DOUBLE",
	Time:   `seconds, or h:m:s in double quotes: its type is TIME`,
	Memory: `a number of bytes, or one with k, K, m, M, g, G, t or T behind it in double quotes: its type is MEMORY`,
	Bool:   "true or false: its type is BOOL",
}

// Wants describes a valid request for a complex (complex(5)), if the value is not valid;
// empty if it is. Grid Engine refuses jobs with such requests, which would count for
// nothing here. Any request is valid for complexes without an urgency, and for a missing
// one.
func (c *Config) Wants(complex int, attribute string, v classad.Value) string {
	if complex < 0 || complex >= len(c.Complexes) || !c.Complexes[complex].counts() {
		return ""
	}
	x := &c.Complexes[complex]
	n, isNumber := v.Number()
	_, ok := c.requestOf(complex, v, attribute)
	switch {
	case x.Type >= String && !ok:
		return "a text in double quotes"
	case !ok, isNumber && (math.IsInf(n, 0) || x.Type == Int && n != math.Trunc(n)):
		return wants[x.Type]
	}
	return ""
}
