package spool

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// ownersOf returns the owners' counts that a view has on record, and those of a look at all that
// is there.
func ownersOf(t *rapid.T, v *View) (recorded, there map[string]Owner) {
	recorded = map[string]Owner{}
	all, err := v.state().owners.all()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(recorded, all)
	factories, err := v.state().factories.all()
	if err != nil {
		t.Fatal(err)
	}
	return recorded, counted(v.Clusters(), factories)
}

// TestOwnersLaw holds that what is on record of owners is what a look at all clusters finds, and
// what the transactions put in and took out, whatever was done: submitted, grown, taken out, given up, refused, folded,
// killed, dumped and restored. A transaction that reads no state finds the same counts.
func TestOwnersLaw(test *testing.T) {
	test.Parallel()
	top := test.TempDir()
	n := 0
	rapid.Check(test, func(t *rapid.T) {
		n++
		dir := filepath.Join(top, fmt.Sprint(n))
		o := Options{Program: "test", UIDDomain: "x"}
		jobs := map[string]int{} // by owner, as it should be
		s, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		again := func() {
			s.Close()
			if s, err = Open(dir, o); err != nil {
				t.Fatal(err)
			}
		}
		owner := rapid.SampledFrom([]string{"alice", "bob", `o"dd`, "carol", "\x01\u00e9"})
		submit := func(t *rapid.T, tx *Tx, name string) int {
			count := 0
			var runs []NewRun
			for range rapid.IntRange(1, 3).Draw(t, "runs") {
				r := NewRun{Count: rapid.IntRange(1, 20).Draw(t, "count"), Attrs: []Attr{{"Args", classad.Literal(classad.String(rapid.StringN(0, 9, -1).Draw(t, "args")))}}}
				runs, count = append(runs, r), count+r.Count
			}
			ad := classad.New()
			ad.SetString("Owner", name)
			id := tx.AddCluster(ad, runs)
			if rapid.Bool().Draw(t, "late") {
				tx.AddFactory(Factory{Cluster: id, Owner: name, Next: count, Jobs: count + 9}, []byte(rapid.StringN(1, 99, -1).Draw(t, "digest")))
			}
			return count
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"submit", "submit", "leave", "leave", "set", "grow", "drop", "refused", "fold", "again", "dump", "killed"}).Draw(t, "step") {
			case "submit":
				name, count := owner.Draw(t, "owner"), 0
				before := jobs[name]
				err = s.Update(func(tx *Tx) error {
					tx.Op("submit")
					if rapid.Bool().Draw(t, "reads") {
						tx.Clusters()
					}
					if got := tx.Owner(name).Jobs; got != before {
						t.Fatalf("%s has %d jobs, want %d", name, got, before)
					}
					count = submit(t, tx, name)
					if got := tx.Owner(name).Jobs; got != before+count {
						t.Fatalf("%s has %d jobs in the transaction that adds %d to %d", name, got, count, before)
					}
					return nil
				})
				jobs[name] += count
			case "refused":
				err = s.Update(func(tx *Tx) error {
					tx.Op("submit")
					submit(t, tx, owner.Draw(t, "owner"))
					return io.ErrUnexpectedEOF
				})
				if err == io.ErrUnexpectedEOF {
					err = nil
				}
			case "killed":
				layer := newFaulty()
				layer.arm(fault{at: rapid.IntRange(1, 12).Draw(t, "at"), torn: rapid.IntRange(0, 100).Draw(t, "torn")})
				name, count := owner.Draw(t, "owner"), 0
				s.Close()
				attempted := attempt(dir, layer, func(tx *Tx) error {
					tx.Op("submit")
					count = submit(t, tx, name)
					return nil
				})
				again()
				if attempted == nil {
					jobs[name] += count
					break
				}
				err = s.Update(func(v *Tx) error { // it notes the journal's end anew
					if got := v.Owner(name).Jobs; got != jobs[name] && got != jobs[name]+count {
						t.Fatalf("after a crash %s has %d jobs, want %d or %d", name, got, jobs[name], count+jobs[name])
					} else {
						jobs[name] = got
					}
					return nil
				})
			case "leave", "set", "grow", "drop":
				what := rapid.SampledFrom([]string{"leave", "set", "grow", "drop"}).Draw(t, "what")
				err = s.Update(func(tx *Tx) error {
					tx.Op("change")
					list := tx.Clusters()
					if len(list) == 0 {
						return nil
					}
					c := list[rapid.IntRange(0, len(list)-1).Draw(t, "cluster")]
					r := c.Runs[rapid.IntRange(0, len(c.Runs)-1).Draw(t, "run")]
					name, _ := c.Charged()
					switch what {
					case "leave":
						first := rapid.IntRange(r.First, r.Last).Draw(t, "first")
						last := rapid.IntRange(first, r.Last).Draw(t, "last")
						jobs[name] -= last - first + 1
						tx.LeaveRange(pool.Procs{Cluster: c.ID, First: first, Last: last}, noon)
					case "set":
						tx.Set(pool.JobID{Cluster: c.ID, Proc: r.First}, "Args", classad.Literal(classad.String(rapid.String().Draw(t, "args"))))
					case "grow":
						count := rapid.IntRange(1, 9).Draw(t, "count")
						ad := c.Ad
						if rapid.Bool().Draw(t, "all leave first") {
							jobs[name] -= c.jobs()
							for len(c.Runs) > 0 {
								tx.LeaveRange(c.Runs[0].Procs, noon)
							}
						}
						tx.Grow(c.ID, ad, 1000*int(tx.Seq()), []NewRun{{Count: count}})
						jobs[name] += count
					case "drop":
						tx.DropFactory(c.ID)
					}
					return nil
				})
			case "fold":
				_, err = s.Fold(1, nil)
			case "again":
				again()
			case "dump":
				var text strings.Builder
				if err := s.Dump(&text); err != nil {
					t.Fatal(err)
				}
				s.Close()
				n++
				dir = filepath.Join(top, fmt.Sprint(n))
				if _, err := Restore(dir, strings.NewReader(text.String()), o, nil); err != nil {
					t.Fatal(err)
				}
				again()
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.View(func(v *View) error {
				recorded, there := ownersOf(t, v)
				if !maps.Equal(recorded, there) {
					t.Fatalf("on record: %v\nthere: %v", recorded, there)
				}
				for _, name := range slices.Sorted(maps.Keys(jobs)) {
					if got := v.Owner(name).Jobs; got != jobs[name] {
						t.Fatalf("%s has %d jobs, want %d", name, got, jobs[name])
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if report, sound := checkOf(test, dir); !sound {
			t.Fatalf("the spool is not sound: %s", report)
		}
	})
}

// TestCheckOwners holds that counts that are not what is there are damage.
func TestCheckOwners(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Update(func(tx *Tx) error {
		tx.Op("test")
		tx.charge("carol", Owner{Jobs: 1})
		tx.charge("erin", Owner{Clusters: 1})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	report, sound := checkOf(t, dir)
	for _, want := range []string{"carol has 11 jobs in 1 cluster of ", ", and is on record with 12 jobs in 1 cluster of ", "erin has 0 jobs in 0 clusters of 0 bytes, and is on record with 0 jobs in 1 cluster of 0 bytes"} {
		if sound || !strings.Contains(report, want) {
			t.Errorf("check says %v, %s\nwant ...%s...", sound, report, want)
		}
	}
}

// TestPart holds that the parts of a cluster's procs come to the whole.
func TestPart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 1<<53).Draw(t, "bytes")
		left, procs := whole, rapid.IntRange(1, 1<<31-1).Draw(t, "procs")
		for procs > 0 {
			n := rapid.IntRange(1, procs).Draw(t, "leave")
			taken := part(left, n, procs)
			if taken < 0 || taken > left {
				t.Fatalf("%d of %d procs take %d of %d bytes", n, procs, taken, left)
			}
			left, procs = left-taken, procs-n
		}
		if left != 0 {
			t.Fatalf("%d bytes are left of %d", left, whole)
		}
	})
}
