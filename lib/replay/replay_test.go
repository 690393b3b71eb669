package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/policy/registry"
	"fairspool/lib/workload"
	"fairspool/spool"
)

// configured returns the default configuration with settings.
func configured(t testing.TB, settings ...string) *config.Config {
	t.Helper()
	cfg, err := registry.Default().With(settings)
	if err != nil {
		t.Fatal(err)
	}
	return &cfg
}

// jobs reads jobs from lines "submit run cores user", which are named in their order.
func jobs(t testing.TB, lines ...string) *workload.Workload {
	t.Helper()
	text := "job,submit,run,cores,user\n"
	for i, line := range lines {
		var submit, run, cores int
		var user string
		if _, err := fmt.Sscan(line, &submit, &run, &cores, &user); err != nil {
			t.Fatal(line, err)
		}
		text += fmt.Sprintf("%d,%d,%d,%d,%s\n", i+1, 1e9+submit, run, cores, user)
	}
	w, err := workload.Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// random draws jobs of users, submitted in about an hour.
func random(t testing.TB, draw *rand.Rand, n, users, cores int) *workload.Workload {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%d %d %d u%d", draw.IntN(3600), draw.IntN(900), 1+draw.IntN(cores), draw.IntN(users))
	}
	lines[0] = "0 10 1 u0"
	return jobs(t, lines...)
}

// run runs jobs on slots in memory.
func run(t testing.TB, w *workload.Workload, cfg *config.Config, slots, cores int) *Result {
	t.Helper()
	r, err := runIn(w, cfg, spool.InMemory("pool"), slots, cores)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func runIn(w *workload.Workload, cfg *config.Config, s *spool.Spool, slots, cores int) (*Result, error) {
	ads, err := Slots(slots, cores)
	if err == nil {
		err = Put(s, ads, nil)
	}
	if err != nil {
		return nil, err
	}
	return Run(w, Settings{Config: cfg, Spool: s, Interval: time.Minute, Watched: []string{"ann", "u1"}})
}

// starts returns when jobs started first and last, and ended.
func starts(r *Result) string {
	var b strings.Builder
	for _, f := range r.Fates {
		fmt.Fprintf(&b, "%d-%d-%d ", f.First, f.Start, f.End)
	}
	return strings.TrimSpace(b.String())
}

func TestRun(t *testing.T) {
	hour := "PREEMPTION_REQUIREMENTS=\"(time() - EnteredCurrentState) > 3600\""
	for _, c := range []struct {
		name     string
		settings []string
		slots    int
		cores    int
		jobs     []string
		want     string
	}{
		{"at the next cycle", nil, 2, 1, []string{"0 100 1 ann", "10 100 1 ann"}, "0-0-100 60-60-160"},
		{"nobody submits for long", nil, 1, 1, []string{"0 10 1 ann", "100000 10 1 ann"}, "0-0-10 100020-100020-100030"},
		{"a slot goes on at once", nil, 1, 1, []string{"0 70 1 ann", "10 20 1 ann", "20 30 1 ann"}, "0-0-70 70-70-90 90-90-120"},
		{"or at the next cycle", []string{"CLAIM_WORKLIFE=0"}, 1, 1, []string{"0 70 1 ann", "10 20 1 ann", "20 30 1 ann"}, "0-0-70 120-120-140 180-180-210"},
		{"no time at all", nil, 1, 1, []string{"0 0 1 ann", "0 0 1 ann"}, "0-0-0 0-0-0"},
		{"parts of a slot", nil, 1, 4, []string{"0 100 2 ann", "0 100 2 ann", "0 100 1 ann"}, "0-0-100 0-0-100 100-100-200"},
		{"too wide for all slots", nil, 1, 4, []string{"0 100 5 ann", "0 100 1 bob"}, "-1--1--1 0-0-100"},
		{"preempted, and once more", []string{hour, "MAXJOBRETIREMENTTIME=0"}, 2, 1, []string{"0 4000 1 ann", "0 4000 1 ann", "10 100 1 bob"}, "0-3780-7780 0-0-4000 3660-3660-3760"},
		{"preempted when its retirement time is over", []string{hour, "MAXJOBRETIREMENTTIME=3700", "MACHINE_MAX_VACATE_TIME=0"}, 2, 1, []string{"0 4000 1 ann", "0 4000 1 ann", "10 100 1 bob"}, "0-3840-7840 0-0-4000 3700-3700-3800"},
		{"told in time to take a minute over it", []string{hour, "MAXJOBRETIREMENTTIME=3700", "MACHINE_MAX_VACATE_TIME=60"}, 2, 1, []string{"0 4000 1 ann", "0 4000 1 ann", "10 100 1 bob"}, "0-3780-7780 0-0-4000 3660-3660-3760"},
		{"done before that", []string{hour, "MAXJOBRETIREMENTTIME=36000"}, 2, 1, []string{"0 4000 1 ann", "0 5000 1 ann", "10 100 1 bob"}, "0-0-4000 0-0-5000 4000-4000-4100"},
	} {
		if got := starts(run(t, jobs(t, c.jobs...), configured(t, c.settings...), c.slots, c.cores)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestFirstComeFirstServed holds that one user's jobs start as by the exact recursion: those that wait start in
// the order of their submission, at cycles.
func TestFirstComeFirstServed(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		slots := 1 + draw.IntN(5)
		w := random(t, draw, 60, 1, 1)
		r := run(t, w, configured(t, "CLAIM_WORKLIFE=0"), slots, 1)
		free := make([]int64, slots) // from when on
		for i, j := range w.Jobs {
			slices.Sort(free)
			at := (max(free[0], j.Submit) + 59) / 60 * 60
			if free[0] = at + j.Run; r.Fates[i].Start != at {
				t.Fatalf("job %s of %d slots starts at %d, want %d", j.Name, slots, r.Fates[i].Start, at)
			}
		}
	}
}

// TestMeasure holds each measure to a case that is worked out by hand. Cycles are at 0, 60, 120 and so on; a slot goes on
// with its user's next job at once.
func TestMeasure(t *testing.T) {
	w := jobs(t, "0 100 1 ann", "0 5 1 ann", "60 60 1 bob", "120 20 2 bob")
	r := run(t, w, configured(t), 1, 1)
	// ann's first runs from 0 to 100; as bob waits, hers does not go on; bob's runs from 120 to 180, and ann's second from 180 to 185, as a cycle
	// is then; the last never starts.
	if got := starts(r); got != "0-0-100 180-180-185 120-120-180 -1--1--1" {
		t.Fatalf("jobs started at %s", got)
	}
	m, users := Measure(w, r)
	want := Measures{
		Jobs: 4, NotStarted: 1,
		Wait:        Spread{80, 60, 180, 180, 180},           // 0, 180, 60
		Slowdown:    Spread{21.5 / 3, 2, 18.5, 18.5, 18.5},   // 100/100, 185/10, 120/60
		UserWait:    Spread{75, 60, 90, 90, 90},              // (0+180)/2, 60
		Utilisation: 100.0 / 120,                             // up to 120, the last submission
		Loss:        20.0 / 120,                              // from 100 to 120
		ShareError:  0.25,                                    // from 60 to 120 ann has 1, and each is entitled to half
		Jain:        11.75 * 11.75 / (2 * (9.75*9.75 + 2*2)), // slowdowns 9.75 and 2
		WaitPerRun:  240.0 / 165, Cycles: m.Cycles,
	}
	if !near(m, want) {
		t.Errorf("measures are\n%+v, want\n%+v", m, want)
	}
	if len(users) != 2 || users[0].Name != "ann" || users[0].Jobs != 2 || users[0].Wait != 90 || users[0].Slowdown != 9.75 || math.Abs(users[0].CoreHours-105.0/3600) > 1e-9 ||
		users[1].Name != "bob" || users[1].Jobs != 2 || users[1].Wait != 60 || users[1].Slowdown != 2 {
		t.Errorf("users are %+v", users)
	}
}

// TestSurplus goes on with the case of TestMeasure, with equal priorities all along. At 60 ann has the slot and bob lacks his half; at 120
// it is the reverse; at 180 ann has it again; at 240 ann is gone, and bob lacks all of the slot. Each counts for a minute.
func TestSurplus(t *testing.T) {
	w := jobs(t, "0 100 1 ann", "0 5 1 ann", "60 60 1 bob", "120 20 2 bob")
	_, users := Measure(w, run(t, w, configured(t), 1, 1))
	for i, want := range []float64{30, -90} {
		if got := users[i].Surplus * 3600; math.Abs(got-want) > 0.2 {
			t.Errorf("the surplus of %s is %.3f core seconds, want %v", users[i].Name, got, want)
		}
	}
}

// TestStarved has one slot on which jobs follow each other. The second waits for exactly a day, which is not more than one; the third longer.
func TestStarved(t *testing.T) {
	w := jobs(t, "0 86400 1 ann", "0 10 1 ann", "0 10 1 ann")
	r := run(t, w, configured(t, "CLAIM_WORKLIFE=1000000"), 1, 1)
	if got := starts(r); got != "0-0-86400 86400-86400-86410 86410-86410-86420" {
		t.Fatalf("jobs started at %s", got)
	}
	if m, _ := Measure(w, r); m.Starved != 1 {
		t.Errorf("%d jobs waited more than a day, want 1", m.Starved)
	}
}

// TestDependentArrivals has ann wait for two jobs, and submit another one 40 s after the second: in a pool with one slot, in which that ends
// 100 s later, the third comes 100 s later. What follows a job that never starts is never submitted.
func TestDependentArrivals(t *testing.T) {
	text := "job,submit,run,cores,user,wait\n1,0,100,1,ann,0\n2,0,100,1,ann,0\n3,140,10,1,ann,0\n4,0,100,9,bob,0\n5,160,10,1,bob,0\n"
	w, err := workload.Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, following, err := w.Dependent()
	if err != nil || following != 2 {
		t.Fatalf("%d jobs follow others, %v", following, err)
	}
	r := run(t, d, configured(t), 1, 1)
	if got := starts(r); got != "0-0-100 100-100-200 -1--1--1 240-240-250 -1--1--1" || r.Fates[3].Submit != 240 || r.Fates[4].Submit != -1 {
		t.Errorf("jobs started at %s: %+v", got, r.Fates)
	}
	m, _ := Measure(d, r)
	if m.NotStarted != 2 || m.Wait.Max != 100 || math.Abs(m.Utilisation-200.0/240) > 1e-9 {
		t.Errorf("measures are %+v", m)
	}
}

// TestEvents has a ceiling of no slots for a user be lifted, first by an edit, then by the end of its lease, when no job comes any more.
func TestEvents(t *testing.T) {
	w := jobs(t, "0 10 1 ann", "0 10 1 bob")
	for name, until := range map[string]time.Time{"edit": {}, "lease": w.Start.Add(1000 * time.Second)} {
		cfg, s := configured(t), spool.InMemory("pool")
		ceiling := func(at int64, limit int64) Event {
			now := w.Start.Add(time.Duration(at) * time.Second)
			before := accountant.Entry{Record: accountant.Record{Name: "bob@pool"}}
			after := before
			after.There, after.Ceiling = true, accountant.LimitOf(limit)
			if limit == 0 {
				after.CeilingLease = accountant.Lease{Until: until, Before: -1}
			} else {
				before = accountant.Entry{Record: accountant.Record{Name: "bob@pool", Ceiling: accountant.LimitOf(0)}, There: true}
			}
			return Edit(accountant.Edit{At: now, Before: before, After: after}, w.Start, cfg.Params)
		}
		events := []Event{ceiling(0, 0), ceiling(1000, -1)}
		if !until.IsZero() {
			events = events[:1]
		}
		ads, err := Slots(2, 1)
		if err == nil {
			err = Put(s, ads, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(w, Settings{Config: cfg, Spool: s, Interval: time.Minute, Events: events})
		if err != nil {
			t.Fatal(err)
		}
		if got := starts(r); got != "0-0-10 1020-1020-1030" {
			t.Errorf("%s: jobs started at %s", name, got)
		}
	}
}

// near reports whether measures are equal but for the ends of their numbers.
func near(a, b Measures) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		switch f, g := x.Field(i), y.Field(i); f.Kind() {
		case reflect.Float64:
			if math.Abs(f.Float()-g.Float()) > 0.02 {
				return false
			}
		case reflect.Struct:
			for k := range f.NumField() {
				if math.Abs(f.Field(k).Float()-g.Field(k).Float()) > 1e-9 {
					return false
				}
			}
		default:
			if f.Int() != g.Int() {
				return false
			}
		}
	}
	return true
}

func TestWastedAndOvertaken(t *testing.T) {
	w := jobs(t, "0 4000 1 ann", "0 4000 1 ann", "10 100 1 bob")
	m, _ := Measure(w, run(t, w, configured(t, "MAXJOBRETIREMENTTIME=0"), 2, 1))
	if want := 3660.0 / (3660 + 8100); math.Abs(m.Wasted-want) > 1e-9 {
		t.Errorf("wasted %v, want %v", m.Wasted, want)
	}
	w = jobs(t, "0 10 1 ann", "5 10 1 ann", "5 10 1 ann", "9 10 1 ann")
	r := &Result{Fates: []Fate{{First: 30}, {Submit: 5, First: 20}, {Submit: 5, First: 25}, {Submit: 9, First: 22}}}
	if got := overtaken(w, r); got != 0.5 { // the first by all, the third by the last
		t.Errorf("overtaken %v, want 0.5", got)
	}
}

func TestWide(t *testing.T) {
	w := jobs(t, "0 10 1 ann", "1 10 3 ann", "2 10 5 ann")
	for how, want := range map[Wide]string{Cores: "1:1 2:3, 1", Split: "1:1 2/1:1 2/2:1 2/3:1 3/1:1 3/2:1 3/3:1 3/4:1 3/5:1, 2", Drop: "1:1, 2"} {
		changed, n := how.Apply(w, 4)
		var list []string
		for _, j := range changed.Jobs {
			list = append(list, fmt.Sprintf("%s:%d", j.Name, j.Cores))
		}
		if got := fmt.Sprintf("%s, %d", strings.Join(list, " "), n); got != want {
			t.Errorf("-wide %s: %s, want %s", how, got, want)
		}
	}
}

func TestToldEnds(t *testing.T) {
	w := random(t, rand.New(rand.NewPCG(5, 6)), 2000, 3, 1)
	s := spool.InMemory("pool")
	ads, err := Slots(200, 1)
	if err == nil {
		err = Put(s, ads, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := fmt.Errorf("stop")
	if _, err := Run(w, Settings{Config: configured(t), Spool: s, Interval: time.Minute, Told: func(ended, all int) error {
		if ended < 100 || all != 2000 {
			t.Errorf("told of %d of %d", ended, all)
		}
		return stop
	}}); err != stop {
		t.Errorf("it ends with %v", err)
	}
}

// BenchmarkRun is the time of 2,000 jobs of an hour on 100 slots, of which half wait on average.
func BenchmarkRun(b *testing.B) {
	w, cfg := random(b, rand.New(rand.NewPCG(7, 8)), 2000, 20, 1), configured(b)
	for b.Loop() {
		if _, err := runIn(w, cfg, spool.InMemory("pool"), 100, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(w.Jobs)), "µs/job")
}
