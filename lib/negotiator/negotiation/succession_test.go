package negotiation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/accountant"
	"fairspool/lib/jobprio"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
)

// heldBy returns the running claims of a submitter on slots first to last, of jobs of a
// cluster.
func heldBy(cluster int, submitter string, first, last int) (claims []pool.Claim) {
	for n := first; n <= last; n++ {
		claims = append(claims, pool.Claim{
			Job: pool.JobID{Cluster: cluster, Proc: n}, Attempt: 1, Slot: fmt.Sprintf("slot%d", n), Submitter: submitter,
			State: pool.RunningClaim, Weight: accountant.One, MatchedAt: now.Add(-60e9), StartedAt: now.Add(-60e9),
		})
	}
	return claims
}

func using(name string, slots int) accountant.Record {
	r := record(name, 0.5)
	r.ResourcesUsed, r.InUse = slots, accountant.Weight(slots)*accountant.One
	return r
}

func TestSuccession(t *testing.T) {
	const alice, bob, carol = "alice@x", "bob@x", "carol@x"
	tests := []struct {
		name    string
		pool    negotiator.Pool
		queues  string
		shares  string
		waiting string
	}{
		{
			"nobody has a claim",
			negotiator.Pool{Jobs: []jobprio.Run{aJob(t, 1, 5, alice, "RequestCpus = 99")}, Slots: equal(t, 2, "")},
			"[]", "[]", "[]",
		},
		{
			"alone, by priority and autocluster",
			negotiator.Pool{
				Slots: equal(t, 2, ""), Claims: heldBy(1, alice, 1, 2), Submitters: []accountant.Record{using(alice, 2)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 2, alice, "JobPrio = 5"), aJob(t, 4, 1, alice, "RequestMemory = 200")},
			},
			"[{alice@x [3.0-1 2.0-2]} {alice@x [4.0]}]", "[]", "[]",
		},
		{
			"another who has nothing waits for half of it",
			negotiator.Pool{
				Slots: equal(t, 4, ""), Claims: heldBy(1, alice, 1, 4), Submitters: []accountant.Record{using(alice, 4)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 9, bob, "")},
			},
			"[{alice@x [2.0-2]}]", "[{alice@x 2}]", "[{bob@x [3.0] 2}]",
		},
		{
			"what others want is all that is given up",
			negotiator.Pool{
				Slots: equal(t, 4, ""), Claims: heldBy(1, alice, 1, 4), Submitters: []accountant.Record{using(alice, 4)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 1, bob, "")},
			},
			"[{alice@x [2.0-2]}]", "[{alice@x 3}]", "[{bob@x [3.0] 1}]",
		},
		{
			"both have their share",
			negotiator.Pool{
				Slots: equal(t, 4, ""), Claims: slices.Concat(heldBy(1, alice, 1, 2), heldBy(2, bob, 3, 4)),
				Submitters: []accountant.Record{using(alice, 2), using(bob, 2)},
				Jobs:       []jobprio.Run{aJob(t, 3, 3, alice, ""), aJob(t, 4, 3, bob, "")},
			},
			"[{alice@x [3.0-2]} {bob@x [4.0-2]}]", "[]", "[]",
		},
		{
			"no slot would take the job that waits",
			negotiator.Pool{
				Slots: equal(t, 2, ""), Claims: heldBy(1, alice, 1, 2), Submitters: []accountant.Record{using(alice, 2)},
				Jobs: []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 1, bob, "RequestMemory = 5000")},
			},
			"[{alice@x [2.0-2]}]", "[]", "[]",
		},
		{
			"a ceiling keeps the other one from more",
			negotiator.Pool{
				Slots: equal(t, 4, ""), Claims: slices.Concat(heldBy(1, alice, 1, 3), heldBy(2, bob, 4, 4)),
				Submitters: []accountant.Record{using(alice, 3), func() accountant.Record {
					r := using(bob, 1)
					r.Ceiling = accountant.LimitOf(1)
					return r
				}()},
				Jobs: []jobprio.Run{aJob(t, 3, 3, alice, ""), aJob(t, 4, 3, bob, "")},
			},
			"[{alice@x [3.0-2]} {bob@x [4.0-2]}]", "[]", "[]",
		},
		{
			"who has to leave for another gives up no more than that",
			negotiator.Pool{
				Slots: equal(t, 4, "Rank = TARGET.Owner =?= \"carol\""), Claims: heldBy(1, alice, 1, 4),
				Submitters: []accountant.Record{using(alice, 4)},
				Jobs:       []jobprio.Run{aJob(t, 2, 3, alice, ""), aJob(t, 3, 2, carol, `Owner = "carol"`)},
			},
			"[{alice@x [2.0-2]}]", "[]", "[]",
		},
	}
	for _, test := range tests {
		cfg := defaults(t)
		cfg.Preemption.Consider = true
		u := Cycle(test.pool, cfg, now).Succession
		queues := []string{}
		for _, q := range u.Queues {
			queues = append(queues, fmt.Sprintf("{%s %v}", q.Submitter, q.Jobs))
		}
		if got := fmt.Sprint(queues); got != test.queues {
			t.Errorf("%s: queues %s, want %s", test.name, got, test.queues)
		}
		shares, waiting := []string{}, []string{}
		for _, e := range u.Entitled {
			if len(e.Jobs) == 0 {
				shares = append(shares, fmt.Sprintf("{%s %v}", e.Submitter, e.Weight))
			} else {
				waiting = append(waiting, fmt.Sprintf("{%s %v %v}", e.Submitter, e.Jobs, e.Weight))
			}
		}
		if got := fmt.Sprint(shares); got != test.shares {
			t.Errorf("%s: shares %s, want %s", test.name, got, test.shares)
		}
		if got := fmt.Sprint(waiting); got != test.waiting {
			t.Errorf("%s: waiting %s, want %s", test.name, got, test.waiting)
		}
		if want := []string{"concurrencylimits"}; len(u.Queues) > 0 && !slices.Equal(u.Limits, want) {
			t.Errorf("%s: limits look at %v, want %v", test.name, u.Limits, want)
		}
	}
}

// TestSuccessionBounded holds that a pool of many shapes keeps a succession short.
func TestSuccessionBounded(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 1, ""), Claims: heldBy(1, "alice@x", 1, 1), Submitters: []accountant.Record{using("alice@x", 1)}}
	for i := range 3 * mostStretches {
		p.Jobs = append(p.Jobs, aJob(t, i+2, 1, "alice@x", fmt.Sprintf("RequestMemory = %d", i+1)))
	}
	n := 0
	for _, q := range Cycle(p, defaults(t), now).Succession.Queues {
		n += len(q.Jobs)
	}
	if n != mostStretches {
		t.Errorf("%d stretches of jobs in the succession, want %d", n, mostStretches)
	}
}

// byNumber is a policy for one queue in which clusters go by their numbers, but for those that
// it leaves out, with the limits of drawnLimits if there are any.
type byNumber struct {
	out  map[int]string
	most *drawnQueue
}

func (byNumber) Name() string         { return "by number" }
func (byNumber) Attributes() []string { return nil }

func (q byNumber) Order(w jobprio.Waiting) (o jobprio.Order) {
	at := make([]int, len(w.Idle))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int { return w.Idle[a].FirstJob().Compare(w.Idle[b].FirstJob()) })
	for _, i := range at {
		r := w.Idle[i]
		all := jobprio.Part{Run: i, Procs: r.Procs}
		if why := q.out[r.Cluster]; why != "" {
			o.Blocked = append(o.Blocked, jobprio.Blocked{Part: all, Priority: -2, Why: why})
			continue
		}
		o.Places = append(o.Places, jobprio.Place{Part: all, Priority: 100 - float64(r.Cluster), QOS: "normal"})
	}
	if q.most != nil {
		l := &drawnLimits{drawnQueue: *q.most, byUser: map[string]int{}, byNoise: map[int]int{}}
		for _, r := range w.Running {
			l.byUser[r.Submitter]++
			l.byNoise[noiseOf(r.Run)]++
		}
		o.Limits = l
	}
	return o
}

// config returns a configuration with that policy.
func (q byNumber) config(t testing.TB) negotiator.Config {
	cfg := defaults(t)
	cfg.Queue = q
	return cfg
}

// successorsOf returns the queues of a succession, and what stands with them.
func successorsOf(u negotiator.Succession) (list []string) {
	for _, q := range u.Queues {
		text := fmt.Sprint(q.Submitter, " ", q.Jobs, " ", q.Places)
		if q.Takes {
			text += " takes"
		}
		if q.Limit != "" {
			text += " limit " + q.Limit
		}
		list = append(list, text)
	}
	return list
}

func TestSuccessionInOneQueue(t *testing.T) {
	const alice, bob = "alice@x", "bob@x"
	two := drawnQueue{user: [2]int{2, 2}, noise: [2]int{99, 99}}
	for _, test := range []struct {
		name string
		q    byNumber
		jobs []jobprio.Run
		want []string
	}{
		{"all who wait, by their turns", byNumber{}, []jobprio.Run{aJob(t, 5, 3, alice, ""), aJob(t, 4, 2, bob, ""), aJob(t, 3, 1, alice, "RequestMemory = 5")},
			[]string{"alice@x [3.0] [1] takes", "bob@x [4.0-1] [2] takes", "alice@x [5.0-2] [4] takes"}},
		{"jobs between are jobs between", byNumber{}, []jobprio.Run{aJob(t, 3, 2, alice, ""), aJob(t, 4, 2, bob, ""), aJob(t, 5, 1, alice, "")},
			[]string{"alice@x [3.0-1 5.0] [1 5] takes", "bob@x [4.0-1] [3] takes"}},
		{"who is left out takes nothing, and follows nothing", byNumber{out: map[int]string{3: "why", 4: "why"}},
			[]jobprio.Run{aJob(t, 3, 2, alice, ""), aJob(t, 4, 2, bob, ""), aJob(t, 5, 1, alice, "")}, []string{"alice@x [5.0] [1] takes"}},
		{"a limit lets it follow its own, and who no slot takes is not there", byNumber{most: &two},
			[]jobprio.Run{aJob(t, 3, 2, alice, ""), aJob(t, 4, 2, bob, "RequestMemory = 9999"), aJob(t, 5, 2, bob, "")},
			[]string{"alice@x [3.0-1] [1] limit MAXJOB 2 of user alice@x", "bob@x [5.0-1] [5] takes"}},
	} {
		p := negotiator.Pool{Slots: equal(t, 2, ""), Claims: heldBy(1, alice, 1, 2), Submitters: []accountant.Record{using(alice, 2)}, Jobs: test.jobs}
		runToo(&p, t)
		p.Held = nil
		u := Cycle(p, test.q.config(t), now).Succession
		if got := successorsOf(u); !u.OneQueue || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v %q, want %q", test.name, u.OneQueue, got, test.want)
		}
		if len(u.Entitled) > 0 {
			t.Errorf("%s: entitled are %v, want none", test.name, u.Entitled)
		}
	}
}

// TestSuccessionInOneQueueBounded holds that a long queue is cut, and says where.
func TestSuccessionInOneQueueBounded(t *testing.T) {
	for shapes, each := range map[int]int{3 * mostStretches: 1, 10: 3 * mostStretches / 10} {
		p := negotiator.Pool{Slots: equal(t, 1, "Memory = 9999"), Claims: heldBy(1, "alice@x", 1, 1), Submitters: []accountant.Record{using("alice@x", 1)}}
		for i := range shapes * each {
			p.Jobs = append(p.Jobs, aJob(t, i+2, 1, fmt.Sprintf("u%d@x", i%2), fmt.Sprintf("RequestMemory = %d", i%shapes+1)))
		}
		u := Cycle(p, byNumber{}.config(t), now).Succession
		n, cut := 0, u.More > 0
		for _, q := range u.Queues {
			n += len(q.Jobs)
			cut = cut || q.More > 0
			if q.More > 0 && q.More <= q.Places[len(q.Places)-1] {
				t.Fatalf("%d shapes: a queue goes on at %d, behind which it has %d", shapes, q.More, q.Places[len(q.Places)-1])
			}
		}
		if n > mostStretches || n == 0 || !cut {
			t.Errorf("%d shapes of %d: %d stretches of jobs in the succession, cut: %v; want some, %d at most, and that it says so", shapes, each, n, cut, mostStretches)
		}
	}
}

// What is told of one queue speaks of places and priorities, and of nobody's share.
func TestReasonsInOneQueue(t *testing.T) {
	one := drawnQueue{user: [2]int{1, 1}, noise: [2]int{99, 99}}
	q := byNumber{out: map[int]string{4: "negative priority"}, most: &one}
	slots := equal(t, 3, `Requirements = TARGET.Owner =!= "bob"`)
	slots[2] = aSlot(t, "slot3", "")
	p := negotiator.Pool{Slots: slots, Submitters: []accountant.Record{record("alice@x", 5), record("bob@x", 1)}, Jobs: []jobprio.Run{
		aJob(t, 1, 2, "alice@x", "Requirements = Name == \"slot3\""), aJob(t, 2, 2, "carol@x", "Requirements = Name == \"slot3\""),
		aJob(t, 3, 1, "bob@x", `Owner = "bob"`), aJob(t, 4, 1, "bob@x", ""), aJob(t, 5, 1, "alice@x", ""),
	}}
	for i := range p.Jobs {
		if e, ok := p.Jobs[i].Ad.Lookup("Requirements"); ok && strings.HasPrefix(e.String(), "Name") {
			p.Jobs[i].Ad.Set("Requirements", expr(t, `TARGET.Name == "slot3"`))
		}
	}
	plan := Cycle(p, q.config(t), now)
	want := []string{
		`1.1 1 alice@x: limit of the policy reached: MAXJOB 1 of user alice@x, 1 in use`,
		`2.0 2 carol@x: no match found: the only matching slot is taken (0 before this cycle); alice@x took it first`,
		`3.0 1 bob@x: no match found: the only matching slot is taken (0 before this cycle); alice@x took it first`,
		`5.0 1 alice@x: limit of the policy reached: MAXJOB 1 of user alice@x, 1 in use`,
		`4.0 1 bob@x: blocked: negative priority`,
	}
	if got := reasons(plan); !slices.Equal(got, want) {
		t.Errorf("rejections:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	report := plan.Report(1, now)
	var help []string
	for _, x := range report.Rejections {
		help = append(help, fmt.Sprintf("%s: %s; %s", x.Job, x.Standing(), x.Help(report.Autoclusters[x.Autocluster])))
	}
	wantHelp := []string{
		`1.1: place 1 in the queue, priority 99 (higher goes first); all of: a higher limit of the policy, or fewer running of the jobs that it counts; the end of the job of alice@x on slot3, or another slot like it`,
		`2.0: the first of them, 2.0, is at place 2 in the queue, priority 98 (higher goes first); all of: the end of the job of alice@x on slot3, or another slot like it; the same for 1 job of others before it in the queue`,
		`3.0: place 4 in the queue, priority 97 (higher goes first); all of: the end of the job of alice@x on slot3, or another slot like it; the same for 3 jobs of others before it in the queue`,
		`5.0: place 5 in the queue, priority 95 (higher goes first); a higher limit of the policy, or fewer running of the jobs that it counts`,
		`4.0: priority -2 (higher goes first); a job that the policy does not leave out (negative priority)`,
	}
	if !slices.Equal(help, wantHelp) {
		t.Errorf("help:\n%s\nwant\n%s", strings.Join(help, "\n"), strings.Join(wantHelp, "\n"))
	}
	text, err := json.Marshal(report)
	if err != nil || strings.Contains(string(text), `"Share"`) || !strings.Contains(string(text), `"Priority":99`) || report.Policy != "by number" {
		t.Errorf("report %s, %v, policy %q, want priorities, no cause Share, and the policy's name", text, err, report.Policy)
	}
}

// The nearest slot's contenders stand in the order of the queue, and those who only have slots
// come last.
func TestContendersInOneQueue(t *testing.T) {
	p := negotiator.Pool{Slots: equal(t, 1, ""), Claims: heldBy(9, "dave@x", 1, 1), Submitters: []accountant.Record{record("alice@x", 1), record("bob@x", 5), using("dave@x", 1)},
		Jobs: []jobprio.Run{aJob(t, 2, 2, "alice@x", ""), aJob(t, 1, 3, "bob@x", "")}}
	runToo(&p, t)
	cfg := byNumber{}.config(t)
	cfg.Preemption.Consider = true
	plan := Cycle(p, cfg, now)
	lines := plan.Autoclusters[0].Lines()
	for _, want := range []string{
		"in the order of the queue: bob@x (3 jobs wait from place 1 on), alice@x (2 jobs wait from place 4 on), dave@x (has 1)",
		"  1  its Rank does not prefer the job",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("Lines = %q, want %q among them", lines, want)
		}
	}
	var at []string
	for _, r := range plan.Rejections {
		at = append(at, fmt.Sprintf("%v %d %s %d", r.Job, r.Place, r.Cause, r.Ahead))
	}
	if want := []string{"1.0 1 Claimed 0", "2.0 4 Claimed 3"}; !slices.Equal(at, want) {
		t.Errorf("rejections %q, want %q", at, want)
	}
}

// mostStretches is how many stretches of procs a succession has at most.
const mostStretches = 2000
