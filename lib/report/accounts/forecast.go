package accounts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/elapsed"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/report"
	"fairspool/lib/report/table"
	"fairspool/spool"
)

// nextBetter is the number of better submitters for which a forecast gives the time when they
// are passed.
const nextBetter = 5

// ahead are the times for which a forecast gives the EUP.
var ahead = []struct {
	name string
	in   time.Duration
}{
	{"now", 0}, {"1h", time.Hour}, {"6h", 6 * time.Hour}, {"1d", 24 * time.Hour}, {"2d", 48 * time.Hour},
	{"4d", 96 * time.Hour}, {"7d", 168 * time.Hour}, {"14d", 336 * time.Hour},
}

// Everybody returns all records as of now, under the configured half-life, which the next cycle brings
// into force.
func (in Pool) Everybody() ([]accountant.Record, error) {
	p := in.Config.Params
	var records []accountant.Record
	err := in.Spool.View(func(v *spool.View) error {
		for _, r := range v.Submitters() {
			records = append(records, r.Settle(in.Now, p))
		}
		return nil
	})
	return records, err
}

// errNobody is the error for a name without a record.
var errNobody = errors.New("no such submitter")

// called returns the record of the only submitter with this name. The error
// is errNobody without one.
func called(name string, records []accountant.Record) (accountant.Record, error) {
	var found []accountant.Record
	var names []string
	for _, r := range records {
		if r.Name == name {
			return r, nil
		}
		if accountant.Named(r.Name, name) {
			found, names = append(found, r), append(names, r.Name)
		}
	}
	switch len(found) {
	case 0:
		return accountant.Record{}, errNobody
	case 1:
		return found[0], nil
	}
	return accountant.Record{}, fmt.Errorf("%s: several submitters are called that, want the full name of one: %s", name, strings.Join(names, ", "))
}

// Future returns the future of a record; waiting is the number of idle jobs if no cycle has made it yet.
func (in Pool) Future(r accountant.Record, waiting int) Future {
	return Future{now: in.Now, p: in.Config.Params, of: r, waiting: waiting}
}

// Future is a submitter's future if nothing changes.
type Future struct {
	now     time.Time
	p       accountant.Params
	of      accountant.Record
	waiting int // idle jobs, if no cycle has made a record yet
}

func (f Future) eup(t time.Time) float64 { return f.of.Effective(t, f.p) }

func (f Future) limit() float64 { return f.of.Limit(f.now, f.p) }

// arrival is an answer in JSON. Time is null for never.
type arrival struct {
	Name string `json:",omitempty"` // the other submitter
	EUP  float64
	Time *float64 // Unix seconds
}

func arrivalOf(name string, eup float64, at accountant.Forecast) arrival {
	a := arrival{Name: name, EUP: eup}
	if !at.Never {
		seconds := float64(at.At.UnixMilli()) / 1000
		a.Time = &seconds
	}
	return a
}

// best returns the best EUP that lasts.
func (f Future) best() arrival {
	eup, at := f.of.Best(f.now, f.p)
	return arrivalOf("", eup, at)
}

// lease returns the EUP when the lease on the factor ends, nil without one.
func (f Future) lease() *arrival {
	end, ok := f.of.FactorLeaseEnd(f.now)
	if !ok {
		return nil
	}
	a := arrivalOf("", f.eup(end), accountant.Forecast{At: end})
	return &a
}

// Until is when an EUP reaches a value, and TendsTo the limit of the EUP.
type Until struct {
	Name    string
	EUP     float64
	Until   arrival
	TendsTo float64
}

// Below is when an EUP will be better than another submitter's.
type Below struct {
	Name    string
	EUP     float64
	Below   arrival
	TendsTo float64
}

// Until says when the EUP will be at a value: as an object for JSON, and in a sentence.
func (f Future) Until(eup float64) (object any, text string) {
	at, now := f.of.Reaches(eup, f.now, f.p), f.eup(f.now)
	object = Until{f.of.Name, now, arrivalOf("", eup, at), f.limit()}
	text = fmt.Sprintf("%s: the EUP is %s now", f.of.Name, figure(now))
	way := "fallen"
	if now < eup {
		way = "risen"
	}
	switch {
	case !at.Never && !at.At.After(f.now):
		text = fmt.Sprintf("%s: the EUP is at %s now", f.of.Name, figure(eup))
	case !at.Never:
		text += fmt.Sprintf(" and will have %s to %s %s", way, figure(eup), f.when(at.At))
	case (f.limit()-eup)*(now-eup) < 0:
		text += fmt.Sprintf(" and will not have %s to %s within 100 years", way, figure(eup))
	default:
		text += fmt.Sprintf(" and will never have %s to %s: it tends to %s", way, figure(eup), figure(f.limit()))
	}
	return object, f.noted(text)
}

// Below says when the EUP will be better than another submitter's, as Until does.
func (f Future) Below(other accountant.Record) (object any, text string) {
	at, now, theirs := f.of.Below(other, f.now, f.p), f.eup(f.now), Future{now: f.now, p: f.p, of: other}
	object = Below{f.of.Name, now, arrivalOf(other.Name, theirs.eup(f.now), at), f.limit()}
	text = fmt.Sprintf("%s: the EUP, %s now, ", f.of.Name, figure(now))
	whose := fmt.Sprintf("that of %s, %s now", other.Name, figure(theirs.eup(f.now)))
	switch {
	case at.Never:
		text += fmt.Sprintf("will never be below %s: they tend to %s and %s", whose, figure(f.limit()), figure(theirs.limit()))
	case !at.At.After(f.now):
		text += "is below " + whose
	default:
		text += fmt.Sprintf("will be below %s, %s", whose, f.when(at.At))
	}
	return object, f.noted(text)
}

// noted returns a text, after a note for a submitter that no cycle has seen.
func (f Future) noted(text string) string {
	if f.waiting > 0 {
		return f.of.Name + ": " + f.unseen() + "\n" + text
	}
	return text
}

// passed is another submitter with the time at which it is passed.
type passed struct {
	name string
	eup  float64 // now
	at   accountant.Forecast
}

// passes returns when the next better submitters are passed, the nearest first.
func (f Future) passes(records []accountant.Record) []passed {
	var list []passed
	for _, r := range records {
		if eup := r.Effective(f.now, f.p); r.IsGroup() == f.of.IsGroup() && eup < f.eup(f.now) {
			list = append(list, passed{name: r.Name, eup: eup})
		}
	}
	slices.SortStableFunc(list, func(a, b passed) int { return cmp.Compare(b.eup, a.eup) })
	list = list[:min(len(list), nextBetter)]
	for i := range list {
		j := slices.IndexFunc(records, func(r accountant.Record) bool { return r.Name == list[i].name })
		list[i].at = f.of.Below(records[j], f.now, f.p)
	}
	return list
}

// Write writes the EUP at times to come, and when it will be at its best and below the EUPs of the next
// better submitters.
func (f Future) Write(w io.Writer, records []accountant.Record) error {
	rows := make([][]string, 0, len(ahead)+1)
	for _, a := range ahead {
		t := f.now.Add(a.in)
		rows = append(rows, []string{a.name, date24(t), figure(f.eup(t))})
	}
	rows = append(rows, []string{"tends to", "", figure(f.limit())})
	if _, err := fmt.Fprintln(w, f.noted(f.of.Name+", if nothing changes; lower is better:\n")); err != nil {
		return err
	}
	if err := table.Write(w, []table.Column{{Head: "In"}, {Head: "Date"}, {Head: "EUP", Right: true}}, rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return table.Write(w, []table.Column{{Head: "Will be"}, {Head: "Date"}, {Head: "In", Right: true}}, append(f.stays(), f.better(records)...))
}

// stays returns when the EUP will be at its best, and the EUP when a lease on
// the factor ends.
func (f Future) stays() [][]string {
	eup, best := f.of.Best(f.now, f.p)
	end, leased := f.of.FactorLeaseEnd(f.now)
	if !leased {
		return [][]string{f.row("at the best there is, "+figure(eup), best)}
	}
	return [][]string{
		f.row("at "+figure(f.eup(end))+", when the lease on the factor ends", accountant.Forecast{At: end}),
		f.row("at the best that lasts, "+figure(eup), best),
	}
}

func (f Future) better(records []accountant.Record) (rows [][]string) {
	for _, x := range f.passes(records) {
		rows = append(rows, f.row(fmt.Sprintf("below %s, %s now", x.name, figure(x.eup)), x.at))
	}
	return rows
}

func (f Future) row(what string, at accountant.Forecast) []string {
	if at.Never {
		return []string{what, "never", ""}
	}
	return []string{what, date24(at.At), long(at.At.Sub(f.now))}
}

// Forecast is a submitter's EUP at times to come. Times are Unix seconds.
type Forecast struct {
	Name                          string
	EUP, RUP, Factor, TendsTo, At float64
	Course                        []point
	Best                          arrival
	Lease                         *arrival `json:",omitempty"` // when the lease on the factor ends
	Below                         []arrival
	Waiting                       int `json:",omitempty"` // idle jobs of a submitter that no cycle has seen
}

type point struct{ Time, EUP float64 }

// Object returns what Write writes, for JSON.
func (f Future) Object(records []accountant.Record) Forecast {
	out := Forecast{Name: f.of.Name, EUP: f.eup(f.now), RUP: f.of.AsOf(f.now, f.p).Priority, TendsTo: f.limit(), At: unixSeconds(f.now),
		Best: f.best(), Lease: f.lease(), Below: []arrival{}, Waiting: f.waiting}
	out.Factor, _ = f.of.FactorIn(f.now, f.p)
	for _, a := range ahead {
		t := f.now.Add(a.in)
		out.Course = append(out.Course, point{unixSeconds(t), f.eup(t)})
	}
	for _, x := range f.passes(records) {
		out.Below = append(out.Below, arrivalOf(x.name, x.eup, x.at))
	}
	return out
}

// when words a time: its date, and how long from now.
func (f Future) when(t time.Time) string {
	return fmt.Sprintf("on %s, in %s", date24(t), long(t.Sub(f.now)))
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// date24 writes a time to the second, rounded up, so that the forecast has come true then.
func date24(t time.Time) string {
	return t.Local().Add(time.Second - 1).Truncate(time.Second).Format(report.ToSecond)
}

// long writes a duration as days+hours:minutes:seconds, rounded up like date24.
func long(d time.Duration) string {
	return elapsed.Days(int64((d + time.Second - 1) / time.Second))
}

// figure writes a priority with two decimals, a very large one in powers of ten.
func figure(x float64) string {
	if x >= 1e9 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// Sought returns the record of the only submitter with this name: one of the
// records, or else a new one for a submitter that has jobs in the queue and that no
// cycle has seen yet, with the number of its idle jobs.
func (in Pool) Sought(name string, records []accountant.Record) (r accountant.Record, waiting int, err error) {
	r, err = called(name, records)
	if !errors.Is(err, errNobody) {
		return r, 0, err
	}
	var idle map[string]int
	if err := in.Spool.View(func(v *spool.View) error {
		idle = lifecycle.IdleJobs(v, in.Spool.Domain(), in.Config.Groups)
		return nil
	}); err != nil {
		return r, 0, err
	}
	fresh := make([]accountant.Record, 0, len(idle))
	for _, n := range slices.Sorted(maps.Keys(idle)) {
		fresh = append(fresh, accountant.Record{Name: n}.Settle(in.Now, in.Config.Params))
	}
	r, err = called(name, fresh)
	if errors.Is(err, errNobody) {
		err = Unknown(name, slices.Concat(records, fresh))
	}
	return r, idle[r.Name], err
}

// unseen returns the note for a submitter that no cycle has seen: what to do.
func (f Future) unseen() string {
	return plural.Pick(f.waiting, "1 job waits, and no cycle has looked at it yet: run negotiate",
		"%d jobs wait, and no cycle has looked at them yet: run negotiate")
}
