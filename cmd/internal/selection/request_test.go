package selection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// late runs fn on the queue of view with, besides, cluster 3 (alice), which has
// procs 0 and 1 of 10, and cluster 4 (bob), which has none of 5.
func late(t *testing.T, fn func(*spool.View)) {
	t.Helper()
	s, err := spool.Open(t.TempDir(), spool.Options{Program: "test", UIDDomain: "pool"})
	testenv.OK(t, err)
	defer s.Close()
	ad := func(owner string) *classad.Ad {
		a := classad.New()
		a.SetString(pool.AttrOwner, owner)
		return a
	}
	update := func(do func(tx *spool.Tx)) {
		t.Helper()
		if err := s.Update(func(tx *spool.Tx) error { tx.Op("test"); do(tx); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx *spool.Tx) {
		tx.AddCluster(ad("alice"), []spool.NewRun{{Count: 7}})
		tx.AddCluster(ad("bob"), []spool.NewRun{{Count: 1}})
		tx.AddCluster(ad("alice"), []spool.NewRun{{Count: 2}})
		tx.AddCluster(ad("bob"), []spool.NewRun{{Count: 1}})
		tx.AddCluster(classad.New(), []spool.NewRun{{Count: 1}})
		tx.AddFactory(spool.Factory{Cluster: 3, Owner: "alice", Next: 2, Jobs: 10}, nil)
		tx.AddFactory(spool.Factory{Cluster: 4, Owner: "bob", Next: 1, Jobs: 5}, nil)
		tx.Set(pool.JobID{Cluster: 1, Proc: 4}, "Mark", classad.Literal(classad.Int(7)))
	})
	update(func(tx *spool.Tx) { tx.Leave(pool.JobID{Cluster: 4}, time.Unix(1, 0)) })
	if err := s.View(func(v *spool.View) error { fn(v); return nil }); err != nil {
		t.Fatal(err)
	}
}

// asked reads a request of a user; words in quotes stay together.
func asked(args string, who cmdline.Caller) (q Request, err error) {
	q = Request{Names: All(), who: who, call: &cmdline.Call{Now: time.Unix(1795217646, 0)}}
	args, q.text, _ = strings.Cut(args, "? ")
	args, of, _ := strings.Cut(args, "of ")
	if of != "" {
		users := Users(strings.Fields(of))
		q.of = &users
	}
	if q.text != "" {
		if q.where, err = ParseConstraint(q.text, 0); err != nil {
			return q, err
		}
	}
	if words := strings.Fields(args); len(words) > 0 {
		q.Names, err = Parse(words)
	}
	return q, err
}

// TestRequest names jobs as words, then behind "of" the users of -u, then behind a
// question mark a constraint; nothing is all.
func TestRequest(t *testing.T) {
	const noAlice = ": you are alice, not an administrator"
	alice, admin := cmdline.Caller{Name: "alice"}, cmdline.Caller{Name: "carol", Admin: true}
	late(t, func(v *spool.View) {
		for _, c := range []struct {
			who        cmdline.Caller
			args, want string
		}{
			{admin, "", "1.0-3 1.4-4 1.5-6 2.0-0 3.0-1 5.0-0 late 3 4"},
			{alice, "", "1.0-3 1.4-4 1.5-6 3.0-1 late 3"},
			{alice, "1.0-1", "1.0-1"},
			// Each name is told once, whatever of it was refused.
			{alice, "2 1.4 2 9 4", "1.4-4; 2: belongs to bob" + noAlice + "; 9: not in the queue; 4: belongs to bob" + noAlice},
			{alice, "bob alice", "1.0-3 1.4-4 1.5-6 3.0-1 late 3; bob: jobs of others" + noAlice},
			{alice, "1-3", "1.0-3 1.4-4 1.5-6 3.0-1 late 3; 1-3: belongs to bob" + noAlice},
			{alice, "5", "; 5: it has no Owner: only administrators may change it"},
			{alice, "dave 3.5 3.10 4.0", "; dave: no jobs in the queue; 3.5: still to come: until then only its whole cluster can be named; 3.10: not in the queue; 4.0: not in the queue"},
			{admin, "4 bob@pool", " late 4"},
			{admin, "bob", "2.0-0 late 4"},

			{admin, "1 2 3-4 of alice", "1.0-3 1.4-4 1.5-6 3.0-1 late 3"},
			{admin, "1 2 3-4 of dave bob@pool", " late 4"},
			{admin, "alice 2 9 of bob", "2.0-0; 9: not in the queue"},
			{admin, "1.4-5 2 of alice ? Mark == 7", "1.4-4"},
			{admin, "1 of dave", ""},
			// What is not of these users is not asked for, whoever may change it.
			{alice, "1.4 2 of alice", "1.4-4"},
			{alice, "1.4 2 of bob", "; 2: belongs to bob" + noAlice},

			{alice, "? ClusterId < 3", "1.0-3 1.4-4 1.5-6"},
			{admin, "? ClusterId > 1", "2.0-0 3.0-1 5.0-0 late 3 4"},
			{admin, "? Owner == \"bob\"", "2.0-0 late 4"},
			{alice, "? Mark == 7", "1.4-4"},
			{alice, "? Mark =!= 7", "1.0-3 1.5-6 3.0-1 late 3"},
			{alice, "1.1-2 ? eval(\"ProcId == 2\")", "1.2-2"},
			{alice, "1.1-2 ? eval(strcat(\"Proc\", \"Id\")) == 2", "1.2-2"},
			{alice, "1.1-2 ? MY[\"ProcId\"] == 2", "1.2-2"},
			{alice, "1.1-2 ? [a = [b = .ProcId]].a.b == 2", "1.2-2"},
			{alice, "? ProcId % 2 == 0", "1.0-0 1.2-2 1.4-4 1.6-6 3.0-0"},
			{alice, "? ProcId >= 2 && ProcId <= 5", "1.2-3 1.4-4 1.5-5"},
			{alice, "1.0-1 2 ? ProcId > 0", "1.1-1; 2: belongs to bob" + noAlice},
			{alice, "? undefined", ""},
			{alice, "? false", ""},
			{admin, "2 ? Mark + 1", ""},
			{admin, "? Mark + 1", "-constraint: want true or false, got 8 for job 1.4"},
			{admin, "? strcat(\"a\", ClusterId)", "-constraint: want true or false, got \"a1\" for job 1.0"},
			{admin, "4 ? ClusterId", "-constraint: want true or false, got 4 for the jobs of cluster 4 that are still to come"},
			{admin, "? 1", "-constraint: want true or false, got 1"},
			{admin, "9 ? 1 + 1", "-constraint: want true or false, got 2"},
			{admin, "9 ? \"" + strings.Repeat("x", 99) + "\"", "-constraint: want true or false, got \"" + strings.Repeat("x", 59) + "..."},
			{admin, "? error", "-constraint: want true or false, got error"},
			{admin, "? {true}", "-constraint: want true or false, got a list"},
			// Of somebody else's jobs it is not asked.
			{alice, "? Owner == \"alice\" ? true : 3", "1.0-3 1.4-4 1.5-6 3.0-1 late 3"},
		} {
			q, err := asked(c.args, c.who)
			testenv.OK(t, err)
			chosen, err := q.In(v, "pool")
			got := told(chosen)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s asks for %q: %s, want %s", c.who.Name, c.args, got, c.want)
			}
		}
	})
}

func told(ch Chosen) string {
	text := shown(ch.Procs, nil)
	for i, l := range ch.Late {
		if i == 0 {
			text += " late"
		}
		text += fmt.Sprintf(" %d", l.Cluster)
	}
	for _, r := range ch.Refused {
		text += "; " + r.Word + ": " + r.Why
	}
	return text
}

// Chance is asked of each job, and is no other the second time.
func TestChance(t *testing.T) {
	late(t, func(v *spool.View) {
		all, _ := All().In(v)
		k, err := ParseConstraint("random(2) == 0", 0)
		testenv.OK(t, err)
		seen := map[string]bool{}
		for second := range 40 {
			at := time.Unix(int64(second), 0)
			first, err := k.Of(all, at)
			again, err2 := k.Of(all, at)
			if err != nil || err2 != nil || shown(first, nil) != shown(again, nil) {
				t.Fatalf("by chance %s and then %s, %v", shown(first, nil), shown(again, nil), err)
			}
			seen[shown(first, nil)] = true
		}
		if len(seen) < 10 {
			t.Errorf("of 11 jobs by chance in 40 tries = %v", seen)
		}
	})
}

func TestLines(t *testing.T) {
	var list Lines
	for _, s := range []string{"1.0-3 held", "1.4 held", "1.5 removed", "1.7 removed", "2.8 removed"} {
		jobs, what, _ := strings.Cut(s, " ")
		p, err := pool.ParseProcs(jobs)
		testenv.OK(t, err)
		list.Add(Line{p, what})
	}
	const want = "[Jobs 1.0-4 held Job 1.5 removed Job 1.7 removed Job 2.8 removed]"
	if got := fmt.Sprint(list); got != want {
		t.Errorf("lines = %s, want %s", got, want)
	}
}

// In returns what is chosen of a view.
func (q Request) In(v *spool.View, domain string) (Chosen, error) {
	if q.where != nil {
		if err := q.ask(v, domain); err != nil {
			return Chosen{}, err
		}
	}
	return q.in(v, domain)
}

// TestConstraintHasSteps holds that a constraint has a number of steps for all jobs, anew at
// each look, and that one for which they are too few is an error that says so.
func TestConstraintHasSteps(t *testing.T) {
	late(t, func(v *spool.View) {
		all, _ := All().In(v)
		const text = "ProcId >= 0 && ClusterId > 0 && QDate =!= 7"
		for _, c := range []struct {
			steps int
			want  string
		}{{0, ""}, {10_000, ""}, {20, "more than the 20 steps"}} {
			k, err := ParseConstraint(text, c.steps)
			testenv.OK(t, err)
			for range 3 {
				kept, err := k.Of(all, time.Unix(5, 0))
				if c.want == "" && (err != nil || shown(kept, nil) != shown(all, nil)) {
					t.Errorf("with %d steps: %s, %v, want %s", c.steps, shown(kept, nil), err, shown(all, nil))
				}
				if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("with %d steps: %v, want an error with %q", c.steps, err, c.want)
				}
			}
		}
	})
}
