package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// evaluations calls do before each computation on expressions, for the time of the test.
func evaluations(t *testing.T, do func()) {
	t.Helper()
	before := evaluating
	evaluating = do
	t.Cleanup(func() { evaluating = before })
}

// chainOf returns attributes with an expression that takes far more than 5,000 steps, in name, whose value
// is what then makes of MY.D11, which is 2048.
func chainOf(name, then string) string {
	var b strings.Builder
	b.WriteString("D0 = 1; ")
	for i := range 11 {
		fmt.Fprintf(&b, "D%d = MY.D%d + MY.D%d; ", i+1, i, i)
	}
	return b.String() + name + " = " + fmt.Sprintf(then, "MY.D11") + "; "
}

// running adds a job with a slot of its own in which it runs.
func (b bench) running(text string) pool.JobID {
	b.t.Helper()
	id := pool.JobID{Cluster: b.submit("alice", 1, text)}
	b.update(func(tx *spool.Tx) error {
		c := pool.Claim{Job: id, Attempt: 1, Slot: "slot1@here", Machine: "here", Submitter: "alice@example.org", State: pool.Matched, Weight: 1_000_000, MatchedAt: noon}
		tx.PutClaim(c)
		return Begin(tx, id, 1, noon, os.Getpid(), "", params)
	})
	return id
}

func (b bench) textOf(id pool.JobID, name string) (text string) {
	b.t.Helper()
	if err := b.s.View(func(v *spool.View) error {
		ad, ok := v.Job(id)
		if !ok {
			text = "gone"
			return nil
		}
		e, ok := ad.Lookup(name)
		if text = "missing"; ok {
			text = e.String()
		}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	return text
}

// Each expression of a job that an operation evaluates is evaluated while others can have the writers' lock,
// and takes effect.
func TestLockIsFree(t *testing.T) {
	ends := func(how pool.Ending) func(bench, pool.JobID) {
		return func(b bench, id pool.JobID) {
			b.update(func(tx *spool.Tx) error { return Finish(tx, id, 1, noon.Add(time.Minute), how, params) })
		}
	}
	well := ends(pool.Ending{Wall: time.Minute})
	removes := func(b bench, id pool.JobID) {
		b.update(func(tx *spool.Tx) error {
			tx.Op("remove")
			_, err := RemoveAll(tx, pool.Procs{Cluster: id.Cluster, Last: 1}, "x", noon, params)
			return err
		})
	}
	tests := []struct {
		name, text string
		starts     bool
		does       func(b bench, id pool.JobID)
		attr, want string
	}{
		{"OnExitHold", chainOf("OnExitHold", "%s == 2048"), true, well, "JobStatus", "5"},
		{"OnExitHold that is false", chainOf("OnExitHold", "%s == 2047"), true, well, "JobStatus", "gone"},
		{"OnExitRemove", chainOf("OnExitRemove", "%s != 2048"), true, well, "JobStatus", "1"},
		{"LeaveJobInQueue", chainOf("LeaveJobInQueue", "%s == 2048 && JobStatus == 4"), true, well, "JobStatus", "4"},
		{"LeaveJobInQueue of a range", chainOf("LeaveJobInQueue", "%s == 2048 && ProcId == 0"), false, removes, "JobStatus", "3"},
		{"cron", chainOf("CronMinute", "%s - 2018") + "OnExitRemove = false; ", true, well, "DeferralTime", fmt.Sprint(noon.Unix() + 30*60)},
		{"the slot's attribute", chainOf("Foo", "%s") + `JobMachineAttrs = "Asks"; `, true, func(bench, pool.JobID) {}, "MachineAttrAsks0", "2048"},
		{"a transform", chainOf("Foo", "%s") + `TransformOnEvict = "More"; TransformBody_More = "EVALSET RequestMemory Foo"; `, true,
			ends(pool.Ending{Lost: "x", VacateCode: jobad.OutOfResources}), "RequestMemory", "2048"},
		{"limits", chainOf("AllowedJobDuration", "%s"), true, func(b bench, id pool.JobID) {
			b.update(func(tx *spool.Tx) error {
				ad, _ := tx.Job(id)
				tx.Op("limits")
				tx.Set(id, "Limit", classad.Literal(classad.Int(int64(Limits(tx, ad, noon)[0].For/time.Second))))
				return nil
			})
		}, "Limit", "2048"},
		{"an expression of a text", chainOf("Foo", "%s"), true, func(b bench, id pool.JobID) {
			b.update(func(tx *spool.Tx) error {
				ad, _ := tx.Job(id)
				tx.Op("value")
				e, err := classad.ParseExpr("Foo + 1")
				tx.Set(id, "Bar", classad.Literal(Value(tx, e, ad, nil)))
				return err
			})
		}, "Bar", "2049"},
		{"deferral", chainOf("DeferralTime", "%s"), true, func(b bench, id pool.JobID) {
			b.update(func(tx *spool.Tx) error {
				ad, _ := tx.Job(id)
				at, _ := Deferral(tx, ad, noon)
				tx.Op("deferral")
				tx.Set(id, "At", classad.Literal(classad.Int(at.Unix())))
				return nil
			})
		}, "At", "2048"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.update(func(tx *spool.Tx) error {
				tx.Op("advertise")
				slot, _ := tx.Advertised("slot1@here")
				ad := slot.Ad.Clone()
				e, err := classad.ParseExpr("TARGET.Foo")
				ad.Set("Asks", e)
				tx.PutSlot("slot1@here", ad)
				return err
			})
			times := 0
			evaluations(t, func() { times++; free(t, b) })
			var id pool.JobID
			if test.starts {
				id = b.running(test.text)
			} else {
				id = pool.JobID{Cluster: b.submit("alice", 2, test.text)}
			}
			test.does(b, id)
			if times == 0 {
				t.Error("nothing was evaluated outside of the lock")
			}
			if got := b.textOf(id, test.attr); got != test.want {
				t.Errorf("%s is %s, want %s", test.attr, got, test.want)
			}
		})
	}
}

// free fails if a process has the writers' lock.
func free(t *testing.T, b bench) {
	t.Helper()
	lock := flock.New(filepath.Join(b.dir, "lock"))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		t.Errorf("the writers' lock is held while an expression is evaluated: %t, %v", ok, err)
	}
	lock.Unlock()
}

// What the mail shows of a watched cluster's job is evaluated outside of the lock, too.
func TestMailOutsideLock(t *testing.T) {
	b := newBench(t)
	id := b.running(chainOf("Foo", "%s") + `EmailAttributes = "Foo"; JobNotification = 2; `)
	times := 0
	evaluations(t, func() { times++; free(t, b) })
	b.update(func(tx *spool.Tx) error {
		WatchNew(tx, id.Cluster)
		return Finish(tx, id, 1, noon.Add(time.Minute), pool.Ending{Wall: time.Minute}, params)
	})
	testenv.OK(t, b.s.View(func(v *spool.View) error {
		if e, _ := EndingsOf(v, id.Cluster); times != 1 || !slices.Equal(e.Shown, []string{id.String(), "Foo = 2048"}) {
			t.Errorf("the mail shows %q after %d evaluations, want Foo = 2048 after one", e.Shown, times)
		}
		return nil
	}))
}

// finishAsked ends the job's attempt, with change called at each evaluation, and returns how many there were.
func (b bench) finishAsked(id pool.JobID, change func(other bench, times int)) (times int) {
	b.t.Helper()
	s, err := spool.Open(b.dir, spool.Options{Program: "test"})
	if err != nil {
		b.t.Fatal(err)
	}
	evaluations(b.t, func() {
		times++
		change(bench{b.t, b.dir, s}, times)
	})
	b.update(func(tx *spool.Tx) error { return Finish(tx, id, 1, noon, pool.Ending{}, params) })
	return times
}

// A job that is changed between the evaluation and the transaction is asked again.
func TestChangedMeanwhile(t *testing.T) {
	b := newBench(t)
	id := b.running("Foo = 0; OnExitHold = Foo == 7; ")
	times := b.finishAsked(id, func(other bench, times int) {
		if times == 1 {
			other.setOf(id, "Foo", "7")
		}
	})
	if got := b.textOf(id, "JobStatus"); got != "5" || times != 2 {
		t.Errorf("the job has status %s after %d evaluations, want it held after 2", got, times)
	}
}

// A job that is changed each time is not asked for ever: its expressions count as errors then.
func TestChangedAllTheTime(t *testing.T) {
	b := newBench(t)
	id := b.running("Foo = 0; OnExitHold = Foo < 1000; ")
	times := b.finishAsked(id, func(other bench, times int) { other.setOf(id, "Foo", fmt.Sprint(times)) })
	if got := b.textOf(id, "JobStatus"); got != "gone" || times != mostRounds-1 {
		t.Errorf("the job has status %s after %d evaluations, want it gone after %d", got, times, mostRounds-1)
	}
}

// All procs of a range together have a budget, and it is the owner's: others' jobs are not affected.
func TestBudgetOfRange(t *testing.T) {
	b := newBench(t)
	const procs = 2000
	text := chainOf("LeaveJobInQueue", "%s == 2048 && ProcId >= 0")
	hostile := b.submit("bob", procs, strings.Replace(text, "D0 = 1;", "D0 = 1; Owner = \"bob\";", 1))
	honest := b.submit("carol", 2, text)
	b.update(func(tx *spool.Tx) error {
		tx.Op("remove")
		for _, s := range []pool.Procs{{Cluster: hostile, Last: procs - 1}, {Cluster: honest, Last: 1}} {
			if _, err := RemoveAll(tx, s, "x", noon, params); err != nil {
				return err
			}
		}
		return nil
	})
	testenv.OK(t, b.s.View(func(v *spool.View) error {
		stay := 0
		if c, ok := v.Cluster(hostile); ok {
			for _, r := range c.Runs {
				stay += r.Count()
			}
		}
		if stay == 0 || stay == procs {
			t.Errorf("%d of %d jobs stay, want the first ones until the steps are spent", stay, procs)
		}
		return nil
	}))
	if got := b.textOf(pool.JobID{Cluster: honest, Proc: 1}, "JobStatus"); got != "3" {
		t.Errorf("the job of another owner has status %s, want it to stay removed", got)
	}
}

// Jobs of a cluster that end one after the other have their expressions evaluated once, not each.
func TestAnswersAreKept(t *testing.T) {
	b := newBench(t)
	b.setOf(first, "Requirements", "TARGET.Cpus > 1")
	cluster := b.submit("alice", 6, "JobPrio = 9; Requirements = TARGET.Cpus > 1; OnExitRemove = ExitCode == 0; QDate = 17; ")
	b.started(noon)
	b.negotiate(noon.Add(time.Second), nil)
	times := 0
	evaluations(t, func() { times++ })
	var known Answers
	id, at := pool.JobID{Cluster: cluster}, noon.Add(time.Minute)
	for proc := range 4 {
		at = at.Add(time.Second)
		var next pool.JobID
		if err := known.Account(b.s, accountant.Reading{Now: at}, func(tx *spool.Tx) (err error) {
			next, err = b.goesOn(tx, id, at)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if want := (pool.JobID{Cluster: cluster, Proc: proc + 2}); next != want {
			t.Fatalf("after %v the slot goes on with %v, want %v", id, next, want)
		}
		id = next
		if times != 2 {
			t.Errorf("after %d ends there were %d evaluations, want that of OnExitRemove and that of the match", proc+1, times)
		}
	}
}

// The look for a successor ends after so many jobs that do not want the slot.
func TestSuccessorAsksFew(t *testing.T) {
	b := newBench(t)
	cluster := b.submit("alice", mostAsked+9, "JobPrio = 9; PeriodicHold = ProcId > 0; ")
	b.started(noon)
	b.negotiate(noon.Add(time.Second), nil)
	times := 0
	evaluations(t, func() { times++ })
	if next := b.succeeds(pool.JobID{Cluster: cluster}, noon.Add(time.Minute)); next != (pool.JobID{}) || times != mostAsked+1 {
		t.Errorf("the slot goes on with %v after %d evaluations, want none after %d and that of the end", next, times, mostAsked)
	}
}

// The answer to a question depends on nothing but what is in its key: it is the same for the parts of the ads
// as for the ads themselves, whatever refers to what.
func TestQuestionParts(t *testing.T) {
	job := `A = 1; B = A + TARGET.X; C = Foo; D = MY.E; E = TARGET.Y; F = eval("A"); G = {A, B}; H = [ I = A; J = B ].J; K = L; L = M ?: 5; TimerRemove = 12; Unused = 3;
		N = MY; O = TARGET.P.q; TARGETS = A; R = regexp("a", S); S = "cat"; `
	slot := `X = 10; Foo = TARGET.A + 1; Y = TARGET.B; P = [ q = X ]; M = TARGET.A; Unused = 4`
	mine, theirs := adOf(t, job), adOf(t, slot)
	c := &classad.Context{Now: noon}
	for _, name := range mine.OwnNames() {
		q := question{what: "x", now: noon, ads: [2]*classad.Ad{mine, theirs}, names: [2][]string{{name}}}
		parts, key := q.narrow()
		if got, want := parts[0].Eval(c, name, parts[1]).String(), mine.Eval(c, name, theirs).String(); got != want {
			t.Errorf("%s is %s of the parts, and %s of the ads", name, got, want)
		}
		for _, change := range []string{"Unused", "A", "X", "Foo"} {
			for side, ad := range [...]*classad.Ad{mine, theirs} {
				if !ad.Has(change) {
					continue
				}
				other := q
				changed := ad.Clone()
				changed.SetInt(change, 99)
				other.ads[side] = changed
				_, now := other.narrow()
				was, is := mine.Eval(c, name, theirs).String(), other.ads[0].Eval(c, name, other.ads[1]).String()
				if was != is && now == key {
					t.Errorf("%s has one key for %s and, with another %s, for %s", name, was, change, is)
				}
				if change == "Unused" && name != "Unused" && (now == key) != !slices.Contains([]string{"F", "H", "N", "O"}, name) {
					t.Errorf("%s: the key depends on Unused: %t", name, now != key)
				}
			}
		}
	}
}

func adOf(t *testing.T, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd("[" + text + "]")
	testenv.OK(t, err)
	return ad
}
