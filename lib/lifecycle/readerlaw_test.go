package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// TestReaderLaw holds that what a Reader keeps does not show: its snapshot after any changes has the jobs, claims, slots and summaries
// that a new Reader's has, and runs of one Likeness have the same ads but for the attributes in jobprio.Apart.
func TestReaderLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := spool.InMemory("example.org")
		beside := policy.Beside{Held: rapid.Bool().Draw(t, "held"), Running: rapid.Bool().Draw(t, "running")}
		r := NewReader(s.Domain(), nil, beside)
		known, among := map[string]*jobad.Jobs{}, classad.NewInterner()
		last := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if err := s.Update(func(tx *spool.Tx) error {
				tx.Op("any")
				return anyChange(t, tx, known, among, &last)
			}); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(t, "looked at later") == 0 {
				continue
			}
			s.View(func(v *spool.View) error {
				seen := r.Snapshot(v)
				got := seen.Pool
				fresh := NewReader(s.Domain(), nil, beside).Snapshot(v)
				want := fresh.Pool
				running, starts := ran(got.Running)
				wantRunning, wantStarts := ran(want.Running)
				for _, both := range [][2][]jobprio.Run{{got.Jobs, want.Jobs}, {got.Held, want.Held}, {running, wantRunning}} {
					if a, b := inWords(both[0]), inWords(both[1]); !slices.Equal(a, b) {
						t.Fatalf("it has\n%s\nand a new one\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
					}
				}
				holdLikenesses(t, append(running, got.Jobs...))
				if a, b := fmt.Sprintf("%+v %+v %+v %+v", starts, got.Claims, got.Slots, seen.Summaries()), fmt.Sprintf("%+v %+v %+v %+v", wantStarts, want.Claims, want.Slots, fresh.Summaries()); a != b {
					t.Fatalf("it has\n%s\nand a new one\n%s", a, b)
				}
				return nil
			})
		}
	})
}

// anyChange submits jobs, which are often like earlier ones, or changes some.
func anyChange(t *rapid.T, tx *spool.Tx, known map[string]*jobad.Jobs, among *classad.Interner, last *int) error {
	now := noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "minutes")) * time.Minute)
	what := rapid.IntRange(0, 11).Draw(t, "what")
	if what == 8 {
		ad := classad.New()
		ad.SetString(pool.AttrMachine, "here")
		ad.Set(pool.AttrCpus, rapid.SampledFrom([]*classad.Expr{classad.Literal(classad.Int(1)), classad.Literal(classad.Int(2))}).Draw(t, "cpus"))
		tx.PutSlot(fmt.Sprintf("slot%d@here", rapid.IntRange(1, 12).Draw(t, "slot")), ad)
		return nil
	}
	if *last == 0 || what < 3 {
		text := fmt.Sprintf("executable = /x\nrequest_memory = %d\nqueue %d\n", rapid.IntRange(1, 2).Draw(t, "memory"), rapid.IntRange(1, 3).Draw(t, "procs"))
		owner := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "owner")
		jobs := known[owner+text]
		if jobs == nil {
			d, _, err := submitfile.Parse(text, "a.sub", submitfile.Options{})
			if err == nil {
				jobs, _, err = jobad.New(d, jobad.Options{Owner: owner, Domain: "example.org", Dir: "/", Now: now})
			}
			if err != nil {
				return err
			}
			known[owner+text] = jobs
		}
		jobs.Again(now, among)
		id, _, err := Submit(tx, jobs, anyRights(owner))
		*last = id
		return err
	}
	c, there := tx.Cluster(rapid.IntRange(1, *last).Draw(t, "cluster"))
	if !there {
		return nil
	}
	run := c.Runs[rapid.IntRange(0, len(c.Runs)-1).Draw(t, "run")]
	some := run.Procs
	some.First = rapid.IntRange(run.First, run.Last).Draw(t, "first")
	first := pool.JobID{Cluster: c.ID, Proc: some.First}
	var err error
	switch what {
	case 9, 10:
		tx.PutClaim(pool.Claim{Job: first, Attempt: 1, Slot: "slot1@here", Submitter: Submitter(run.Ad, "example.org", nil), State: pool.RunningClaim, StartedAt: now})
	case 11:
		tx.DropClaim(first)
	case 3:
		_, err = Hold(tx, some, pool.Reason{Text: "x", Code: 1}, now, params)
	case 4:
		_, err = Release(tx, some, "x", now)
	case 5:
		_, err = RemoveAll(tx, some, "x", now, params)
	case 6:
		tx.SetRange(some, pool.AttrJobPrio, classad.Literal(classad.Int(int64(rapid.IntRange(0, 1).Draw(t, "prio")))))
	default:
		tx.SetCommon(c.ID, pool.AttrQDate, classad.Literal(classad.Int(noon.Unix())))
	}
	return err
}

// inWords returns runs as texts.
func inWords(runs []jobprio.Run) (list []string) {
	for _, r := range runs {
		list = append(list, fmt.Sprintf("%v %s %s", r.Procs, r.Submitter, r.Ad.Flat().Format(classad.StyleSpool)))
	}
	return list
}

// ran returns the runs of running jobs, and when they began.
func ran(jobs []jobprio.Running) (runs []jobprio.Run, starts []time.Time) {
	for _, j := range jobs {
		runs, starts = append(runs, j.Run), append(starts, j.Started)
	}
	return runs, starts
}

func holdLikenesses(t *rapid.T, runs []jobprio.Run) {
	first := map[*jobprio.Likeness]string{}
	for _, r := range runs {
		if r.Likeness == nil {
			continue
		}
		if at, _ := r.Ad.EvalInt(&classad.Context{}, pool.AttrQDate); at != r.QDate {
			t.Fatalf("%v: QDate %d, want %d", r.Procs, r.QDate, at)
		}
		ad := r.Ad.Flat()
		for _, name := range jobprio.Apart {
			ad.Delete(name)
		}
		text := r.Submitter + ad.Format(classad.StyleSpool)
		if is, known := first[r.Likeness]; known && is != text {
			t.Fatalf("%v is not like another job of its Likeness:\n%s\n%s", r.Procs, text, is)
		}
		first[r.Likeness] = text
	}
}
