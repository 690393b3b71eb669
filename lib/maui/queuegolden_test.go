package maui_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	policy "fairspool/lib/policy/maui"
	"fairspool/lib/pool"
)

// TestGoldenQueue asks for the order of the jobs of each observed case. Priorities, what is
// considered and in which order must be as Maui 3.3.1 had it.
func TestGoldenQueue(t *testing.T) { eachGolden(t, compareGoldenQueue) }

func compareGoldenQueue(t *testing.T, file string, g *goldenCase) {
	cfg, _ := policy.Parse("maui.cfg", []byte(g.MauiCfg), true)
	held := map[string]bool{}
	for _, j := range g.Jobs {
		held[j.ID] = j.held()
	}
	w, ids := g.waiting(t)
	o := maui.NewQueue(&cfg, g.world(t, &cfg)).Order(w)

	start := map[string]float64{}
	var order []string
	for _, p := range o.Places {
		order = append(order, ids[p.Run])
		start[ids[p.Run]] = p.Priority
	}
	for _, b := range o.Blocked {
		start[ids[b.Run]] = b.Priority
	}
	agree, all := 0, 0
	for _, e := range g.Expected {
		if held[e.Job] {
			continue
		}
		all++
		if got, there := start[e.Job]; !there || got != float64(e.Start) {
			t.Errorf("%s: start priority of %s = %v, want %d", g.Name, e.Job, got, e.Start)
		} else {
			agree++
		}
	}
	if want, told := g.listed(); told {
		all++
		if slices.Equal(order, want) {
			agree++
		} else {
			t.Errorf("%s: considered are %v, want %v; blocked are %+v", g.Name, order, want, o.Blocked)
		}
	}
	t.Logf("queue of maui/%s: %d of %d agree", file, agree, all)
}

// waiting returns the idle jobs, in the order in which they were reported, and their names;
// held ones apart. Jobs were submitted when their queue time says, which is some seconds off
// where the clock moved; but for one that had no queue time: that is for the queue to find.
func (g *goldenCase) waiting(t *testing.T) (w jobprio.Waiting, ids []string) {
	system := g.systemPriorities(t)
	waited := map[string]int64{}
	for _, e := range g.Expected {
		waited[e.Job] = e.Waited
	}
	for i, j := range g.Jobs {
		ad := classad.New()
		for name, value := range map[string]string{"Owner": j.User, "UnixGroup": j.Group, "AcctGroup": j.Account, "QOS": j.QOSRequested, "Class": j.Class} {
			if value != "" {
				ad.SetString(name, value)
			}
		}
		submitted := j.QueueTime
		if s := waited[j.ID]; s > 0 {
			submitted = g.Now - s
		}
		ad.SetInt("QDate", submitted)
		ad.SetInt("WallTimeLimit", j.WCLimit)
		if j.Tasks > 0 {
			ad.SetString("ParallelSlots", fmt.Sprintf("%d-%d", j.Tasks, j.Tasks))
		}
		ad.SetReal("RequestMemory", j.Mem)
		ad.SetReal("RequestSwap", j.Swap)
		ad.SetReal("RequestDisk", j.Disk*1024)
		if j.Nodes > 0 {
			ad.SetInt("RequestNodes", j.Nodes)
		}
		if s := system[j.ID]; s > 0 {
			ad.SetInt("SystemPriority", s)
		}
		run := jobprio.Run{Procs: pool.Procs{Cluster: i + 1, First: 0, Last: 0}, Submitter: strings.ToLower(j.User) + "@x", Ad: ad}
		if j.held() {
			ad.SetInt("JobStatus", int64(pool.Held))
			w.Held = append(w.Held, run)
			continue
		}
		w.Idle, ids = append(w.Idle, run), append(ids, j.ID)
	}
	return w, ids
}
