package cycle

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

func TestCompare(t *testing.T) {
	match := func(cluster, proc int, slot string) negotiator.Match {
		return negotiator.Match{Job: pool.JobID{Cluster: cluster, Proc: proc}, Submitter: "alice@pool", Slot: slot, Reason: negotiator.NoPreemption}
	}
	no := func(reason string, jobs ...pool.Procs) negotiator.Rejection {
		return negotiator.Rejection{Jobs: jobs, Submitter: "alice@pool", Reason: reason}
	}
	kept := func(slot string, r negotiator.Reserved) negotiator.Reserved {
		r.Reservation = pool.Reservation{Slot: slot, Job: pool.JobID{Cluster: 3}, Submitter: "alice@pool"}
		return r
	}
	a := &negotiator.Plan{
		Reservations: []negotiator.Reserved{kept("s6", negotiator.Reserved{}), kept("s7", negotiator.Reserved{}), kept("s8", negotiator.Reserved{GivenUp: true})},
		Submitters:   []negotiator.Share{{Name: "alice@pool", PieSlice: 2, Matched: 3}, {Name: "bob@pool"}, {Name: "carol@pool"}},
		Groups:       []negotiator.Group{{Name: "physics", ConfigQuota: 2, EffectiveQuota: 2, Used: 1, Usage: 1, Requested: 4}, {Name: "chem"}},
		Matches:      []negotiator.Match{match(2, 0, "s3"), match(1, 1, "s2"), match(1, 0, "s1")},
		Rejections:   []negotiator.Rejection{no("full", pool.Procs{Cluster: 1, First: 2, Last: 9}), no("none", pool.Procs{Cluster: 3, First: 0, Last: 4})},
	}
	b := &negotiator.Plan{
		Reservations: []negotiator.Reserved{kept("s6", negotiator.Reserved{}), kept("s8", negotiator.Reserved{Lacks: "Cpus 1 of 8"})},
		Submitters:   []negotiator.Share{{Name: "dave@pool"}, {Name: "carol@pool"}, {Name: "alice@pool", PieSlice: 2 + 1e-12, Matched: 4}},
		Groups:       []negotiator.Group{{Name: "physics", ConfigQuota: 3, EffectiveQuota: 3, Used: 4, Surplus: 1, Usage: 1, Requested: 4}, {Name: "chem"}},
		Matches:      []negotiator.Match{match(1, 0, "s1"), match(1, 1, "s4"), match(1, 4, "s5"), match(1, 5, "s6")},
		Rejections: []negotiator.Rejection{
			no("full", pool.Procs{Cluster: 1, First: 2, Last: 3}), no("limit", pool.Procs{Cluster: 1, First: 6, Last: 9}, pool.Procs{Cluster: 2, First: 0, Last: 0}),
			no("none", pool.Procs{Cluster: 3, First: 0, Last: 4}),
		},
	}
	want := Difference{
		Submitters: []ChangedSubmitter{
			{"dave@pool", nil, &Figures{}},
			{"alice@pool", &Figures{PieSlice: 2, Matched: 3}, &Figures{PieSlice: 2, Matched: 4}},
			{"bob@pool", &Figures{}, nil},
		},
		Groups: []ChangedGroup{{"physics", &Quotas{ConfigQuota: 2, EffectiveQuota: 2, Used: 1, Demand: 3}, &Quotas{ConfigQuota: 3, EffectiveQuota: 3, Used: 4, Surplus: 1, Demand: 3}}},
		Gained: []negotiator.ReportedMatch{
			{Job: "1.4", Submitter: "alice@pool", Slot: "s5", Reason: "NoPreemption"}, {Job: "1.5", Submitter: "alice@pool", Slot: "s6", Reason: "NoPreemption"},
		},
		Lost:      []negotiator.ReportedMatch{{Job: "2.0", Submitter: "alice@pool", Slot: "s3", Reason: "NoPreemption"}},
		Moved:     []Moved{{"1.1", "alice@pool", "s2", "s4"}},
		Preempted: []Evicted{}, Spared: []Evicted{},
		Reserved: []negotiator.ReportedReservation{{Slot: "s8", Job: "3.0", Submitter: "alice@pool", Lacks: "Cpus 1 of 8"}},
		Released: []negotiator.ReportedReservation{{Slot: "s7", Job: "3.0", Submitter: "alice@pool"}},
		Rejections: []ChangedReason{
			{[]pool.Procs{{Cluster: 1, First: 4, Last: 5}}, "alice@pool", "full", ""},
			{[]pool.Procs{{Cluster: 1, First: 6, Last: 9}}, "alice@pool", "full", "limit"},
			{[]pool.Procs{{Cluster: 2, First: 0, Last: 0}}, "alice@pool", "", "limit"},
		},
		Places: []ChangedPlace{},
	}
	if got := Compare(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("compare = %+v\nwant %+v", got, want)
	}
	if got := Compare(a, a); !got.None() {
		t.Errorf("compare with itself = %+v, want nothing", got)
	}
}

// The reasons of each proc are what they are when looked at one by one.
func TestCompareReasons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reasons := func(label string) map[pool.JobID]string {
			return rapid.MapOf(
				rapid.Custom(func(t *rapid.T) pool.JobID {
					return pool.JobID{Cluster: rapid.IntRange(1, 2).Draw(t, "cluster"), Proc: rapid.IntRange(0, 7).Draw(t, "proc")}
				}), rapid.SampledFrom([]string{"x", "y"})).Draw(t, label)
		}
		listed := func(of map[pool.JobID]string) (list []negotiator.Rejection) {
			for _, why := range []string{"x", "y"} {
				r := negotiator.Rejection{Reason: why}
				for id, is := range of {
					if is == why {
						r.Jobs = append(r.Jobs, pool.Only(id))
					}
				}
				r.Jobs = pool.JoinProcs(r.Jobs)
				list = append(list, r)
			}
			return list
		}
		now, then := reasons("now"), reasons("then")
		got, want := map[pool.JobID]string{}, map[pool.JobID]string{}
		for _, x := range compareReasons(listed(now), listed(then)) {
			for _, p := range x.Jobs {
				for proc := p.First; proc <= p.Last; proc++ {
					got[pool.JobID{Cluster: p.Cluster, Proc: proc}] += x.Now + ">" + x.WhatIf
				}
			}
		}
		for cluster := 1; cluster <= 2; cluster++ {
			for proc := range 8 {
				if id := (pool.JobID{Cluster: cluster, Proc: proc}); now[id] != then[id] {
					want[id] = now[id] + ">" + then[id]
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("compareReasons = %v, want %v", got, want)
		}
	})
}

func TestReservations(t *testing.T) {
	r := func(slot string, cluster int) pool.Reservation {
		return pool.Reservation{Slot: slot, Job: pool.JobID{Cluster: cluster}, Submitter: "alice@pool"}
	}
	old := func(r pool.Reservation) bool { return r.Slot == "s5" || r.Slot == "s6" }
	begin, end, over := reservations([]pool.Reservation{r("s10", 1), r("s2", 1), r("s1", 1), r("s5", 2), r("s6", 3)},
		[]negotiator.Reserved{{Reservation: r("s1", 1)}, {Reservation: r("s2", 4), Lacks: "Cpus 5 of 8"}, {Reservation: r("s5", 2), GivenUp: true}}, old)
	for _, c := range []struct{ got, want []string }{
		{begin, []string{"s2 for 4.0 of alice@pool: it has Cpus 5 of 8 requested"}},
		{end, []string{"s2 for 1.0 of alice@pool", "s10 for 1.0 of alice@pool"}},
		{over, []string{"s5 for 2.0 of alice@pool"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("reservations = %q, want %q", c.got, c.want)
		}
	}
}

func TestNamesText(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "s0", 2: "s0, s1", 3: "s0, s1 and 1 more", 9: "s0, s1 and 7 more"} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("s%d", i))
		}
		if got := namesText(names); got != want {
			t.Errorf("namesText(%q) = %q, want %q", names, got, want)
		}
	}
	list := []pool.Procs{{Cluster: 1, First: 0, Last: 4}, {Cluster: 2, First: 7, Last: 7}, {Cluster: 3, First: 0, Last: 9}, {Cluster: 3, First: 11, Last: 11}}
	if got, want := procsText(list), "1.0-4, 2.7 and 11 more"; got != want {
		t.Errorf("procsText(%v) = %q, want %q", list, got, want)
	}
}

// A job that has to go for another one, or another slot, is the same.
func TestCompareEvicted(t *testing.T) {
	evicts := func(job, slot int, victim pool.JobID, outside string) negotiator.Match {
		return negotiator.Match{Job: pool.JobID{Cluster: 1, Proc: job}, Submitter: "alice@pool", Slot: fmt.Sprintf("s%d", slot), Reason: negotiator.PriorityPreemption,
			Preempts: &negotiator.Preempted{Job: victim, Outside: outside, Submitter: "bob@pool", Weight: accountant.One, Ran: time.Hour}}
	}
	a := []negotiator.Match{evicts(0, 1, pool.JobID{Cluster: 7}, ""), evicts(1, 2, pool.JobID{Cluster: 7, Proc: 1}, "")}
	b := []negotiator.Match{evicts(5, 1, pool.JobID{Cluster: 7}, ""), evicts(0, 3, pool.JobID{}, "9.9"), {Job: pool.JobID{Cluster: 1, Proc: 1}, Slot: "s2"}}
	d := Compare(&negotiator.Plan{Matches: a}, &negotiator.Plan{Matches: b})
	if want := []Evicted{{"9.9", "bob@pool", "s3", "1.0", "Priority", 3600}}; !slices.Equal(d.Preempted, want) {
		t.Errorf("compare: Preempted = %+v, want %+v", d.Preempted, want)
	}
	if want := []Evicted{{"7.1", "bob@pool", "s2", "1.1", "Priority", 3600}}; !slices.Equal(d.Spared, want) {
		t.Errorf("compare: Spared = %+v, want %+v", d.Spared, want)
	}
}

func TestWork(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0+00:00:00", 59.6: "0+00:01:00", 93784: "1+02:03:04", 1e300: "11574074074+01:46:40"} {
		if got := work(seconds); got != want {
			t.Errorf("work(%v) = %s, want %s", seconds, got, want)
		}
	}
}

func TestInTreeOrder(t *testing.T) {
	var list []negotiator.Group
	for _, name := range []string{"<none>", "b", "a", "a.x", "b.y", "a.z", "A.x.q.r"} {
		list = append(list, negotiator.Group{Name: name})
	}
	var got []string
	for _, p := range inTreeOrder(list) {
		got = append(got, strings.Repeat(" ", p.depth)+list[p.at].Name)
	}
	if want := "<none>,b, b.y,a, a.x,  A.x.q.r, a.z"; strings.Join(got, ",") != want {
		t.Errorf("inTreeOrder = %s, want %s", strings.Join(got, ","), want)
	}
}

// The places of each proc are what they are when looked at one by one, in whatever stretches
// the cycles have the procs.
func TestComparePlaces(t *testing.T) {
	var ids []pool.JobID
	for i := range 10 {
		ids = append(ids, pool.JobID{Cluster: 1 + i/7, Proc: i % 7})
	}
	rapid.Check(t, func(t *rapid.T) {
		plan := func(label string) (*negotiator.Plan, map[pool.JobID]int) {
			of := map[pool.JobID]int{}
			p := &negotiator.Plan{Policy: "sge"}
			left := rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, len(ids), rapid.ID).Draw(t, label)
			if rapid.Bool().Draw(t, "by job") {
				slices.SortFunc(left, pool.JobID.Compare)
			}
			placed := rapid.IntRange(0, len(left)).Draw(t, "placed")
			for i, id := range left {
				if of[id] = i + 1; i >= placed {
					of[id] = 0
				}
				if n := len(p.Standings); n > 0 && i != placed && rapid.Bool().Draw(t, "joined") {
					if s := &p.Standings[n-1]; s.Cluster == id.Cluster && s.Last+1 == id.Proc {
						s.Last++
						continue
					}
				}
				p.Standings = append(p.Standings, negotiator.Standing{Procs: pool.Only(id), Submitter: "alice@pool", Place: of[id], Priority: 0.5})
			}
			return p, of
		}
		a, now := plan("now")
		b, then := plan("then")
		got, want, last := map[pool.JobID]string{}, map[pool.JobID]string{}, 0
		at := func(s QueuePlace, ahead int) int {
			if s.Place == 0 {
				return 0
			}
			return s.Place + ahead
		}
		for _, x := range comparePlaces(a, b) {
			if place := at(x.WhatIf, 0); place == 0 {
				last = math.MaxInt
			} else if place <= last {
				t.Fatalf("%+v is behind place %d", x, last)
			} else {
				last = place
			}
			for proc := x.Jobs.First; proc <= x.Jobs.Last; proc++ {
				n := proc - x.Jobs.First
				got[pool.JobID{Cluster: x.Jobs.Cluster, Proc: proc}] += fmt.Sprint(at(x.Now, n), ">", at(x.WhatIf, n))
			}
		}
		for id, is := range now {
			if will, waits := then[id]; waits && is != will {
				want[id] = fmt.Sprint(is, ">", will)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("comparePlaces = %v, want %v, of\n%v\n%v", got, want, a.Standings, b.Standings)
		}
		b.Policy = ""
		if got := comparePlaces(a, b); len(got) > 0 {
			t.Fatalf("without one queue after the changes: %v, want nothing", got)
		}
	})
}

func TestTellPlaces(t *testing.T) {
	half, third := 0.5, 1.0/3
	var out bytes.Buffer
	Difference{Places: []ChangedPlace{
		{pool.Procs{Cluster: 2}, "carol@pool", QueuePlace{2, &third}, QueuePlace{1, &half}},
		{pool.Procs{Cluster: 1, First: 2, Last: 5}, "bob@pool", QueuePlace{3, &half}, QueuePlace{12, &third}},
		{pool.Procs{Cluster: 3, First: 0, Last: 1}, "bob@pool", QueuePlace{1, nil}, QueuePlace{0, nil}},
	}}.tellPlaces(&out)
	want := `
7 jobs would have another place in the queue:
  2.0 of carol@pool: 2 (0.33333) -> 1 (0.50000)
  1.2-5 of bob@pool: 3-6 (0.50000) -> 12-15 (0.33333)
  3.0-1 of bob@pool: 1-2 -> no place
`
	if out.String() != want {
		t.Errorf("tellPlaces prints%s\nwant%s", out.String(), want)
	}
	lines := Difference{Places: slices.Repeat([]ChangedPlace{{pool.Procs{Cluster: 2, First: 0, Last: 1}, "carol@pool", QueuePlace{2, nil}, QueuePlace{1, nil}}}, mostLines+2)}
	out.Reset()
	lines.tellPlaces(&out)
	if got := out.String(); strings.Count(got, "carol") != mostLines || !strings.HasSuffix(got, "  and 4 more\n") {
		t.Errorf("tellPlaces prints of %d\n%s", mostLines+2, got)
	}
}

// EUPs that differ are told as different ones.
func TestUnlike(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want string
	}{{0.5, 40, "0.50 40.00"}, {0.5001, 0.5004, "0.5001 0.5004"}, {0.501, 0.509, "0.50 0.51"}, {2, 2, "2.00 2.00"}} {
		if a, b := unlike(c.a, c.b); a+" "+b != c.want {
			t.Errorf("unlike(%v, %v) = %s %s, want %s", c.a, c.b, a, b, c.want)
		}
	}
}

// A table of many matches stays short.
func TestManyMatches(t *testing.T) {
	var plan negotiator.Plan
	var slots []pool.Slot
	ad, err := classad.ParseAd(`[Cpus = 2; Memory = 64]`)
	testenv.OK(t, err)
	for i := range 60 {
		user := fmt.Sprintf("user%02d@pool", i)
		plan.Submitters = append(plan.Submitters, negotiator.Share{Name: user})
		for k := range 200 {
			name := fmt.Sprintf("slot%d@node%d", k, i)
			slots = append(slots, pool.Slot{Name: name, Ad: ad})
			plan.Matches = append(plan.Matches, negotiator.Match{
				Job: pool.JobID{Cluster: i + 1, Proc: 199 - k}, Submitter: user, Slot: name, Weight: 2 * accountant.One,
			})
		}
	}
	slices.Reverse(plan.Matches)
	var out bytes.Buffer
	testenv.OK(t, (Outcome{Now: time.Unix(1795217646, 0), Plan: &plan, Pool: negotiator.Pool{Slots: slots}}).showMatches(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 52 || strings.Join(strings.Fields(lines[1]), " ") != "user00@pool 200 400.00 Cpus=2 Memory=64 1.0-199 slot0@node0, slot1@node0 and 198 more" ||
		lines[51] != "and 10 more lines like these, of 2000 jobs: -json has them all" {
		t.Errorf("%d lines of 60 submitters' matches:\n%s", len(lines), out.String())
	}
}
