package selection

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// view runs fn on a queue of clusters 1 (alice, procs 0 to 6, of which 4 reads
// differently) and 2 (bob, whose User is bob@pool).
func view(t *testing.T, fn func(*spool.View)) {
	t.Helper()
	s, err := spool.Open(t.TempDir(), spool.Options{Program: "test", UIDDomain: "pool"})
	testenv.OK(t, err)
	defer s.Close()
	ad := func(owner string) *classad.Ad {
		a := classad.New()
		a.SetString(pool.AttrOwner, owner)
		return a
	}
	testenv.OK(t, s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.AddCluster(ad("alice"), []spool.NewRun{{Count: 7}})
		bob := ad("bob")
		bob.SetString(pool.AttrUser, "bob@pool")
		tx.AddCluster(bob, []spool.NewRun{{Count: 1}})
		tx.Set(pool.JobID{Cluster: 1, Proc: 4}, pool.AttrJobPrio, classad.Literal(classad.Int(1)))
		return nil
	}))
	if err := s.View(func(v *spool.View) error { fn(v); return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestIn(t *testing.T) {
	view(t, func(v *spool.View) {
		for _, c := range []struct{ args, want string }{
			{"1", "1.0-3 1.4-4 1.5-6"},
			{"1.0 1.2 1.1 1.1", "1.0-2"},
			{"1.3 1.5 1.4", "1.3-3 1.4-4 1.5-5"},
			{"1.6 1 2.0", "1.0-3 1.4-4 1.5-6 2.0-0"},
			{"bob", "2.0-0"},
			{"bob@pool 1.2", "1.2-2 2.0-0"},
			{"1.7 9 2.1 dave bob@else 1.0", "1.0-0 missing 1.7 2.1 9 bob@else dave"},
			{"1 1.7", "1.0-3 1.4-4 1.5-6 missing 1.7"},
			{"1.1-5", "1.1-3 1.4-4 1.5-5"},
			{"1.2-99 1.0-0", "1.0-0 1.2-3 1.4-4 1.5-6"},
			{"1.0-6:2", "1.0-0 1.2-2 1.4-4 1.6-6"},
			{"1.1-2147483647:3 1.0 1.1", "1.0-1 1.4-4"},
			{"1.0-6:2 1.1-3:1", "1.0-3 1.4-4 1.6-6"},
			{"1.7-9 1.7-9:2 1.3-9", "1.3-3 1.4-4 1.5-6 missing 1.7-9 1.7-9:2"},
			{"1-2", "1.0-3 1.4-4 1.5-6 2.0-0"},
			{"2-5", "2.0-0"},
			{"2-99999 3-5 1.2", "1.2-2 2.0-0 missing 3-5"},
			{"01 1", "1.0-3 1.4-4 1.5-6"},
		} {
			names, err := Parse(strings.Fields(c.args))
			testenv.OK(t, err)
			if got := shown(names.In(v)); got != c.want {
				t.Errorf("In(%s) = %s, want %s", c.args, got, c.want)
			}
		}
		if got, want := shown(All().In(v)), "1.0-3 1.4-4 1.5-6 2.0-0"; got != want {
			t.Errorf("All = %s, want %s", got, want)
		}
	})
}

func shown(procs []Procs, missing []string) string {
	var list []string
	for _, s := range procs {
		list = append(list, fmt.Sprintf("%d.%d-%d", s.Cluster, s.First, s.Last))
	}
	if len(missing) > 0 {
		list = append(append(list, "missing"), missing...)
	}
	return strings.Join(list, " ")
}

func TestParseRefuses(t *testing.T) {
	for _, arg := range []string{"", "-1", "0", "1.", "1.-0", "1.0.0", "1x", "2-1", "1-", "0-1", "1-2-3", "1-x", "1.3-2", "1.0-", "1.0-1.3", "1.0:2", "1.0-3:0", "1.0-3:", "1.0-3:x", "1.x-2", "1.0-2:99999999999", "99999999999", "*", " alice"} {
		if _, err := Parse([]string{arg}); err == nil {
			t.Errorf("Parse(%q) = nil, want an error", arg)
		}
	}
}

// Each job is named at most once, in ascending order, however often and in
// whatever order the arguments name it.
func TestInIsASet(t *testing.T) {
	words := []string{"1", "1.0", "1.1", "1.3", "1.4", "1.5", "1.6", "1.9", "1.2-5", "1.0-6:3", "1-2", "3-9", "2", "2.0", "alice", "bob", "carol"}
	view(t, func(v *spool.View) {
		rapid.Check(t, func(r *rapid.T) {
			args := rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(r, "args")
			names, err := Parse(args)
			if err != nil {
				r.Fatal(err)
			}
			procs, _ := names.In(v)
			last := pool.JobID{}
			for i, s := range procs {
				for id := range s.Jobs() {
					if (i > 0 || id.Proc > s.First) && !last.Less(id) {
						r.Errorf("In(%q): %v behind %v", args, id, last)
					}
					last = id
				}
				if s.First < s.Run.First || s.Last > s.Run.Last {
					r.Errorf("In(%q): procs %d-%d of the run %d-%d", args, s.First, s.Last, s.Run.First, s.Run.Last)
				}
			}
		})
	})
}

// Of any rows those are met that have one of the procs, each once.
func TestRowsMeet(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var named rows
		proc := rapid.IntRange(0, 40)
		for i := range rapid.IntRange(0, 20).Draw(r, "rows") {
			first := proc.Draw(r, "first")
			named.add(row{pool.Procs{Cluster: 1, First: first, Last: first + rapid.IntRange(0, 12).Draw(r, "more")}, rapid.IntRange(1, 9).Draw(r, "step"), fmt.Sprint(i)})
		}
		first := proc.Draw(r, "span")
		last := first + rapid.IntRange(0, 12).Draw(r, "width")
		var want []string
		for _, p := range named.all() {
			for n := p.First; n <= p.Last; n += p.step {
				if n >= first && n <= last {
					want = append(want, p.word)
					break
				}
			}
		}
		named.arrange()
		var got []string
		named.meet(pool.Procs{Cluster: 1, First: first, Last: last}, func(p row) { got = append(got, p.word) })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Errorf("meet(%d, %d) of %v = %v, want %v", first, last, named.list, got, want)
		}
	})
}

// What many name in steps is held once.
func TestPiecesOnce(t *testing.T) {
	var stepped []row
	for i := range 100 {
		stepped = append(stepped, row{pool.Procs{Cluster: 1, First: i % 2 * 3, Last: 9}, 3, fmt.Sprint(i)})
	}
	var got []int
	for _, p := range pieces(pool.Procs{Cluster: 1, First: 2, Last: 7}, nil, stepped) {
		got = append(got, p.First)
	}
	if want := []int{3, 6}; !slices.Equal(got, want) {
		t.Errorf("pieces of 2-7 = %v, want %v", got, want)
	}
}

// BenchmarkNaming asks of each second job of a cluster, named one by one, which of
// the names it has: it costs no look at the others.
func BenchmarkNaming(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var args []string
			for p := range n {
				args = append(args, fmt.Sprintf("1.%d", 2*p))
			}
			names, err := Parse(args)
			testenv.OK(b, err)
			b.ResetTimer()
			for i := range b.N {
				id := pool.JobID{Cluster: 1, Proc: 2 * (i % n)}
				var got int
				names.procs[1].meet(pool.Only(id), func(row) { got++ })
				if got != 1 {
					b.Fatalf("job %v has %d names, want 1", id, got)
				}
			}
		})
	}
}
