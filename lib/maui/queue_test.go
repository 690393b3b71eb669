package maui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

var (
	queueNow   = time.Unix(1_000_000_000, 0).UTC()
	queueWorld = World{Now: queueNow, Totals: Totals{Procs: 32, Mem: 32768, Swap: 65536, Disk: 80000}}
)

func bound(soft, hard float64) Bound { return Bound{Set: true, Soft: soft, Hard: hard} }

// minutesAgo is the attributes of a user's job that was submitted so many minutes ago, one of
// the group g with an hour to run.
func minutesAgo(user string, minutes int) string {
	return fmt.Sprintf("Owner = %q; UnixGroup = \"g\"; WallTimeLimit = 3600; QDate = %d; ", user, queueNow.Unix()-60*int64(minutes))
}

// runOf returns count procs of a cluster, from 0 on.
func runOf(t testing.TB, cluster, count int, attributes string) jobprio.Run {
	t.Helper()
	ad, err := classad.ParseAd("[" + attributes + "]")
	if err != nil {
		t.Fatalf("%s: %v", attributes, err)
	}
	owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
	return jobprio.Run{Procs: pool.Procs{Cluster: cluster, First: 0, Last: count - 1}, Submitter: owner + "@x", Ad: ad}
}

// told writes an order in lines: places with their priorities, blocked jobs, clocks.
func told(w jobprio.Waiting, o jobprio.Order) string {
	var lines []string
	for _, p := range o.Places {
		lines = append(lines, fmt.Sprintf("%s %v", p.Procs, p.Priority))
	}
	for _, b := range o.Blocked {
		lines = append(lines, fmt.Sprintf("%s %v: %s", b.Procs, b.Priority, b.Why))
	}
	for _, c := range o.Clocks {
		of := ""
		if c.Held {
			of = "held "
		}
		since := "stands"
		if c.Since != 0 {
			since = fmt.Sprintf("since %d min", (queueNow.Unix()-c.Since)/60)
		}
		lines = append(lines, of+c.Procs.String()+" "+since)
	}
	return strings.Join(lines, "\n")
}

// compareOrder asks for an order and compares what is told of it.
func compareOrder(t *testing.T, name string, c Config, w jobprio.Waiting, want ...string) {
	t.Helper()
	if got := told(w, NewQueue(&c, queueWorld).Order(w)); got != strings.Join(want, "\n") {
		t.Errorf("%s: Order() =\n%s\nwant\n%s", name, got, strings.Join(want, "\n"))
	}
}

func TestOrderByPriority(t *testing.T) {
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 5, 3, minutesAgo("ann", 10)),
		runOf(t, 2, 1, minutesAgo("bob", 20)),
		runOf(t, 3, 2, minutesAgo("ann", 10)),
		runOf(t, 4, 1, minutesAgo("cid", 30)+"SystemPriority = 2000000100"),
		runOf(t, 1, 1, minutesAgo("cid", 1)+"SystemPriority = 7"),
	}}
	compareOrder(t, "minutes of queue time", Default(), w, "1.0 1.000000007e+09", "4.0 130", "2.0 20", "3.0-1 10", "5.0-2 10")
}

func TestOrderTellsOfPlaces(t *testing.T) {
	c := Default()
	c.Credentials[User] = map[string]Credential{"ann": {QDef: "gold"}}
	w := jobprio.Waiting{Idle: []jobprio.Run{
		runOf(t, 1, 2, minutesAgo("ann", 10)+"RequestMemory = 3000; ParallelSlots = 2"),
		runOf(t, 2, 1, minutesAgo("bob", 5)),
	}}
	o := NewQueue(&c, queueWorld).Order(w)
	want := []jobprio.Place{
		{Part: jobprio.Part{Run: 0, Procs: w.Idle[0].Procs}, Priority: 10, QOS: "gold", PE: 5.859375},
		{Part: jobprio.Part{Run: 1, Procs: w.Idle[1].Procs}, Priority: 5, QOS: "DEFAULT", PE: 1},
	}
	if !slices.Equal(o.Places, want) || o.Limits != nil || o.CountPassed {
		t.Errorf("Order() = %+v, want places %+v and nothing else", o, want)
	}
	c.Subs[Bypass].Weight = 1
	if o := NewQueue(&c, queueWorld).Order(w); !o.CountPassed {
		t.Errorf("with BYPASSWEIGHT 1: CountPassed = false")
	}
}

func TestJobPrioExchangesPlacesOfOneSubmitter(t *testing.T) {
	prio := func(user string, n int) string { return fmt.Sprintf("%s JobPrio = %d", minutesAgo(user, 10), n) }
	for _, c := range []struct {
		name string
		idle []jobprio.Run
		want []string
	}{
		{"single jobs", []jobprio.Run{runOf(t, 1, 1, prio("ann", 0)), runOf(t, 2, 1, prio("bob", 0)), runOf(t, 3, 1, prio("ann", 5)), runOf(t, 4, 1, prio("ann", -1))},
			[]string{"3.0 10", "2.0 10", "1.0 10", "4.0 10"}},
		{"a run is parted", []jobprio.Run{runOf(t, 1, 3, prio("ann", 0)), runOf(t, 2, 1, prio("bob", 0)), runOf(t, 3, 2, prio("ann", 5))},
			[]string{"3.0-1 10", "1.0 10", "2.0 10", "1.1-2 10"}},
		{"and stays together where it can", []jobprio.Run{runOf(t, 1, 3, prio("ann", 0)), runOf(t, 3, 2, prio("ann", 5))},
			[]string{"3.0-1 10", "1.0-2 10"}},
		{"others' JobPrio means nothing", []jobprio.Run{runOf(t, 1, 1, prio("ann", 0)), runOf(t, 2, 1, prio("bob", 100))}, []string{"1.0 10", "2.0 10"}},
		{"nor does it above the priority", []jobprio.Run{runOf(t, 1, 1, prio("ann", 0)), runOf(t, 2, 1, minutesAgo("ann", 9)+"JobPrio = 100")}, []string{"1.0 10", "2.0 9"}},
	} {
		compareOrder(t, c.name, Default(), jobprio.Waiting{Idle: c.idle}, c.want...)
	}
}

func lines(want []string) string { return strings.Join(want, "\n") }

// A user's jobs under another submitter's name, such as nice ones, take no place of others of
// theirs.
func TestJobPrioBySubmitter(t *testing.T) {
	c := Default()
	idle := []jobprio.Run{
		runOf(t, 1, 1, `Owner = "ann"; QDate = 0`), runOf(t, 2, 1, `Owner = "bob"; QDate = 0`), runOf(t, 3, 1, `Owner = "ann"; QDate = 0; JobPrio = 5`),
		runOf(t, 4, 1, `Owner = "ann"; QDate = 0; JobPrio = 50`),
	}
	idle[3].Submitter = "nice-user.ann@x"
	o := NewQueue(&c, World{Now: time.Unix(600, 0)}).Order(jobprio.Waiting{Idle: idle})
	var got []int
	for _, p := range o.Places {
		got = append(got, idle[p.Run].Cluster)
	}
	if want := []int{3, 2, 1, 4}; !slices.Equal(got, want) {
		t.Errorf("Order = %v, want %v", got, want)
	}
}
