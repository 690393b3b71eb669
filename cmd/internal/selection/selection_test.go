package selection

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// view runs fn on a queue of clusters 1 (alice, procs 0 to 6, of which 4 reads
// differently) and 2 (bob, whose User is bob@pool).
func view(t *testing.T, fn func(*spool.View)) {
	t.Helper()
	s, err := spool.Open(t.TempDir(), spool.Options{Program: "test", UIDDomain: "pool"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ad := func(owner string) *classad.Ad {
		a := classad.New()
		a.SetString(pool.AttrOwner, owner)
		return a
	}
	if err := s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		tx.AddCluster(ad("alice"), []spool.NewRun{{Count: 7}})
		bob := ad("bob")
		bob.SetString(pool.AttrUser, "bob@pool")
		tx.AddCluster(bob, []spool.NewRun{{Count: 1}})
		tx.Set(pool.JobID{Cluster: 1, Proc: 4}, pool.AttrJobPrio, classad.Literal(classad.Int(1)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(names.In(v)); got != c.want {
				t.Errorf("In(%s) = %s, want %s", c.args, got, c.want)
			}
		}
		if got, want := shown(All().In(v)), "1.0-3 1.4-4 1.5-6 2.0-0"; got != want {
			t.Errorf("All = %s, want %s", got, want)
		}
	})
}

func shown(spans []Span, missing []string) string {
	var list []string
	for _, s := range spans {
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
			spans, _ := names.In(v)
			last := pool.JobID{}
			for i, s := range spans {
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
