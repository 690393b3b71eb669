package accountant

import (
	"cmp"
	"math"
	"strings"
	"time"
)

// Used is what an attempt of a job used, as it was measured. A GB is 2^30 bytes.
type Used struct {
	CPU    time.Duration // user and system time of all its processes
	Memory float64       // GB seconds
	IO     float64       // GB
}

// Tally is the usage under one key, for the policies of Maui and Grid Engine, as of At.
// It keeps the figures of its kind: Windows for Maui's, Decayed and LongTerm for Grid
// Engine's.
type Tally struct {
	Key
	At       time.Time     // the last event; zero before the first
	Cpus     int64         // processors charged since At
	PE       Weight        // processor equivalents charged since At
	Interval time.Duration // of the windows; FSINTERVAL when they were last advanced
	// Windows are the windows with usage, the newest first, which contains At. They are
	// never changed in place.
	Windows []Window
	// Decayed is Grid Engine's usage as of At, LongTerm the same undecayed.
	Decayed, LongTerm Recent
}

// AsOf returns the tally advanced to t if no claim begins or ends in between. AsOf(b) of
// AsOf(a) has the same windows as AsOf(b), and the same decayed usage up to rounding. A t
// before y.At leaves the usage as it is. Windows that were recorded with another
// FSINTERVAL are spread over those of p.
func (y Tally) AsOf(t time.Time, p Params) Tally {
	t = t.Truncate(time.Millisecond)
	w := p.Windows.sound()
	if y.At.IsZero() {
		y.At = t
	}
	d := t.Sub(y.At)
	if y.Windowed() {
		y = y.spread(w).advanced(t, w)
	} else if d > 0 {
		y.Decayed = y.Decayed.after(d, p.Decay)
	}
	if d > 0 {
		y.At = t
	}
	return y
}

// Begin begins to count a claim of a job with these credentials at t: its processors
// and their equivalents. Events may come in any order: one before y.At counts from
// its own time on, so that the order in which several are recorded does not matter.
func (y Tally) Begin(t time.Time, by Credentials, p Params) Tally {
	l := by.load()
	y = y.AsOf(t, p)
	y = y.over(t, y.At, l, p)
	y.Cpus += l.cpus
	y.PE += l.pe
	return y
}

// End ceases to count a claim at t, which is no earlier than the Begin that it
// belongs to.
func (y Tally) End(t time.Time, by Credentials, p Params) Tally {
	l := by.load()
	y = y.AsOf(t, p)
	y = y.over(t, y.At, l.negative(), p)
	y.Cpus = max(y.Cpus-l.cpus, 0)
	y.PE = max(y.PE-l.pe, 0)
	return y
}

// GiveBack ends at t a claim that began at from, and subtracts all that it added.
func (y Tally) GiveBack(from, t time.Time, by Credentials, p Params) Tally {
	return y.End(t, by, p).over(from, t, by.load().negative(), p)
}

// Report adds a measurement to the usage as of t. A late one counts as it would have
// counted in time.
func (y Tally) Report(used Used, t time.Time, p Params) Tally {
	y = y.AsOf(t, p)
	if y.Windowed() {
		return y.utilized(used.CPU, t, p)
	}
	r := recentOf(used)
	y.LongTerm = y.LongTerm.plus(r)
	y.Decayed = y.Decayed.plus(r.after(y.At.Sub(t), p.Decay))
	return y
}

// InUse reports whether a claim is charged.
func (y Tally) InUse() bool { return y.Cpus != 0 || y.PE != 0 }

// negligible is decayed usage, of any unit, that no priority shows any more.
const negligible = 1e-6

// Irrelevant reports whether nothing would be lost if the tally were not there.
// Windows and decayed usage pass; long-term usage does not, so that a tally with
// any stays, as a Record with accumulated usage does.
func (y Tally) Irrelevant(t time.Time, p Params) bool {
	y = y.AsOf(t, p)
	d := y.Decayed
	return !y.InUse() && len(y.Windows) == 0 && max(d.CPU, d.Memory, d.IO) < negligible && y.LongTerm == (Recent{})
}

// DecayParams are the parameters of Grid Engine's decayed usage. With the zero
// value nothing decays, and nothing counts.
type DecayParams struct {
	HalfTime time.Duration // halftime; 0: nothing decays
	// Linear says that the part left after a minute is computed as in Grid Engine 8.1.9, by a
	// straight line, and not by halving.
	Linear bool
	// CPU, Memory and IO are what usage_weight_list and halflife_decay_list say
	// of each.
	CPU, Memory, IO UsageParams
}

// UsageParams are the parameters of one kind of usage.
type UsageParams struct {
	Weight float64 // of it in the combined usage, 0 and more
	// Own is whether HalfLife counts and not HalfTime: 0 does not decay, and
	// below zero all is gone at once.
	Own      bool
	HalfLife time.Duration
}

// Recent is usage as Grid Engine reckons it.
type Recent struct {
	CPU    float64 // seconds
	Memory float64 // GB seconds
	IO     float64 // GB
}

// Combined returns the usage as one number: each kind times its weight, the
// weights divided by their sum. Without weights it is 0.
func (r Recent) Combined(p DecayParams) float64 {
	sum := p.CPU.Weight + p.Memory.Weight + p.IO.Weight
	if sum <= 0 {
		return 0
	}
	return r.CPU*(p.CPU.Weight/sum) + r.Memory*(p.Memory.Weight/sum) + r.IO*(p.IO.Weight/sum)
}

// left returns which part of a kind of usage is left when d has passed, 0 to 1. After a
// half-life of one hour that is 0.5, and 0.49799 in Grid Engine's linear form, which takes
// ln 2 of a half-life off for every minute.
func (p DecayParams) left(of UsageParams, d time.Duration) float64 {
	halfLife := p.HalfTime
	if of.Own {
		halfLife = of.HalfLife
	}
	switch {
	case halfLife == 0:
		return 1
	case halfLife < 0:
		return 0
	case p.Linear:
		return math.Pow(max(1-math.Ln2/halfLife.Minutes(), 0), d.Minutes())
	}
	return math.Exp2(-d.Minutes() / halfLife.Minutes())
}

// after returns the rest of the usage when d has passed.
func (r Recent) after(d time.Duration, p DecayParams) Recent {
	if d <= 0 || r == (Recent{}) {
		return r
	}
	return Recent{r.CPU * p.left(p.CPU, d), r.Memory * p.left(p.Memory, d), r.IO * p.left(p.IO, d)}
}

func (r Recent) plus(x Recent) Recent {
	return Recent{r.CPU + x.CPU, r.Memory + x.Memory, r.IO + x.IO}
}

// recentOf returns the measurement, with 0 for values that are no numbers from 0 up.
func recentOf(u Used) Recent {
	measured := func(x float64) float64 {
		if !(x > 0) || math.IsInf(x, 0) {
			return 0
		}
		return x
	}
	return Recent{measured(u.CPU.Seconds()), measured(u.Memory), measured(u.IO)}
}

// Credentials are the names, and the figures of a job, by which other policies than RUP
// compute. An empty text means no name.
type Credentials struct {
	User    string // the job's Owner
	Group   string // UnixGroup
	Account string // AcctGroup
	QOS     string // QOS
	Class   string // Class
	Project string // Project
	Cpus    int64  // processors that the job occupies, RequestCpus
	// PE is its processor equivalents (Maui's manual, PE), 0 and more: how many
	// processors of the pool it occupies by the resource of which it takes most. 0:
	// unknown, then the processors count.
	PE float64
}

// load is the contribution of one or several claims, negative if they end: processors,
// and processor equivalents in thousandths.
type load struct {
	cpus int64
	pe   Weight
}

// load returns a claim's contribution. A job may ask for any number: each is at most
// MaxWeight's. Known equivalents are at least a thousandth.
func (c Credentials) load() load {
	l := load{cpus: min(max(c.Cpus, 0), int64(MaxWeight/One))}
	if l.pe = EquivalentsOf(l.cpus); c.PE > 0 {
		l.pe = max(Weight(math.Round(min(c.PE, float64(MaxWeight/One))*float64(One))), 1)
	}
	return l
}

// EquivalentsOf returns the processor equivalents, in thousandths, of processors if
// nothing else is known: as many.
func EquivalentsOf(cpus int64) Weight {
	return Weight(min(max(cpus, 0), math.MaxInt64/int64(One))) * One
}

func (l load) negative() load { return load{-l.cpus, -l.pe} }

// Key identifies a tally: a Kind, one of those below, and a name of that kind.
type Key struct{ Kind, Name string }

// Compare orders keys by kind, then name.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Kind, o.Kind), strings.Compare(k.Name, o.Name))
}

// The kinds that Maui's policy reckons by, in its own words.
const (
	KindTotal   = "total" // of all jobs; its only name is TotalName
	KindUser    = "user"
	KindGroup   = "group"
	KindAccount = "acct"
	KindQOS     = "qos"
	KindClass   = "class"
)

// The kinds that Grid Engine's policy reckons by. A user's jobs with a project
// count for that project and not for the user's own.
const (
	KindOwn     = "own"     // a user's jobs without a project
	KindProject = "project" // all jobs of a project
	KindWithin  = "within"  // a user's jobs in one project; see Within
)

// TotalName is the name of the one tally of KindTotal.
const TotalName = "all"

// WindowedKinds returns the kinds that have windows, in the order of display.
func WindowedKinds() []string {
	return []string{KindTotal, KindUser, KindGroup, KindAccount, KindQOS, KindClass}
}

// Windowed reports whether tallies of the key have windows, for Maui's policy; other
// tallies have decayed usage, for Grid Engine's.
func (k Key) Windowed() bool {
	switch k.Kind {
	case KindTotal, KindUser, KindGroup, KindAccount, KindQOS, KindClass:
		return true
	}
	return false
}

// A slash stands between user and project. One in the name of either is written
// %2F, so that no two pairs have the same name.
var (
	escape   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescape = strings.NewReplacer("%25", "%", "%2F", "/")
)

// Within returns the key of a user's jobs in one project.
func Within(user, project string) Key {
	return Key{KindWithin, escape.Replace(user) + "/" + escape.Replace(project)}
}

// UserProject returns the user and the project that a key of Grid Engine's kinds
// stands for; empty where it is not of one.
func (k Key) UserProject() (user, project string) {
	switch k.Kind {
	case KindOwn:
		return k.Name, ""
	case KindProject:
		return "", k.Name
	case KindWithin:
		u, p, _ := strings.Cut(k.Name, "/")
		return unescape.Replace(u), unescape.Replace(p)
	}
	return "", ""
}

// mostKeys is how many keys appendKeys appends at most.
const mostKeys = 8

// appendKeys appends the keys of a claim's tallies. A claim without a user, of no job of this
// pool, has none.
func (c Credentials) appendKeys(keys []Key) []Key {
	if c.User == "" {
		return keys
	}
	keys = append(keys, Key{KindTotal, TotalName}, Key{KindUser, c.User})
	for _, k := range [...]Key{{KindGroup, c.Group}, {KindAccount, c.Account}, {KindQOS, c.QOS}, {KindClass, c.Class}} {
		if k.Name != "" {
			keys = append(keys, k)
		}
	}
	if c.Project == "" {
		return append(keys, Key{KindOwn, c.User})
	}
	return append(keys, Key{KindProject, c.Project}, Within(c.User, c.Project))
}

// WindowParams are the parameters of Maui's fair share windows. Interval and
// Depth of zero are the defaults.
type WindowParams struct {
	Interval time.Duration // FSINTERVAL, whole milliseconds
	Depth    int           // FSDEPTH, 1 to MaxDepth
	Decay    float64       // FSDECAY, 0 to 1
}

// Defaults and bound of WindowParams, as Maui 3.3.1 has them.
const (
	DefaultInterval = 12 * time.Hour
	DefaultDepth    = 8
	MaxDepth        = 24
)

// sound returns the parameters with whatever is out of range put right.
func (w WindowParams) sound() WindowParams {
	if w.Interval < time.Millisecond {
		w.Interval = DefaultInterval
	}
	w.Interval = w.Interval.Truncate(time.Millisecond)
	if w.Depth <= 0 {
		w.Depth = DefaultDepth
	}
	w.Depth = min(w.Depth, MaxDepth)
	return w
}

// Start returns the beginning of the window that contains t.
func (w WindowParams) Start(t time.Time) time.Time {
	return time.UnixMilli(startOf(t, w.sound().Interval))
}

// Window is the usage in one of Maui's windows. All are FSINTERVAL long; window n begins
// n times that after 1970.
type Window struct {
	Dedicated  Usage // processors times time (DEDICATEDPS)
	Equivalent Usage // processor equivalents times time (DEDICATEDPES)
	Utilized   Usage // CPU time as it was reported (UTILIZEDPS)
}

// DedicatedPS, DedicatedPES and UtilizedPS are the usage that goes by that word in
// FSPOLICY, for FairShare.
func DedicatedPS(w Window) Usage { return w.Dedicated }

// DedicatedPES: see DedicatedPS.
func DedicatedPES(w Window) Usage { return w.Equivalent }

// UtilizedPS: see DedicatedPS.
func UtilizedPS(w Window) Usage { return w.Utilized }

// FairShare returns the usage that Maui's fair share compares: the windows'
// processor-seconds, each multiplied by FSDECAY as often as it is windows old. It
// is of the windows up to y.At; AsOf brings them up to date.
func (y Tally) FairShare(of func(Window) Usage, p WindowParams) float64 {
	p = p.sound()
	sum, factor := 0.0, 1.0
	for _, w := range y.Windows[:min(len(y.Windows), p.Depth)] {
		sum += of(w).Seconds() * factor
		factor *= p.Decay
	}
	return sum
}

// Percent returns usage in percent of total, 0 if total is.
func Percent(usage, total float64) float64 {
	if total <= 0 {
		return 0
	}
	return 100 * usage / total
}

// series is a row of windows, the newest first, with the instants that they
// stand for in milliseconds of 1970. start is when the newest began.
type series struct {
	windows         []Window
	start, interval int64
}

// startOf returns when the window began that t lies in.
func startOf(t time.Time, interval time.Duration) int64 {
	at, ms := t.UnixMilli(), interval.Milliseconds()
	into := at % ms
	if into < 0 {
		into += ms
	}
	return at - into
}

// series returns a copy of the windows with room for depth of them, as of t, no
// earlier than y.At.
func (y Tally) series(t time.Time, w WindowParams) series {
	s := series{make([]Window, w.Depth), startOf(t, w.Interval), w.Interval.Milliseconds()}
	passed := (s.start - startOf(y.At, w.Interval)) / s.interval
	if passed < int64(w.Depth) {
		copy(s.windows[passed:], y.Windows)
	}
	return s
}

// of returns which window an instant lies in, and whether there is one.
func (s series) of(at int64) (int, bool) {
	k := int64(0)
	if at < s.start {
		k = (s.start - at + s.interval - 1) / s.interval
	}
	return int(k), k < int64(len(s.windows))
}

// within returns the part of from to to that lies in the k-th window.
func (s series) within(k int, from, to int64) (lo, hi int64) {
	begin := s.start - int64(k)*s.interval
	return max(from, begin), min(to, begin+s.interval)
}

// trimmed returns the windows without the last ones that are empty.
func (s series) trimmed() []Window {
	n := len(s.windows)
	for n > 0 && s.windows[n-1] == (Window{}) {
		n--
	}
	if n == 0 {
		return nil
	}
	return s.windows[:n:n]
}

// advanced returns the tally with its windows as of t.
func (y Tally) advanced(t time.Time, w WindowParams) Tally {
	if len(y.Windows) > w.Depth {
		y.Windows = series{windows: y.Windows[:w.Depth]}.trimmed()
	}
	if !t.After(y.At) || len(y.Windows) == 0 && !y.InUse() {
		return y
	}
	s := y.series(t, w)
	s.dedicate(y.At.UnixMilli(), t.UnixMilli(), load{y.Cpus, y.PE})
	y.Windows = s.trimmed()
	return y
}

// over returns the tally with a load more from from to to, which is no later than
// y.At; below zero it is taken away.
func (y Tally) over(from, to time.Time, l load, p Params) Tally {
	if !y.Windowed() || l == (load{}) || from.UnixMilli() >= to.UnixMilli() {
		return y
	}
	s := y.series(y.At, p.Windows.sound())
	s.dedicate(from.UnixMilli(), to.UnixMilli(), l)
	y.Windows = s.trimmed()
	return y
}

// dedicate adds a load from from to to, split where windows meet; below zero it
// takes it away.
func (s series) dedicate(from, to int64, l load) {
	for k := range s.windows {
		lo, hi := s.within(k, from, to)
		if hi <= lo {
			continue
		}
		d, w := time.Duration(hi-lo)*time.Millisecond, &s.windows[k]
		w.Dedicated = w.Dedicated.over(Weight(l.cpus)*One, d)
		w.Equivalent = w.Equivalent.over(l.pe, d)
	}
}

// over is Add, and Take for a weight below zero.
func (u Usage) over(w Weight, d time.Duration) Usage {
	if w < 0 {
		return u.Take(-w, d)
	}
	return u.Add(w, d)
}

// utilized returns the tally with the CPU time added to the window of t.
func (y Tally) utilized(cpu time.Duration, t time.Time, p Params) Tally {
	if cpu < time.Microsecond {
		return y
	}
	s := y.series(y.At, p.Windows.sound())
	if k, ok := s.of(t.UnixMilli()); ok {
		u := &s.windows[k].Utilized
		*u = u.Plus(Usage{cpu.Milliseconds(), cpu.Microseconds() % 1000})
		y.Windows = s.trimmed()
	}
	return y
}

// spread returns the tally with windows of w's interval. If the interval was another, the
// content of each window is spread evenly over its time, for the newest up to y.At, and
// divided in whole units among the windows that overlap it. Only usage older than w's
// depth is lost.
func (y Tally) spread(w WindowParams) Tally {
	was := y.Interval.Truncate(time.Millisecond)
	y.Interval = w.Interval
	if was <= 0 || was == w.Interval || len(y.Windows) == 0 {
		return y
	}
	y.Windows = y.Windows[:min(len(y.Windows), MaxDepth)]
	at := y.At.UnixMilli()
	old := series{y.Windows, startOf(y.At, was), was.Milliseconds()}
	s := series{make([]Window, w.Depth), startOf(y.At, w.Interval), w.Interval.Milliseconds()}
	for k, has := range old.windows {
		from, to := old.within(k, math.MinInt64, at)
		s.pour(has, from, to)
	}
	y.Windows = s.trimmed()
	return y
}

// pour adds the content of a window of another length for the time from from to to.
func (s series) pour(has Window, from, to int64) {
	if to <= from { // of the instant y.At alone
		s.windows[0] = s.windows[0].plus(has)
		return
	}
	for k := range s.windows {
		lo, hi := s.within(k, from, to)
		if hi <= lo {
			continue
		}
		s.windows[k] = s.windows[k].plus(Window{
			Dedicated:  has.Dedicated.part(lo-from, hi-from, to-from),
			Equivalent: has.Equivalent.part(lo-from, hi-from, to-from),
			Utilized:   has.Utilized.part(lo-from, hi-from, to-from),
		})
	}
}

func (w Window) plus(x Window) Window {
	return Window{w.Dedicated.Plus(x.Dedicated), w.Equivalent.Plus(x.Equivalent), w.Utilized.Plus(x.Utilized)}
}
