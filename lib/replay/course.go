package replay

import (
	"fairspool/lib/negotiator"
	"fairspool/lib/workload"
)

// courseBins is how many bins of a Course the time from the first submission to the last has at least; in all there are less than
// four times as many, however long the rest takes.
const courseBins = 100

// Course is how a replay went over time, in bins of equal width, of which the first begins with the first submission. Each value is
// the mean over its bin.
type Course struct {
	Width int64 // of a bin, in seconds
	// Used are the cores that jobs had, and Wanted those that waiting jobs asked for.
	Used, Wanted []float64
	// Users are those of Settings.Watched, and behind them all others together.
	Users []Holding
}

// Holding is what a user had over time, in cores: Held, and what the max-min fair division by effective priority allotted. While no
// job waits, users are entitled to what they hold.
type Holding struct{ Held, Entitled []float64 }

// Coarsen widens bins of a course to a multiple of their width that is a power of two.
func (c *Course) Coarsen(width int64) {
	for ; c.Width < width; c.Width *= 2 {
		for _, s := range c.series() {
			*s = halved(*s)
			for i := range *s {
				(*s)[i] /= 2
			}
		}
	}
}

func (c *Course) series() []*[]float64 {
	list := []*[]float64{&c.Used, &c.Wanted}
	for i := range c.Users {
		list = append(list, &c.Users[i].Held, &c.Users[i].Entitled)
	}
	return list
}

// halved returns the sums of each two numbers.
func halved(x []float64) []float64 {
	for i := range x {
		if i%2 == 0 {
			x[i/2] = x[i]
		} else {
			x[i/2] += x[i]
		}
	}
	return x[:(len(x)+1)/2]
}

// binned is a value over time, as its sums over bins.
type binned struct {
	width, since int64 // seconds; since the first bin
	value        float64
	sums         []float64
}

// set makes the value one from a time on.
func (b *binned) set(at int64, value float64) {
	for ; at >= 4*courseBins*b.width; b.width *= 2 {
		b.sums = halved(b.sums)
	}
	for b.since < at {
		bin := b.since / b.width
		end := min((bin+1)*b.width, at)
		for int64(len(b.sums)) <= bin {
			b.sums = append(b.sums, 0)
		}
		b.sums[bin] += b.value * float64(end-b.since)
		b.since = end
	}
	b.value = value
}

// end ends the series, and makes its sums means.
func (b *binned) end(at int64) {
	b.set(at, 0)
	for i := range b.sums {
		b.sums[i] /= float64(b.width)
	}
}

// recorder gathers a course. Without one nothing is watched.
type recorder struct {
	first, last    int64 // the first submission, and what was noted last
	used, wanted   binned
	held, entitled []binned       // by user: those watched, then all others
	users          map[string]int // that are watched
	submitters     map[string]int // users' submitters that have submitted something
	shares         []float64      // what users are entitled to, while that is summed up
	idle           bool           // no job waits
}

// record returns what gathers the course of a workload.
func (r *replay) record() *recorder {
	if r.Watched == nil {
		return nil
	}
	n := len(r.Watched) + 1
	c := &recorder{first: r.first, held: make([]binned, n), entitled: make([]binned, n), shares: make([]float64, n), users: map[string]int{}, submitters: map[string]int{}, idle: true}
	for i, name := range r.Watched {
		c.users[name] = i
	}
	for _, b := range c.all() {
		b.width = max((r.Jobs[len(r.Jobs)-1].Submit-r.first+courseBins-1)/courseBins, 1)
	}
	return c
}

func (c *recorder) all() []*binned {
	list := []*binned{&c.used, &c.wanted}
	for i := range c.held {
		list = append(list, &c.held[i], &c.entitled[i])
	}
	return list
}

// knows makes a submitter known as one of a user.
func (c *recorder) knows(submitter, user string) {
	if i, ok := c.users[user]; ok {
		c.submitters[submitter] = i
	}
}

// of returns the place of a submitter's user.
func (c *recorder) of(submitter string) int {
	if i, ok := c.submitters[submitter]; ok {
		return i
	}
	return len(c.users)
}

// hold notes that a submitter has so many cores more.
func (c *recorder) hold(at int64, submitter string, cores int64) {
	if c == nil {
		return
	}
	i := c.of(submitter)
	c.held[i].set(at-c.first, c.held[i].value+float64(cores))
	if c.idle {
		c.entitled[i].set(at-c.first, c.held[i].value)
	}
}

// note notes what is in use, and what the jobs that wait ask for.
func (c *recorder) note(at, used, wanted int64, waiting int) {
	if c == nil {
		return
	}
	c.last = at
	c.used.set(at-c.first, float64(used))
	c.wanted.set(at-c.first, float64(wanted))
	if c.idle = waiting == 0; c.idle {
		for i := range c.entitled {
			c.entitled[i].set(at-c.first, c.held[i].value)
		}
	}
}

// entitle notes what submitters are entitled to.
func (c *recorder) entitle(at int64, submitters []negotiator.Share, entitled []float64) {
	if c == nil || c.idle {
		return
	}
	clear(c.shares)
	for i, s := range submitters {
		c.shares[c.of(s.Name)] += entitled[i]
	}
	for i, x := range c.shares {
		c.entitled[i].set(at-c.first, x)
	}
}

// course returns what was gathered.
func (c *recorder) course() *Course {
	if c == nil {
		return nil
	}
	for _, b := range c.all() {
		b.end(max(c.last-c.first, 1)) // there is a bin
	}
	course := &Course{Width: c.used.width, Used: c.used.sums, Wanted: c.wanted.sums}
	for i := range c.held {
		course.Users = append(course.Users, Holding{c.held[i].sums, c.entitled[i].sums})
	}
	return course
}

// LastSubmit returns when the last job was submitted, in seconds since the workload's start; 0 without jobs.
func (r *Result) LastSubmit() (last int64) {
	for i := range r.Fates {
		last = max(last, r.Fates[i].Submit)
	}
	return last
}

// Waits returns the mean waits in seconds of users' jobs, by user and by time of submission in bins of a width; -1 where none of a user's
// was submitted that started. row returns the place of a user.
func Waits(w *workload.Workload, r *Result, rows int, row func(user string) int, width int64) [][]float64 {
	first, last := w.Jobs[0].Submit, r.LastSubmit()
	sums, jobs := make([][]float64, rows), make([][]float64, rows)
	for i := range sums {
		sums[i], jobs[i] = make([]float64, (last-first)/width+1), make([]float64, (last-first)/width+1)
	}
	for i, j := range w.Jobs {
		if f := &r.Fates[i]; f.First >= 0 {
			k, bin := row(j.User), (f.Submit-first)/width
			sums[k][bin] += float64(f.First - f.Submit)
			jobs[k][bin]++
		}
	}
	for i := range sums {
		for bin, n := range jobs[i] {
			if sums[i][bin] /= n; n == 0 {
				sums[i][bin] = -1
			}
		}
	}
	return sums
}
