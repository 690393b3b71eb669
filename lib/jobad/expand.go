package jobad

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// Cluster are the jobs of a description as one cluster: Ad has the attributes that all
// procs share, and each run the attributes of its procs alone. The runs cover the procs
// from First on.
//
// The ads lack ClusterId and ProcId, which the spool sets.
type Cluster struct {
	Ad    *classad.Ad
	First int
	Runs  []Run
}

// Jobs returns the number of procs.
func (c Cluster) Jobs() int {
	n := 0
	for _, r := range c.Runs {
		n += r.Count
	}
	return n
}

// Run is Count procs in a row that read alike.
type Run struct {
	Count int
	own   *[]setting // of the queue line: what its procs have besides what all share
	less  []setting  // what these procs have besides
	jobs  *Jobs
}

// Attr is an attribute of an ad.
type Attr struct {
	Name string
	Expr *classad.Expr
}

// Append appends the attributes of the run, which its cluster's ad does not
// have or has with another value.
func (r Run) Append(to []Attr) []Attr {
	for _, list := range [...][]setting{*r.own, r.less} {
		for _, s := range list {
			to = append(to, Attr{s.name, r.jobs.expr(s)})
		}
	}
	return to
}

// Ad returns them as an ad, which is not chained to the cluster's.
func (r Run) Ad() *classad.Ad {
	ad := classad.New()
	for _, a := range r.Append(nil) {
		ad.Set(a.Name, a.Expr)
	}
	return ad
}

// Has reports whether the run has one of the attributes of its own.
func (r Run) Has(names ...string) bool {
	for _, list := range [...][]setting{r.less, *r.own} {
		for i := range list {
			if caseless.Contains(names, list[i].name) {
				return true
			}
		}
	}
	return false
}

// Text returns the text of an attribute that the run has of its own; ok is false
// when it has none of the name, or no plain text.
func (r Run) Text(name string) (text string, ok bool) {
	for _, list := range [...][]setting{r.less, *r.own} {
		for _, s := range list {
			if strings.EqualFold(s.name, name) {
				return s.text, s.isText
			}
		}
	}
	return "", false
}

// Expand makes the cluster of the given number. Of no queue line that asks for a
// job comes a cluster without runs. Jobs must not be expanded by two goroutines at
// once.
func (j *Jobs) Expand(cluster int) (Cluster, error) {
	return j.expand(cluster, 0, submitfile.MaxJobs)
}

// expand makes at most so many procs from first on.
func (j *Jobs) expand(cluster, first, most int) (Cluster, error) {
	if e := j.last; e != nil && e.first == first && e.most == most && e.domain == j.options.Domain {
		switch {
		case e.cluster == cluster && e.now.Equal(j.options.Now):
			return e.made, nil
		case e.shared != nil:
			return e.again(j.options.Now), nil
		}
	}
	_, all := j.description.Queues()
	x := expansion{Jobs: j, first: first, end: min(all, first+most)}
	if err := j.description.Walk(cluster, nil, x.queue); err != nil {
		return Cluster{}, err
	}
	lasting := !j.timed && j.late == (Late{}) && j.appears.IsZero() && j.options.KeepOutput == "" &&
		!slices.ContainsFunc(j.description.Assignments(), func(a submitfile.Assignment) bool { return strings.Contains(a.Text, "$") })
	j.last = &expanded{cluster: cluster, first: first, most: most, domain: j.options.Domain, now: j.options.Now, made: x.cluster()}
	if lasting && j.among != nil {
		shared := j.last.made.Ad.Clone()
		for _, name := range ofTime {
			shared.Delete(name)
		}
		j.among.Share(shared)
		j.last.shared, j.exprs = shared, classad.NewInterner() // which has nothing to remember any more
		j.last.made = j.last.again(j.options.Now)
	}
	return j.last.made, nil
}

// Again has the jobs submitted at a time, for those that submit many alike. If nothing else depends on the time and the
// cluster's number, Expand gives clusters whose ads have the time of their own, and are chained to one ad that never changes. What the
// ads of several Jobs have in common is in among.
func (j *Jobs) Again(now time.Time, among *classad.Interner) { j.options.Now, j.among = now, among }

// now returns the time of submission for what else depends on it than fixed sets.
func (j *Jobs) now() time.Time {
	j.timed = true
	return j.options.Now
}

// expanded is what expand made last: a caller that looks at a cluster before it has the lock
// makes it once.
type expanded struct {
	cluster, first, most int
	domain               string
	now                  time.Time
	made                 Cluster
	shared               *classad.Ad // see Again: what is made, without ofTime; nil: it is not the same for every cluster and time
}

// ofTime are the attributes that fixed sets to the time of submission.
var ofTime = [...]string{pool.AttrQDate, pool.AttrEnteredStatus}

// again returns the cluster as it is when its jobs are submitted at another time.
func (e *expanded) again(now time.Time) Cluster {
	c := e.made
	c.Ad = classad.New().Chain(e.shared)
	for _, name := range ofTime {
		c.Ad.SetInt(name, now.Unix())
	}
	return c
}

// expansion is the work of expand.
type expansion struct {
	*Jobs
	first, end int
	batches    []*batch
	arena      []setting // of all runs, one behind the other
}

// batch is what one queue line asks for.
type batch struct {
	shared []setting // what all its procs have
	runs   []rawRun
}

// rawRun is count procs in a row with equal settings, besides the shared: those
// in the arena from..to.
type rawRun struct{ count, from, to int }

// progressEvery is how many procs are made between two calls of Progress.
const progressEvery = 1000

// queue works out the jobs of one queue line. Parts that do not ask for
// anything that varies are worked out once.
func (x *expansion) queue(p *submitfile.Job) error {
	from, to := max(x.first-p.First(), 0), min(x.end-p.First(), p.Count())
	if from >= to {
		return nil
	}
	p.Skip(from)
	j := x.job(p, nil)
	b := &batch{}
	var varying []part
	var least []setting // of the varying parts, for the first proc
	for _, work := range parts() {
		j.Varies()
		if err := j.do(work); err != nil {
			return err
		}
		if j.Varies() {
			varying = append(varying, work)
			least = append(least, j.settings...)
		} else {
			b.shared = append(b.shared, j.settings...)
		}
		j.settings = j.settings[:0]
	}
	x.batches = append(x.batches, b)
	least = append(least, x.appearing()...)
	x.arena = slices.Grow(x.arena, len(least)*min(to-from, 1<<17))
	if len(least) == 0 {
		b.runs = []rawRun{{count: to - from}}
		return nil
	}
	x.add(b, least, to-from)
	for n := from + 1; n < to; n++ {
		p.Next()
		for _, work := range varying {
			if err := j.do(work); err != nil {
				return err
			}
		}
		x.add(b, append(j.settings, x.appearing()...), to-from)
		j.settings = j.settings[:0]
		if x.Progress != nil && n%progressEvery == 0 {
			x.Progress(p.Proc()-x.first, x.end-x.first)
		}
	}
	if x.late == (Late{}) { // else the next ones shall share what these do
		x.factor(b)
	}
	return nil
}

// appearing sets when jobs appear that were kept back: then their wait begins.
func (j *Jobs) appearing() []setting {
	if j.appears.IsZero() {
		return nil
	}
	return []setting{{name: pool.AttrEnteredStatus, text: strconv.FormatInt(j.appears.Unix(), 10)}}
}

// add adds a proc, of all of the queue line, with these settings.
func (x *expansion) add(b *batch, settings []setting, all int) {
	if n := len(b.runs); n > 0 {
		if last := &b.runs[n-1]; slices.Equal(x.arena[last.from:last.to], settings) {
			last.count++
			return
		}
	}
	if len(b.runs) == 64 { // then most will differ
		b.runs = slices.Grow(b.runs, min(all-64, 1<<17))
	}
	from := len(x.arena)
	x.arena = append(x.arena, settings...)
	b.runs = append(b.runs, rawRun{1, from, len(x.arena)})
}

// factor moves what all runs have in common to shared. What precedes in a run is
// overruled by what follows, so that only what no run says otherwise is common.
func (x *expansion) factor(b *batch) {
	first := b.runs[0]
	for _, s := range slices.Clone(x.arena[first.from:first.to]) {
		if slices.ContainsFunc(b.runs[1:], func(r rawRun) bool { return !slices.Contains(x.arena[r.from:r.to], s) }) {
			continue
		}
		b.shared = append(b.shared, s)
		for i := range b.runs {
			r := &b.runs[i]
			at := r.from + slices.Index(x.arena[r.from:r.to], s)
			copy(x.arena[r.from+1:at+1], x.arena[r.from:at])
			r.from++
		}
	}
}

// cluster joins the batches of the queue lines.
func (x *expansion) cluster() Cluster {
	c := Cluster{Ad: classad.New(), First: x.first}
	if len(x.batches) == 0 {
		return c
	}
	common := x.common()
	everywhere := setOf(common)
	for _, s := range common {
		c.Ad.Set(s.name, x.expr(s))
	}
	n := 0
	for _, b := range x.batches {
		n += len(b.runs)
	}
	c.Runs = make([]Run, 0, n)
	for _, b := range x.batches {
		own := slices.DeleteFunc(b.shared, func(s setting) bool { return everywhere[s] })
		own = append(make([]setting, 0, len(own)), own...) // the rest need not stay
		for _, r := range b.runs {
			run := Run{r.count, &own, x.arena[r.from:r.to], x.Jobs}
			if n := len(c.Runs); n > 0 && c.Runs[n-1].same(run) {
				c.Runs[n-1].Count += r.count
				continue
			}
			c.Runs = append(c.Runs, run)
		}
	}
	return c
}

func (r Run) same(o Run) bool { return slices.Equal(*r.own, *o.own) && slices.Equal(r.less, o.less) }

// common returns, by name, what all queue lines share.
func (x *expansion) common() []setting {
	common := slices.Clone(x.batches[0].shared)
	for _, b := range x.batches[1:] {
		shared := setOf(b.shared)
		common = slices.DeleteFunc(common, func(s setting) bool { return !shared[s] })
	}
	lower := make(map[string]string, len(common))
	for _, s := range common {
		lower[s.name] = strings.ToLower(s.name)
	}
	slices.SortStableFunc(common, func(a, b setting) int { return strings.Compare(lower[a.name], lower[b.name]) })
	return common
}

func setOf(settings []setting) map[setting]bool {
	set := make(map[setting]bool, len(settings))
	for _, s := range settings {
		set[s] = true
	}
	return set
}

// expr compiles a setting. Its text was checked when it was set.
func (j *Jobs) expr(s setting) *classad.Expr {
	if s.isText {
		return classad.Literal(classad.String(s.text))
	}
	e, err := j.exprs.Expr(s.text)
	if err != nil {
		return classad.Literal(classad.Error())
	}
	return e
}

// kept is something that is worked out from commands: once for all procs of a
// queue line if it is the same for all, else for every one anew.
type kept[T any] struct {
	value T
	known bool
}

// get returns the kept value, or that of work. A part may call it together with others: a
// value that varies is never kept.
func (k *kept[T]) get(j *job, work func() (T, error)) (T, error) {
	if k.known {
		return k.value, nil
	}
	var v T
	varies, err := j.Varying(func() (err error) { v, err = work(); return err })
	if err == nil && !varies {
		k.value, k.known = v, true
	}
	return v, err
}
