package maui

import (
	"math"
	"testing"
	"time"
)

// noon is when jobs of the tests are reckoned.
const noon = 1_000_000_000

// setup is a configuration in short.
type setup struct {
	weights map[Component]int64
	caps    map[Component]int64
	sub     map[Sub]int64
	subCaps map[Sub]int64
	creds   map[Kind]map[string]Credential
	also    func(*Config)
}

func (s setup) config() *Config {
	c := Default()
	for k, n := range s.weights {
		c.Components[k].Weight = n
	}
	for k, n := range s.caps {
		c.Components[k].Cap = n
	}
	for k, n := range s.sub {
		c.Subs[k].Weight = n
	}
	for k, n := range s.subCaps {
		c.Subs[k].Cap = n
	}
	for k, m := range s.creds {
		c.Credentials[k] = m
	}
	if s.also != nil {
		s.also(&c)
	}
	return &c
}

// cluster32 is a pool of 32 processors.
var cluster32 = World{Now: time.Unix(noon, 0), Totals: Totals{Procs: 32, Mem: 32768, Swap: 65536, Disk: 80000}}

// queued is a job of one processor that has waited so many seconds.
func queued(user string, waited, limit int64) Job {
	return Job{User: user, Submitted: noon - waited, Since: noon - waited, WCLimit: limit, Tasks: 1, ProcsPerTask: 1}
}

func with(j Job, change func(*Job)) Job {
	change(&j)
	return j
}

// TestOf holds priorities to the numbers worked in the manuals and observed on Maui 3.3.1.
func TestOf(t *testing.T) {
	john := setup{sub: map[Sub]int64{CredUser: 1}, creds: map[Kind]map[string]Credential{User: {"john": {Priority: 300}}}}
	mix := setup{sub: map[Sub]int64{CredQOS: 1, XFactor: 1, QueueTime: 10, TargetQueueTime: 1}, creds: map[Kind]map[string]Credential{
		QOS:  {"low": {Priority: 1000}, "medium": {Priority: 10000}, "high": {Priority: 10000}},
		User: {DefaultName: {QTTarget: 4 * time.Hour, QList: []string{"low", "medium", "high"}}}}}
	lowTarget := setup{sub: mix.sub, creds: map[Kind]map[string]Credential{
		QOS:  {"low": {Priority: 1000, QTTarget: 4 * time.Hour}, "high": {Priority: 100000}},
		User: {DefaultName: {QList: []string{"low", "high"}}}}, also: func(c *Config) { c.Compatible = true }}
	compatible := mix
	compatible.also = func(c *Config) { c.Compatible = true }
	short := setup{sub: map[Sub]int64{XFactor: 100}}
	shortCapped := setup{sub: short.sub, subCaps: map[Sub]int64{XFactor: 5, QueueTime: 45}}
	service := setup{weights: map[Component]int64{Service: 10}, sub: map[Sub]int64{QueueTime: 2, XFactor: 4}, caps: map[Component]int64{Service: 100}}
	cred := setup{weights: map[Component]int64{Credentials: 2},
		sub: map[Sub]int64{CredUser: 1, CredGroup: 10, CredAccount: 100, CredQOS: 3, CredClass: 5},
		creds: map[Kind]map[string]Credential{User: {"u1": {Priority: 2000}, DefaultName: {Priority: 7}, "zero": {}}, Group: {"g1": {Priority: 100}},
			Account: {"a1": {Priority: -3}, DefaultName: {Priority: 9}}, Class: {"short": {Priority: 11}, DefaultName: {Priority: 77}}}}
	credCapped := cred
	credCapped.subCaps, credCapped.caps = map[Sub]int64{CredUser: 500}, map[Component]int64{Credentials: 1200}
	u1 := with(queued("u1", 600, 3600), func(j *Job) { j.Group, j.Account, j.Class = "g1", "a1", "short" })
	res := setup{weights: map[Component]int64{Resource: 2}, sub: map[Sub]int64{QueueTime: 0, Node: 1000, Proc: 10, Mem: 1, Swap: 1, Disk: 1, PS: 1, PE: 100, WallTime: 1, UProc: 50, UJob: 60}}
	xfTarget := setup{sub: map[Sub]int64{QueueTime: 0, TargetXFactor: 1000}, creds: map[Kind]map[string]Credential{QOS: {DefaultName: {XFTarget: 4}}}}
	xfTargetCapped := xfTarget
	xfTargetCapped.subCaps, xfTargetCapped.caps = map[Sub]int64{TargetXFactor: 50}, map[Component]int64{Target: 20000}
	qtTarget := setup{sub: map[Sub]int64{QueueTime: 0, TargetQueueTime: 1}, creds: map[Kind]map[string]Credential{User: {"u1": {QTTarget: 4 * time.Hour}}}}
	clamp := setup{sub: map[Sub]int64{QueueTime: 2_000_000}}
	low := setup{sub: map[Sub]int64{CredUser: 1}, creds: map[Kind]map[string]Credential{User: {"low": {Priority: -500}}}}
	negative, rejected := low, low
	negative.also, rejected.also = func(c *Config) { c.EnableNegative = true }, func(c *Config) { c.RejectNegative = true }
	system := func(n int64) Job { return with(queued("low", 60, 3600), func(j *Job) { j.System = n }) }
	qos := func(j Job, name string) Job { return with(j, func(j *Job) { j.QOS = name }) }
	violation := setup{sub: map[Sub]int64{SPViolation: -50, Bypass: 8}}
	beyond := with(queued("a", 6000, 3600), func(j *Job) { j.SoftViolation, j.Bypassed = true, 3 })
	asProgram := violation
	asProgram.also = func(c *Config) { c.Compatible = true }

	for _, c := range []struct {
		name  string
		setup setup
		job   Job
		raw   float64
		start int64
	}{
		{"seed, favoured user: just submitted", john, queued("john", 0, 3600), 300, 300},
		{"favoured, ten minutes", john, queued("john", 600, 3600), 310, 310},
		{"another, 299 minutes", john, queued("mary", 299*60, 3600), 299, 299},
		{"another, 301 minutes", john, queued("mary", 301*60, 3600), 301, 301},
		{"seed, mix of QOS: low", compatible, qos(queued("u1", 14000, 3600), "low"), 1000 + 140000/60. + 17600./3600, 3338},
		{"medium", compatible, qos(queued("u1", 3600, 7200), "medium"), 10601.5, 10601},
		{"high", compatible, qos(queued("u1", 60, 600), "high"), 10011.1, 10011},
		{"none", compatible, queued("u1", 20000, 600), 200000/60. + 20600./600, 3367},
		{"the target of users counts; 0.0001 to the power of -2 is a bit less than 1e8", mix, qos(queued("u1", 14400, 3600), "low"), 1e8 + 1000 + 2400 + 5, 100003404},
		{"and near it", mix, qos(queued("u1", 14399, 3600), "low"), 1 + 1000 + 143990/60. + 17999./3600, 3405},
		{"Maui's own target, from the first second", lowTarget, qos(queued("u1", 14000, 3600), "low"), 1e8 + 1000 + 140000/60. + 17600./3600, 100003338},
		{"and without one", lowTarget, qos(queued("u1", 60, 600), "high"), 100011.1, 100011},
		{"short jobs: below XFMINWCLIMIT", short, queued("a", 3600, 60), 3110, 3110},
		{"ten minutes", short, queued("a", 3600, 600), 760, 760},
		{"ten hours", short, queued("a", 3600, 36000), 170, 170},
		{"capped: a minute", shortCapped, queued("a", 3600, 60), 545, 545},
		{"capped: ten minutes", shortCapped, queued("a", 3600, 600), 545, 545},
		{"capped: ten hours", shortCapped, queued("a", 3600, 36000), 155, 155},
		{"the cap of a component is before its weight", service, queued("a", 7200, 600), 1000, 1000},
		{"below it", service, queued("a", 600, 3600), 10 * (20 + 4*4200./3600), 246},
		{"credentials", cred, u1, 5520, 5520},
		{"credentials capped", credCapped, u1, 2410, 2410},
		{"DEFAULT of users and accounts, not of classes", cred, queued("zero", 0, 3600), 2 * (7 + 900), 1814},
		{"resources: memory", res, with(queued("a", 600, 3600), func(j *Job) { j.Tasks, j.MemPerTask = 2, 3000 }), 34811.875, 34811},
		{"disk and swap", res, with(queued("a", 600, 600), func(j *Job) { j.DiskPerTask, j.SwapPerTask = 7500, 2048 }), 22116, 22116},
		{"nodes", res, with(queued("a", 600, 3600), func(j *Job) { j.Tasks, j.Nodes = 4, 2 }), 40880, 40880},
		{"processors of a task", res, with(queued("a", 600, 3600), func(j *Job) { j.ProcsPerTask = 8 }), 66560, 66560},
		{"expansion factor target: at once", xfTarget, queued("a", 0, 3600), 1000. / 9, 111},
		{"half before it", xfTarget, queued("a", 9000, 3600), 4000, 4000},
		{"not rounded before it is cut", xfTarget, queued("a", 10440, 3600), 99999.99999999981, 99999},
		{"almost there", xfTarget, queued("a", 10799, 3600), 1.296e10, 1e9},
		{"there", xfTarget, queued("a", 10800, 3600), 1e11, 1e9},
		{"past it", xfTarget, queued("a", 36000, 3600), 1e11, 1e9},
		{"target capped", xfTargetCapped, queued("a", 10440, 3600), 20000, 20000},
		{"queue time target: at once", qtTarget, queued("u1", 0, 3600), 1 / (14400. * 14400), 1},
		{"ten seconds before it", qtTarget, queued("u1", 14390, 3600), 0.01, 1},
		{"for somebody else", qtTarget, queued("u2", 14400, 3600), 0, 1},
		{"no more than 1e9", clamp, queued("a", 36000, 3600), 1.2e9, 1e9},
		{"negative: 1", low, queued("low", 600, 3600), -490, 1},
		{"a fraction: 1", low, queued("ok", 59, 3600), 59. / 60, 1},
		{"negative enabled", negative, queued("low", 600, 3600), -490, -490},
		{"a fraction then", negative, queued("ok", 59, 3600), 59. / 60, 0},
		{"a negative fraction is cut towards 0", negative, queued("low", 30, 3600), -499.5, -499},
		{"negative rejected: it stays", rejected, queued("low", 600, 3600), -490, -490},
		{"system priority", low, system(5), -499, 1_000_000_005},
		{"relative system priority", low, system(2e9 + 7), -499, 8},
		{"relative, below", low, system(2e9 - 7), -499, -6},
		{"relative, enabled negative", negative, system(2e9 + 7), -499, -492},
		{"below 0 it is none", low, system(-3), -499, 1},
		{"soft limit and bypass", violation, beyond, 100 - 50 + 24, 74},
		{"as the program has them", asProgram, beyond, 124, 124},
		{"its clock stands", john, with(queued("john", 600, 3600), func(j *Job) { j.Stopped, j.Since = true, 0 }), 300, 300},
		{"submitted in the future", john, queued("john", -600, 3600), 300, 300},
		{"and its expansion factor", short, queued("a", -600, 3600), 100, 100},
		{"which 3.3.1 has below 1", setup{sub: short.sub, also: func(c *Config) { c.Compatible = true }}, queued("a", -600, 3600), 250. / 3, 83},
		{"raw submission", setup{also: func(c *Config) { c.UseSystemQueueTime = false }},
			with(queued("a", 600, 3600), func(j *Job) { j.Stopped, j.Submitted = true, noon-1200 }), 20, 20},
		{"a limit of none", setup{sub: map[Sub]int64{QueueTime: 0, WallTime: 1}}, queued("a", 0, 0), 8640000, 8640000},
		{"the class's limit", setup{sub: map[Sub]int64{QueueTime: 0, WallTime: 1}, creds: map[Kind]map[string]Credential{Class: {"short": {WCLimit: time.Hour}}}},
			with(queued("a", 0, 0), func(j *Job) { j.Class = "short" }), 3600, 3600},
		{"no least limit", setup{sub: map[Sub]int64{XFactor: 100}, also: func(c *Config) { c.XFMinWCLimit = 0 }}, queued("a", 3600, 60), 6160, 6160},
		{"negative weights and caps", setup{weights: map[Component]int64{Service: -1}, subCaps: map[Sub]int64{QueueTime: -3}, also: func(c *Config) { c.EnableNegative = true }},
			queued("a", 600, 3600), -10, -10},
		{"ATTR and USAGE", setup{sub: map[Sub]int64{AttrAttr: 9, AttrState: 9, Consumed: 9, ExecutionTime: 9, Remaining: 9, Percent: 9}}, queued("a", 600, 3600), 10, 10},
	} {
		r := NewReckoner(c.setup.config(), cluster32)
		p := r.Of(&c.job)
		if math.Abs(p.Raw-c.raw) > 1e-11*math.Abs(c.raw) || p.Start != c.start {
			t.Errorf("%s: Of(%+v) = raw %v, start %d, want %v, %d", c.name, c.job, p.Raw, p.Start, c.raw, c.start)
		}
		if got := rank(r, []Job{c.job}); len(got) != 1 || got[0].Start != p.Start {
			t.Errorf("%s: a queue has %v, want start %d as Of has it", c.name, got, p.Start)
		}
	}
}

// TestOfWeights holds what a QOS adds to weights.
func TestOfWeights(t *testing.T) {
	s := setup{sub: map[Sub]int64{QueueTime: 2, XFactor: math.MaxInt64}, creds: map[Kind]map[string]Credential{
		User: {"u1": {QDef: "gold"}}, QOS: {"gold": {QTWeight: 50, XFWeight: 700, FSWeight: 4}}}}
	for _, compatible := range []bool{false, true} {
		s.also = func(c *Config) { c.Compatible = compatible }
		want := [3]int64{52, math.MaxInt64, 5}
		if compatible {
			want[2] = 1
		}
		j := queued("u1", 600, 3600)
		p := NewReckoner(s.config(), cluster32).Of(&j)
		if got := [3]int64{p.Subs[QueueTime].Weight, p.Subs[XFactor].Weight, p.Parts[FairShare].Weight}; got != want || p.QOS != "gold" {
			t.Errorf("compatible %v: weights of %s = %v, want %v of gold", compatible, p.QOS, got, want)
		}
		j.User = "u2"
		if p := NewReckoner(s.config(), cluster32).Of(&j); p.QOS != DefaultName || p.Subs[QueueTime].Weight != 2 || p.Parts[FairShare].Weight != 1 {
			t.Errorf("without the QOS: %s, weights %d and %d, want DEFAULT, 2 and 1", p.QOS, p.Subs[QueueTime].Weight, p.Parts[FairShare].Weight)
		}
	}
}

// TestRunPriority: what a running job has used and has left counts, by the manual and by the
// program.
func TestRunPriority(t *testing.T) {
	s := setup{weights: map[Component]int64{Usage: 2}, sub: map[Sub]int64{Consumed: 3, Remaining: 5, Percent: 7, ExecutionTime: 11}, subCaps: map[Sub]int64{Consumed: 1000}}
	j := with(queued("a", 1000, 4000), func(j *Job) { j.Tasks = 2 })
	for _, c := range []struct {
		name       string
		compatible bool
		since      int64
		raw        float64
		start      int64
	}{
		// It waited 400 s, 6.67 minutes, and has run 600 of 4000 s on two processors.
		{"manual", false, noon - 600, 400/60. + 2*(3*1000+5*2*3400+7*15+11*600), 6 + 2*(3000+34000+105+6600)},
		{"program", true, noon - 600, 400/60. + 2*11*600, 6 + 2*6600},
		{"since later", true, noon + 600, 1000 / 60., 16},
	} {
		s.also = func(f *Config) { f.Compatible = c.compatible }
		p := NewReckoner(s.config(), cluster32).RunPriority(&j, c.since)
		if math.Abs(p.Raw-c.raw) > 1e-9 || p.Start != c.start {
			t.Errorf("%s: RunPriority = raw %v, start %d, want %v, %d", c.name, p.Raw, p.Start, c.raw, c.start)
		}
	}
	s.also = func(f *Config) { f.Compatible = true }
	if p := NewReckoner(s.config(), cluster32).RunPriority(&j, noon-600); p.Subs[Percent].Factor != 17 || p.Subs[Consumed].Factor != 1200 {
		t.Errorf("PERCENT and CONSUMED of the program = %+v, %+v, want 17 and 1200", p.Subs[Percent], p.Subs[Consumed])
	}
}
