package maui_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/internal/golden"
	"fairspool/lib/maui"
	policy "fairspool/lib/policy/maui"
	"fairspool/lib/pool"
)

// goldenCase is what Maui 3.3.1 was seen to do.
type goldenCase struct {
	Name           string            `json:"name"`
	MauiCfg        string            `json:"maui_cfg"`
	Now            int64             `json:"now"`
	Machine        goldenMachine     `json:"machine"`
	FairShareFiles map[string]string `json:"fairshare_files"`
	Commands       []string          `json:"commands"`
	Jobs           []goldenJob       `json:"jobs"`
	Expected       []goldenExpected  `json:"expected"`
	Output         map[string]string `json:"output"`
}

type goldenMachine struct {
	Nodes int     `json:"nodes"`
	Procs float64 `json:"procs_per_node"`
	Mem   float64 `json:"mem_mb_per_node"`
	Swap  float64 `json:"swap_mb_per_node"`
	Disk  float64 `json:"disk_mb_per_node"`
}

type goldenJob struct {
	ID           string  `json:"id"`
	State        string  `json:"state"` // Idle if it is left out
	User         string  `json:"user"`
	Group        string  `json:"group"`
	Account      string  `json:"account"`
	Class        string  `json:"class"`
	QOSRequested string  `json:"qos_requested"`
	QueueTime    int64   `json:"queue_time"`
	WCLimit      int64   `json:"wclimit"`
	Tasks        int64   `json:"tasks"`
	Nodes        int64   `json:"nodes"`
	Mem          float64 `json:"mem_per_task"`
	Swap         float64 `json:"swap_per_task"`
	Disk         float64 `json:"disk_per_task"`
}

type goldenExpected struct {
	Job        string                `json:"job"`
	Priority   float64               `json:"priority"`
	Start      int64                 `json:"start_priority"`
	Raw        float64               `json:"raw_priority"`
	Waited     int64                 `json:"effective_queue_seconds"`
	Components map[string]goldenPart `json:"components"`
}

type goldenPart struct {
	Weight       int64                 `json:"weight"`
	Factor       float64               `json:"factor"`
	Contribution *float64              `json:"contribution"`
	Sub          map[string]goldenPart `json:"sub"`
}

// eachGolden runs a test for each of the observed cases.
func eachGolden(t *testing.T, test func(t *testing.T, file string, g *goldenCase)) {
	golden.Each(t, "maui", "*.json", test)
}

// TestGoldenMaui compares priorities, and all that they come from, with those of Maui 3.3.1.
func TestGoldenMaui(t *testing.T) { eachGolden(t, compareGolden) }

func compareGolden(t *testing.T, file string, g *goldenCase) {
	cfg, _ := policy.Parse("maui.cfg", []byte(g.MauiCfg), true)
	r := maui.NewReckoner(&cfg, g.world(t, &cfg))
	jobs := g.jobs(t)
	agree, all := 0, 0
	check := func(ok bool, format string, args ...any) {
		t.Helper()
		all++
		if ok {
			agree++
		} else {
			t.Errorf(format, args...)
		}
	}
	for i, e := range g.Expected {
		p := r.Of(&jobs[i])
		check(near(p.Value, e.Priority), "%s: priority of %s = %v, want %v", g.Name, e.Job, p.Value, e.Priority)
		check(near(p.Raw, e.Raw), "%s: raw priority of %s = %v, want %v", g.Name, e.Job, p.Raw, e.Raw)
		check(p.Start == e.Start, "%s: start priority of %s = %d, want %d", g.Name, e.Job, p.Start, e.Start)
		for c := range maui.Components {
			want := e.Components[c.String()]
			if _, told := e.Components[c.String()]; !told {
				want.Weight = p.Parts[c].Weight // components that add nothing are left out
			}
			check(same(p.Parts[c], want), "%s: %v of %s = %+v, want %+v", g.Name, c, e.Job, p.Parts[c], want)
		}
		for s := range maui.Subs {
			if s == maui.UProc || s == maui.UJob {
				continue // shown, and never summed
			}
			want := e.Components[s.Component().String()].Sub[s.String()] // or nothing at all
			if _, told := e.Components[s.Component().String()]; !told {
				continue
			}
			check(same(p.Subs[s], want), "%s: %v of %s = %+v, want %+v", g.Name, s, e.Job, p.Subs[s], want)
		}
	}
	t.Logf("golden maui/%s: %d of %d agree", file, agree, all)
}

// near compares numbers of which ten digits were printed.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-8*max(math.Abs(want), 1e-2)
}

func same(got maui.Part, want goldenPart) bool {
	return got.Weight == want.Weight && near(got.Factor, want.Factor) && (want.Contribution == nil || near(got.Adds(), *want.Contribution))
}

func (g *goldenCase) world(t *testing.T, cfg *maui.Config) maui.World {
	n, now := float64(g.Machine.Nodes), time.Unix(g.Now, 0)
	tallies := map[accountant.Key]*accountant.Tally{}
	for name, text := range g.FairShareFiles {
		start, err := strconv.ParseInt(strings.TrimPrefix(name, "FS."), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		older, interval := cfg.Windows.Start(now).Unix()-start, int64(cfg.Windows.Interval/time.Second)
		age := older / interval
		if older < 0 || older%interval != 0 || age >= accountant.MaxDepth {
			continue // no window begins then, or as the accountant, which keeps no more
		}
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			f := strings.Fields(line)
			if len(f) < 3 {
				continue
			}
			k := accountant.Key{Kind: f[0], Name: f[1]}
			if f[0] == "TOTAL" {
				k = accountant.Key{Kind: accountant.KindTotal, Name: accountant.TotalName}
			}
			seconds, err := strconv.ParseFloat(f[2], 64)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			if tallies[k] == nil {
				tallies[k] = &accountant.Tally{Key: k, At: now, Interval: cfg.Windows.Interval, Windows: make([]accountant.Window, accountant.MaxDepth)}
			}
			used := accountant.Usage{Millis: int64(math.Round(seconds * 1000))}
			tallies[k].Windows[age] = accountant.Window{Dedicated: used, Equivalent: used, Utilized: used}
		}
	}
	var list []accountant.Tally
	for _, y := range tallies {
		list = append(list, *y)
	}
	return maui.World{Now: now, Used: maui.UsedOf(list, cfg, now),
		Totals: maui.Totals{Procs: n * g.Machine.Procs, Mem: n * g.Machine.Mem, Swap: n * g.Machine.Swap, Disk: n * g.Machine.Disk}}
}

// jobs returns the jobs of Expected, and brings Jobs into that order. They are numbered in
// the order in which they were reported. The queue time that counted is told of each; where
// the clock moved, it is some seconds off that since the submission.
func (g *goldenCase) jobs(t *testing.T) (jobs []maui.Job) {
	system := g.systemPriorities(t)
	var reported []goldenJob
	for _, e := range g.Expected {
		i := slices.IndexFunc(g.Jobs, func(j goldenJob) bool { return j.ID == e.Job })
		if i < 0 {
			t.Fatalf("%s: no job %s", g.Name, e.Job)
		}
		j := g.Jobs[i]
		reported = append(reported, j)
		jobs = append(jobs, maui.Job{ID: pool.JobID{Cluster: i + 1}, User: j.User, Group: j.Group, Account: j.Account, QOS: j.QOSRequested, Class: j.Class,
			Submitted: g.Now - e.Waited, Since: g.Now - e.Waited, WCLimit: j.WCLimit, Tasks: j.Tasks, ProcsPerTask: 1, Nodes: j.Nodes,
			MemPerTask: j.Mem, SwapPerTask: j.Swap, DiskPerTask: j.Disk, System: system[j.ID]})
	}
	g.Jobs = reported
	return jobs
}

// systemPriorities follows setspri, which refuses what is out of range.
func (g *goldenCase) systemPriorities(t *testing.T) map[string]int64 {
	set := map[string]int64{}
	for _, c := range g.Commands {
		f := strings.Fields(c)
		if len(f) < 3 || f[0] != "setspri" {
			continue // nothing else changes priorities
		}
		n, err := strconv.ParseInt(f[len(f)-2], 10, 64)
		switch relative := f[1] == "-r"; {
		case err != nil:
			t.Fatalf("%s: %q: %v", g.Name, c, err)
		case relative && n >= 0:
			set[f[3]] = 2e9 + n
		case !relative && n >= 0 && n <= 1000:
			set[f[2]] = n
		}
	}
	return set
}

// held reports whether the resource manager holds the job. Deferred is what Maui makes of a
// job itself, as of one that asks for a QOS to which it has no access.
func (j *goldenJob) held() bool {
	return j.State != "" && j.State != "Idle" && j.State != "Deferred"
}

// listed returns the jobs that diagnose -p lists, in its order, if that was asked for.
func (g *goldenCase) listed() (ids []string, told bool) {
	text, told := g.Output["diagnose -p"]
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && slices.ContainsFunc(g.Jobs, func(j goldenJob) bool { return j.ID == f[0] }) {
			ids = append(ids, f[0])
		}
	}
	return ids, told
}

// TestGoldenReads says what is made of cases that have more or less in them than the others.
func TestGoldenReads(t *testing.T) {
	g := goldenCase{Now: 999999996, FairShareFiles: map[string]string{
		"FS.999993600": "# who what\nuser u1 10 # so much\nUser u2 20\nTOTAL x 30#\n",
		"FS.999993700": "user u1 10\nTOTAL x 100\n", // begins within a window
		"FS.999993601": "user u1 10\nTOTAL x 100\n",
		"FS.999999999": "user u1 10\nTOTAL x 100\n",
	}, Jobs: []goldenJob{{ID: "a"}, {ID: "h", State: "Hold"}, {ID: "d", State: "Deferred"}}, Expected: []goldenExpected{{Job: "a", Waited: 60}, {Job: "d"}}}
	cfg, _ := policy.Parse("maui.cfg", []byte("FSPOLICY DEDICATEDPS\n"), true)
	if used := g.world(t, &cfg).Used; used.Total != 30 || used.Of[maui.User]["u1"] != 10 || used.Of[maui.User]["u2"] != 0 {
		t.Errorf("used %+v, want 30, of that 10 of u1's", used)
	}
	if w, ids := g.waiting(t); len(w.Held) != 1 || !slices.Equal(ids, []string{"a", "d"}) {
		t.Errorf("idle %v and %d held, want a and d, and one held", ids, len(w.Held))
	}
	if _, told := g.listed(); told {
		t.Errorf("diagnose -p was asked for, want it not to be")
	}
	for _, other := range []struct {
		line string
		want bool
	}{{"a1 13 100.0( 13.3)", true}, {"a1 14 100.0( 9.3)", false}, {"a2 13 100.0( 13.2)", false}, {"a1 13 100.0( 13.2: 0.0)", false}} {
		if got := alike("a1   13 100.0( 13.2)", other.line); got != other.want {
			t.Errorf("alike %q: %v", other.line, got)
		}
	}
}
