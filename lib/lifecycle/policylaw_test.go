package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// conditions are expressions of jobs, true for some, none or all of a cluster.
var conditions = []string{"true", "false", "undefined", "ProcId % 2 == 0", "ProcId < Some", "Some > 2", "time() > QDate + 60", "NumJobStarts > 0", "RemoteWallClockTime > 100"}

func drawJobs(t *rapid.T) string {
	text := fmt.Sprintf(`[Owner = "alice"; Requirements = true; QDate = %d; JobStatus = %d; Some = %d; RemoteWallClockTime = 7.5; JobCurrentStartDate = %d`,
		noon.Unix()-rapid.Int64Range(0, 120).Draw(t, "age"), rapid.SampledFrom([]int{1, 2, 3, 4, 5}).Draw(t, "status"),
		rapid.IntRange(0, 5).Draw(t, "some"), noon.Unix()-rapid.Int64Range(0, 200).Draw(t, "runs"))
	for _, name := range []string{"PeriodicHold", "PeriodicRelease", "PeriodicRemove", "LeaveJobInQueue"} {
		if rapid.Bool().Draw(t, "has "+name) {
			text += fmt.Sprintf("; %s = %s", name, rapid.SampledFrom(conditions).Draw(t, name))
		}
	}
	if rapid.Bool().Draw(t, "waits") {
		text += fmt.Sprintf("; AfterAny = \"%d\"", rapid.IntRange(1, 3).Draw(t, "for"))
	}
	return text + "]"
}

// expected is what each job wants by itself: found proc by proc, without runs.
func expected(v *spool.View, now time.Time) map[pool.JobID]Measure {
	c := &classad.Context{Now: now}
	want := map[pool.JobID]Measure{}
	for id, ad := range v.Jobs() {
		status := job{ad: ad}.status()
		if status == pool.Running {
			ad.SetReal(pool.AttrWallClock, 7.5+float64(now.Unix()-job{ad: ad}.int(pool.AttrCurrentStartDate)))
		}
		verdict := jobpolicy.Periodic(c, ad)
		switch {
		case status == pool.Removed || verdict.Action == jobpolicy.Stay && status == pool.Completed:
			if !jobpolicy.Stays(c, ad) {
				want[id] = LetThemGo
			}
		case verdict.Action != jobpolicy.Stay:
			want[id] = measures[verdict.Action]
		case status == pool.Idle && jobpolicy.Waits(ad):
			if _, any := jobpolicy.After(ad); any[0] >= id.Cluster {
				want[id] = HoldThem
			}
		}
	}
	return want
}

// TestPoliciesLaw holds that the due measures are those that each job wants by itself,
// that Follow takes just these, and that it does not repeat them, unless a job wants
// something else by then.
func TestPoliciesLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(t)
		clusters := rapid.IntRange(1, 3).Draw(r, "clusters")
		b.update(func(tx *spool.Tx) error {
			tx.Op("submit")
			for range clusters {
				ad, err := classad.ParseAd(drawJobs(r))
				if err != nil {
					r.Fatal(err)
				}
				tx.AddCluster(ad, []spool.NewRun{{Count: rapid.IntRange(1, 5).Draw(r, "jobs")}})
			}
			return nil
		})
		var due Outlook
		var want map[pool.JobID]Measure
		look := func() {
			b.view(func(v *spool.View) { due, want = Policies(v, noon, Look{}), expected(v, noon) })
		}
		look()
		if got := byJob(due.Due); fmt.Sprint(got) != fmt.Sprint(want) {
			r.Fatalf("Policies = %v, want %v", got, want)
		}
		b.update(func(tx *spool.Tx) error {
			tx.Op("follow")
			done, err := due.Follow(tx, noon, params)
			var list []Due
			for _, f := range done {
				list = append(list, f.Due)
			}
			if got := byJob(list); fmt.Sprint(got) != fmt.Sprint(want) {
				r.Fatalf("Follow = %v, want %v", got, want)
			}
			return err
		})
		first := want
		look()
		for id, again := range want {
			if again == first[id] {
				r.Errorf("%v: measure %d is due again", id, again)
			}
		}
		b.s.Close()
	})
}

func byJob(list []Due) map[pool.JobID]Measure {
	all := map[pool.JobID]Measure{}
	for _, d := range list {
		for p := d.First; p <= d.Last; p++ {
			all[pool.JobID{Cluster: d.Cluster, Proc: p}] = d.What
		}
	}
	return all
}

// TestPoliciesOfSharedAdsLaw holds that jobs whose ads are shared are judged as if each had an ad of its own: the measures,
// the jobs put off and the steps taken are the same.
func TestPoliciesOfSharedAdsLaw(t *testing.T) {
	own := []string{"QDate > Some", "time() - EnteredCurrentStatus > 3", "JobStatus == 2 && QDate > 0", "ClusterId % 2 == 0", "random() < 0", "unparse(Text) == \"x\"", "Some > 2 || ProcId == 0"}
	shared := 0
	rapid.Check(t, func(r *rapid.T) {
		b, err := newBench(t), error(nil)
		b.update(func(tx *spool.Tx) error {
			tx.Op("submit")
			for kind := range rapid.IntRange(1, 3).Draw(r, "kinds") {
				text := fmt.Sprintf(`[Owner = "user%d"; Requirements = true; JobStatus = %d; Some = %d; Text = Some > 3%s`, kind%2,
					rapid.SampledFrom([]int{1, 1, 1, 2, 5}).Draw(r, "status"), rapid.IntRange(0, 5).Draw(r, "some"), rapid.SampledFrom([]string{"", "", `; CronMinute = "5"; DeferralTime = QDate + 1800000000`}).Draw(r, "cron"))
				for _, name := range []string{"PeriodicHold", "PeriodicRemove", "LeaveJobInQueue"} {
					text += fmt.Sprintf("; %s = %s", name, rapid.SampledFrom(append(own, conditions...)).Draw(r, name))
				}
				for range rapid.IntRange(1, 6).Draw(r, "clusters") {
					moments := fmt.Sprintf("; QDate = %d; EnteredCurrentStatus = %d]", rapid.Int64Range(0, 9).Draw(r, "submitted"), noon.Unix()-rapid.Int64Range(0, 9).Draw(r, "since"))
					ad, err := classad.ParseAd(text + moments)
					if err != nil {
						r.Fatal(err)
					}
					tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
				}
			}
			return nil
		})
		b.s.Close()
		if b.s, err = spool.Open(b.dir, spool.Options{Program: "test", UIDDomain: "example.org"}); err != nil {
			r.Fatal(err)
		}
		steps := rapid.SampledFrom([]int{0, 1, 10, 30, 100, 10_000}).Draw(r, "steps")
		from := map[string]pool.JobID{"user0": {Cluster: rapid.IntRange(0, 5).Draw(r, "from")}}
		judged := func(v *spool.View) string {
			budgets := classad.NewBudgets(steps)
			o := Policies(v, noon, Look{Budgets: budgets, From: from})
			return fmt.Sprint(dueText(o.Due), o.PutOff, budgets.Taken())
		}
		b.view(func(v *spool.View) {
			part, unread := v.Part(append([]string{"Some", "Text", "DeferralTime", "DeferralWindow", "CronWindow", "RemoteWallClockTime", "RemoteWallClockTimeAtLastCheckpoint",
				"JobCurrentStartDate", "LeaveJobInQueue", "DependenciesMet", "HoldReasonCode"}, usual...), "Periodic")
			got := judged(part)
			clusters := part.Clusters()
			if missed, all := unread.Missed(); all || len(missed) > 0 {
				r.Fatalf("not all was read: %v", missed)
			}
			if want := judged(v); got != want {
				r.Fatalf("Policies = %s, want %s", got, want)
			}
			if n := len(clusters); n > 2 && clusters[1].Ad == clusters[n-1].Ad {
				shared++
			}
		})
		b.s.Close()
	})
	if shared == 0 {
		t.Error("no ad was shared")
	}
}
