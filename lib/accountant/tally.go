package accountant

import "time"

// Used is what an attempt of a job used, as it was measured. A GB is 2^30 bytes.
type Used struct {
	CPU    time.Duration // user and system time of all its processes
	Memory float64       // GB seconds
	IO     float64       // GB
}

// Tally is what was used under one key, for the policies of Maui and Grid
// Engine, as of At. Of the two it keeps what is reckoned for its kind: Windows
// for Maui's, Decayed and LongTerm for Grid Engine's.
type Tally struct {
	Key
	At       time.Time     // the last event; zero before the first
	Cpus     int64         // processors charged since At
	PE       Weight        // processor equivalents charged since At
	Interval time.Duration // of the windows; FSINTERVAL when they were last advanced
	// Windows are the windows that there is anything to say of, the newest
	// first: it is the one that At lies in. Never changed in place.
	Windows []Window
	// Decayed is Grid Engine's usage as of At, LongTerm the same undecayed.
	Decayed, LongTerm Recent
}

// AsOf returns the tally advanced to t with nothing begun or ended in between.
// AsOf(b) of AsOf(a) has the same windows as AsOf(b), and the same decayed usage
// up to rounding. A t before y.At leaves the usage as it is. Windows that were
// recorded with another FSINTERVAL are spread over those of p.
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

// GiveBack ends at t what began at from, and takes away again what it added.
func (y Tally) GiveBack(from, t time.Time, by Credentials, p Params) Tally {
	return y.End(t, by, p).over(from, t, by.load().negative(), p)
}

// Report adds what was measured to the usage as of t. One that is late counts
// as it would have counted in time.
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

// InUse tells whether a claim is charged.
func (y Tally) InUse() bool { return y.Cpus != 0 || y.PE != 0 }

// negligible is decayed usage, of any unit, that no priority shows any more.
const negligible = 1e-6

// Irrelevant tells whether nothing would be lost if the tally were not there.
// Windows and decayed usage pass; long-term usage does not, so that a tally with
// any stays, as a Record with accumulated usage does.
func (y Tally) Irrelevant(t time.Time, p Params) bool {
	y = y.AsOf(t, p)
	d := y.Decayed
	return !y.InUse() && len(y.Windows) == 0 && max(d.CPU, d.Memory, d.IO) < negligible && y.LongTerm == (Recent{})
}
