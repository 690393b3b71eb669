package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// TestDependencies holds what becomes of a job that waits for cluster 1, whose jobs
// have ended in some way by then, or not.
func TestDependencies(t *testing.T) {
	good, bad := Endings{Cluster: 1, Succeeded: 4}, Endings{Cluster: 1, Succeeded: 3, Failed: 1, Troubles: []string{"1.2 ended with exit code 1"}}
	removed := Endings{Cluster: 1, Removed: 4, Troubles: []string{"1.0-3 removed: by alice"}}
	for _, c := range []struct {
		name, attr string
		of         Endings
		left       bool // cluster 1 has left the queue
		want, why  string
		waits      string
	}{
		{"still there", `AfterOk = "1"`, Endings{Cluster: 1}, false, "", "", "waits for cluster 1 to end with success (after_ok)"},
		{"all well", `AfterOk = "1"`, good, true, "run 2.0", "", "waited for others, which have ended; the next cycle makes it idle"},
		{"not yet known", `AfterOk = "1"`, Endings{Cluster: 1, Unknown: true, From: -1}, true, "", "", "waits for cluster 1 to end with success (after_ok)"},
		{"one failed", `AfterOk = "1"`, bad, true, "hold 2.0", "after_ok: job 1.2 ended with exit code 1", "waited for others, which have ended; the next cycle makes it idle"},
		{"one failed, others run", `AfterOk = "1"`, bad, false, "hold 2.0", "after_ok: job 1.2 ended with exit code 1", "waits for cluster 1 to end with success (after_ok)"},
		{"removed", `AfterOk = "1"`, removed, true, "hold 2.0", "after_ok: jobs 1.0-3 removed: by alice", "waited for others, which have ended; the next cycle makes it idle"},
		{"lost", `AfterOk = "1"`, Endings{Cluster: 1, Succeeded: 1, Gone: 3}, true, "hold 2.0", "after_ok: how 3 jobs of cluster 1 ended is not in the history", "waited for others, which have ended; the next cycle makes it idle"},
		{"lost, any", `AfterAny = "1"`, Endings{Cluster: 1, Gone: 1}, true, "run 2.0", "", "waited for others, which have ended; the next cycle makes it idle"},
		{"any", `AfterAny = "1"`, bad, true, "run 2.0", "", "waited for others, which have ended; the next cycle makes it idle"},
		{"any, others run", `AfterAny = "1"`, bad, false, "", "", "waits for cluster 1 to end (after_any)"},
		{"itself", `AfterAny = "1,2,7"`, good, true, "hold 2.0", "after_any: cluster 2 is not one that was submitted before", "waits for clusters 2 and 7 to end (after_any)"},
		{"released all the same", `AfterOk = "1"; DependenciesWaived = "1"`, bad, true, "run 2.0", "", "waited for others, which have ended; the next cycle makes it idle"},
		{"released all the same, others run", `AfterOk = "1"; DependenciesWaived = "1"`, bad, false, "", "", "waits for cluster 1 to end with success (after_ok)"},
		{"another one waived", `AfterOk = "1"; DependenciesWaived = "7"`, bad, false, "hold 2.0", "after_ok: job 1.2 ended with exit code 1", "waits for cluster 1 to end with success (after_ok)"},
		{"held anyway", `AfterOk = "1"; JobStatus = 5`, bad, true, "", "", "waits for"},
		{"met", `AfterOk = "1"; DependenciesMet = true`, bad, true, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			id := pool.JobID{Cluster: b.with(1, c.attr)}
			b.update(func(tx *spool.Tx) error {
				tx.Op("test")
				PutEndings(tx, c.of)
				if c.left {
					tx.LeaveRange(pool.Procs{Cluster: 1, First: 0, Last: 3}, noon)
				}
				return nil
			})
			o := b.policies(noon)
			if got := dueText(o.Due); got != c.want {
				t.Fatalf("Policies = %s, want %s", got, c.want)
			}
			if len(o.Due) > 0 && o.Due[0].Why.Text != c.why {
				t.Errorf("the reason is %q, want %q", o.Due[0].Why.Text, c.why)
			}
			if got := len(o.Unknown) > 0; got != c.of.Unknown {
				t.Errorf("Unknown = %v", o.Unknown)
			}
			if got := len(o.Unneeded) > 0; got != (c.name == "met") {
				t.Errorf("Unneeded = %v", o.Unneeded)
			}
			b.view(func(v *spool.View) {
				ad, _ := v.Job(id)
				if got := WaitsFor(v, 2, ad); c.name != "held anyway" && got != c.waits {
					t.Errorf("WaitsFor = %q, want %q", got, c.waits)
				}
			})
			b.follow(o, noon)
			if o := b.policies(noon); len(o.Due) > 0 {
				t.Errorf("afterwards is due: %s", dueText(o.Due))
			}
		})
	}
}

// A release by hand lets the job run although another failed, whatever it is held and
// released for before that happens.
func TestReleasedAllTheSame(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint(again), func(t *testing.T) { releasedAllTheSame(t, again) })
	}
}

func releasedAllTheSame(t *testing.T, again bool) {
	b := newBench(t)
	id := pool.JobID{Cluster: b.with(1, `AfterOk = "1"`)}
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		PutEndings(tx, Endings{Cluster: 1, Failed: 4, Troubles: []string{"1.0-3 ended with exit code 1"}})
		tx.LeaveRange(pool.Procs{Cluster: 1, First: 0, Last: 3}, noon)
		return nil
	})
	b.follow(b.policies(noon), noon)
	if got := b.attribute(id, pool.AttrJobStatus); got != "5" {
		t.Fatalf("JobStatus = %s, want 5", got)
	}
	b.update(func(tx *spool.Tx) error {
		tx.Op("release")
		_, err := Release(tx, pool.Only(id), "by alice", noon)
		if again && err == nil {
			_, err = Hold(tx, pool.Only(id), pool.Reason{Text: "by alice", Code: jobpolicy.ByUser, Subcode: 0}, noon, params)
		}
		if again && err == nil {
			_, err = Release(tx, pool.Only(id), "by alice", noon)
		}
		return err
	})
	if got := b.follow(b.policies(noon), noon); got != "run 2.0" {
		t.Errorf("Follow = %s, want run 2.0", got)
	}
}

// Who is released to wait for other clusters than those that had failed needs the
// success of these.
func TestReleasedForOthers(t *testing.T) {
	b := newBench(t)
	b.with(1, "")
	id := pool.JobID{Cluster: b.with(1, `AfterOk = "1"`)}
	bad := func(cluster int) {
		t.Helper()
		b.update(func(tx *spool.Tx) error {
			tx.Op("test")
			PutEndings(tx, Endings{Cluster: cluster, Failed: 1, Troubles: []string{fmt.Sprintf("%d.0 ended with exit code 1", cluster)}})
			return nil
		})
	}
	bad(1)
	b.follow(b.policies(noon), noon)
	b.update(func(tx *spool.Tx) error {
		tx.Op("edit")
		tx.SetRange(pool.Procs{Cluster: id.Cluster, First: 0, Last: 0}, "AfterOk", classad.Literal(classad.String("2")))
		Watch(tx, 2)
		_, err := Release(tx, pool.Only(id), "by alice", noon)
		return err
	})
	bad(2)
	if got := b.follow(b.policies(noon), noon); got != "hold 3.0" {
		t.Errorf("Follow = %s, want hold 3.0", got)
	}
}

// TestRecollect holds that what the history has is counted once, and what it lacks
// is known to be lacking.
func TestRecollect(t *testing.T) {
	past := func(proc, status, code int) *classad.Ad {
		ad, err := classad.ParseAd(fmt.Sprintf(`[ClusterId = 1; ProcId = %d; JobStatus = %d; ExitCode = %d; ExitBySignal = false; RemoveReason = "x"; Owner = "bob"]`, proc, status, code))
		if err != nil {
			t.Fatal(err)
		}
		return ad
	}
	for _, c := range []struct {
		name                       string
		of                         Endings
		past                       []*classad.Ad // the last first
		succeeded, failed, removed int
		gone                       int
		troubles                   string
	}{
		{"nothing", Endings{From: -1}, nil, 0, 0, 0, 1, "[]"},
		{"all in the queue", Endings{From: -1, Seen: "0-3"}, nil, 0, 0, 0, 0, "[]"},
		{"some", Endings{From: -1, Seen: "1,3", Succeeded: 1}, []*classad.Ad{past(1, 4, 1), past(2, 4, 7), past(0, 4, 0)}, 2, 1, 0, 0, "[1.2 ended with exit code 7]"},
		{"one lost", Endings{From: -1, Seen: "3"}, []*classad.Ad{past(2, 3, 0), past(0, 4, 1)}, 0, 1, 1, 1, "[1.0 ended with exit code 1 1.2 removed: x]"},
		{"some still to come", Endings{From: 2, Seen: "1"}, []*classad.Ad{past(3, 4, 1), past(0, 4, 0)}, 1, 0, 0, 0, "[]"},
		{"none made yet", Endings{From: 0}, nil, 0, 0, 0, 0, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			c.of.Cluster, c.of.Unknown = 1, true
			var list Recollections
			b.update(func(tx *spool.Tx) error { tx.Op("test"); PutEndings(tx, c.of); return nil })
			b.view(func(v *spool.View) { list = Recollect(v, []int{1}) })
			for _, ad := range c.past {
				list.Add(ad)
			}
			for range 2 { // the second time it is known
				b.update(func(tx *spool.Tx) error { tx.Op("test"); Remember(tx, list); return nil })
			}
			e, _ := b.watched()
			if e.Unknown || e.Succeeded != c.succeeded || e.Failed != c.failed || e.Removed != c.removed || e.Gone != c.gone || fmt.Sprint(e.Troubles) != c.troubles {
				t.Errorf("the endings are %+v, want %d, %d, %d, %d gone, %s", e, c.succeeded, c.failed, c.removed, c.gone, c.troubles)
			}
		})
	}
}

// What was changed since the history was asked is not remembered twice.
func TestRememberLater(t *testing.T) {
	b := newBench(t)
	b.watch(Watch)
	var list Recollections
	b.view(func(v *spool.View) { list = Recollect(v, []int{1}) })
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		DropEndings(tx, 1)
		tx.LeaveRange(pool.Procs{Cluster: 1, First: 0, Last: 0}, noon)
		return nil
	})
	b.update(func(tx *spool.Tx) error { tx.Op("test"); Remember(tx, list); return nil })
	if e, ok := b.watched(); !ok || !e.Unknown {
		t.Errorf("the endings are %+v, %v, want them still unknown", e, ok)
	}
}

// TestMailOwed holds who is told of what.
func TestMailOwed(t *testing.T) {
	for _, c := range []struct {
		name         string
		of           Endings
		left         bool
		want         pool.Tell
		stillWatched bool
	}{
		{"never", Endings{Succeeded: 4}, true, "", false},
		{"not ended", Endings{Notification: NotifyAlways, Succeeded: 1}, false, "", true},
		{"all well", Endings{Notification: NotifyAlways, Succeeded: 4}, true, TellEnd, true},
		{"complete", Endings{Notification: NotifyComplete, Removed: 4}, true, TellEnd, true},
		{"error, all well", Endings{Notification: NotifyError, Succeeded: 4}, true, "", false},
		{"error", Endings{Notification: NotifyError, Succeeded: 3, Signalled: 1}, true, TellEnd, true},
		{"error, later perhaps", Endings{Notification: NotifyError, Succeeded: 3}, false, "", true},
		{"held", Endings{Notification: NotifyError, Held: 1}, false, TellHeld, true},
		{"held, complete", Endings{Notification: NotifyComplete, Held: 1}, false, "", true},
		{"held, told", Endings{Notification: NotifyAlways, Held: 2, Told: []pool.Tell{TellHeld}}, false, "", true},
		{"held, then ended", Endings{Notification: NotifyAlways, Held: 2, Removed: 4}, true, TellEnd, true},
		{"told", Endings{Notification: NotifyAlways, Succeeded: 4, Told: []pool.Tell{TellEnd}}, true, "", false},
		{"not known yet", Endings{Notification: NotifyAlways, Succeeded: 4, Unknown: true}, true, "", true},
		{"start", Endings{Notification: NotifyStart, First: 1}, false, TellStart, true},
		{"start, none yet", Endings{Notification: NotifyStart}, false, "", true},
		{"start, told", Endings{Notification: NotifyStart, First: 1, Told: []pool.Tell{TellStart}}, false, "", true},
		{"later", Endings{Notification: NotifyAlways, Succeeded: 4, Retry: noon.Unix() + 1}, true, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			c.of.Cluster = 1
			b.update(func(tx *spool.Tx) error {
				tx.Op("test")
				PutEndings(tx, c.of)
				if c.left {
					tx.LeaveRange(pool.Procs{Cluster: 1, First: 0, Last: 3}, noon)
				}
				return nil
			})
			var list []Owed
			b.view(func(v *spool.View) { list = MailOwed(v, noon) })
			got := pool.Tell("")
			if len(list) > 0 {
				got = list[0].About
			}
			if got != c.want || len(list) > 1 {
				t.Errorf("MailOwed = %v, want %q", list, c.want)
			}
			if got := len(b.policies(noon).Unneeded) == 0; got != c.stillWatched {
				t.Errorf("it is still watched: %v, want %v", got, c.stillWatched)
			}
			if len(list) == 0 {
				return
			}
			b.update(func(tx *spool.Tx) error { tx.Op("test"); Told(tx, list[0]); return nil })
			b.view(func(v *spool.View) { list = MailOwed(v, noon) })
			if len(list) > 0 {
				t.Errorf("MailOwed of what was told = %v, want nothing", list)
			}
		})
	}
}

// TestNotTold holds how often a message is tried.
func TestNotTold(t *testing.T) {
	b := newBench(t)
	b.update(func(tx *spool.Tx) error {
		tx.Op("test")
		PutEndings(tx, Endings{Cluster: 1, Notification: NotifyAlways, Succeeded: 4})
		tx.LeaveRange(pool.Procs{Cluster: 1, First: 0, Last: 3}, noon)
		return nil
	})
	tries, last := 0, noon
	for at := noon; at.Before(noon.Add(24 * time.Hour)); at = at.Add(time.Minute) {
		var list []Owed
		b.view(func(v *spool.View) { list = MailOwed(v, at) })
		for _, m := range list {
			b.update(func(tx *spool.Tx) error {
				tx.Op("test")
				tries++
				if gave := NotTold(tx, m, at); gave != (tries == mostTries) {
					t.Errorf("try %d is the last: %v", tries, gave)
				}
				return nil
			})
			last = at
		}
	}
	if took := last.Sub(noon); tries != mostTries || took < 8*time.Hour || took > 9*time.Hour {
		t.Errorf("%d tries in %v, want %d in eight hours", tries, took, mostTries)
	}
}
