package accountant

import "time"

// Credentials are what other policies than the submitter's RUP reckon by, and
// what of the job they reckon with. An empty text is none.
type Credentials struct {
	User    string // the job's Owner
	Group   string // UnixGroup
	Account string // AcctGroup
	QOS     string // QOS
	Class   string // Class
	Project string // Project
	Cpus    int64  // processors that the job occupies, RequestCpus
}

// Key says whose tally it is: a Kind, one of those below, and the name of one
// of that kind.
type Key struct{ Kind, Name string }

// WindowParams are the parameters of Maui's fair share windows.
type WindowParams struct {
	Interval time.Duration // FSINTERVAL, above zero
	Depth    int           // FSDEPTH, 1 to 24
	Decay    float64       // FSDECAY, 0 to 1
}

// DecayParams are the parameters of Grid Engine's decayed usage.
type DecayParams struct {
	HalfTime time.Duration // halftime; 0: nothing decays
}

// Used is what an attempt of a job used, as it was measured.
type Used struct {
	CPU    time.Duration // user and system time of all its processes
	Memory float64       // GB seconds
	IO     float64       // GB
}

// Tally is what was used under one key, for the policies of Maui and Grid
// Engine, as of At.
type Tally struct {
	Key
	At       time.Time
	Cpus     int64         // processors charged since At
	Interval time.Duration // of the windows; FSINTERVAL when they were last advanced
	// Windows are the windows that there is anything to say of, the newest
	// first: it is the one that At lies in. Never changed in place.
	Windows []Window
	// Decayed is Grid Engine's usage as of At, LongTerm the same undecayed.
	Decayed, LongTerm Recent
}

// Window is what was used in one of Maui's windows.
type Window struct {
	Dedicated Usage // processors times time (DEDICATEDPS)
	Utilized  Usage // CPU time as it was reported (UTILIZEDPS)
}

// Recent is usage as Grid Engine reckons it: CPU seconds, GB seconds, GB.
type Recent struct{ CPU, Memory, IO float64 }

func (c Credentials) keys() []Key { return nil }

// Begin begins to count cpus processors at t.
func (y Tally) Begin(t time.Time, cpus int64, p Params) Tally { return y }

// End ceases to count cpus processors at t.
func (y Tally) End(t time.Time, cpus int64, p Params) Tally { return y }

// GiveBack ends at t what began at from, and takes away again what it added.
func (y Tally) GiveBack(from, t time.Time, cpus int64, p Params) Tally { return y }

// Report adds what was measured to the usage as of t.
func (y Tally) Report(used Used, t time.Time, p Params) Tally { return y }
