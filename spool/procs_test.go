package spool

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
)

// TestNewRunsLaw holds that runs are written the same whether their attributes are
// given one by one or as ads, and whether or not the transaction has read the
// queue; and that each value reads back.
func TestNewRunsLaw(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "spool"), Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	value := rapid.OneOf(
		rapid.Map(rapid.String(), classad.String),
		rapid.Map(rapid.SampledFrom([]string{"", "plain", `a "quoted" \\`, "\xff", "tab\t", "é", "\x7f", "~ "}), classad.String),
		rapid.Map(rapid.Int64(), classad.Int),
		rapid.Map(rapid.SampledFrom([]int64{0, -1, 999999999999999, 1000000000000000, math.MinInt64}), classad.Int),
		rapid.Map(rapid.Float64(), classad.Real),
		rapid.Map(rapid.Bool(), classad.Bool),
		rapid.Just(classad.Value{}),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Args", "a_1", "an odd \"name", "", "1st", "é"}).Draw(t, "name")
		values := rapid.SliceOfN(value, 1, 4).Draw(t, "values")
		var bodies []string
		for _, read := range []bool{false, true} {
			for _, ads := range []bool{false, true} {
				var runs []NewRun
				for i, v := range values {
					runs = append(runs, newRun(i+1, name, v, ads))
				}
				bodies = append(bodies, bodyOf(t, s, runs, values, read))
			}
		}
		for i, b := range bodies {
			if b != bodies[0] {
				t.Fatalf("body %d is\n%swant\n%s", i, b, bodies[0])
			}
		}
	})
}

// newRun returns a run with one attribute.
func newRun(count int, name string, v classad.Value, inAd bool) NewRun {
	if !inAd {
		return NewRun{Count: count, Attrs: []Attr{{name, classad.Literal(v)}}}
	}
	ad := classad.New()
	ad.Set(name, classad.Literal(v))
	return NewRun{Count: count, Ad: ad}
}

// bodyOf returns what a transaction writes of a cluster of runs, whose attribute
// has the values, and takes it back.
func bodyOf(t *rapid.T, s *Spool, runs []NewRun, values []classad.Value, read bool) (body string) {
	refused := errors.New("only built")
	err := s.Update(func(tx *Tx) error {
		if read {
			tx.Len()
		}
		tx.Op("submit")
		id := tx.AddCluster(classad.New(), runs)
		body = string(tx.body)
		c, ok := tx.Cluster(id)
		if !ok || len(c.Runs) != len(values) {
			return fmt.Errorf("the cluster is %v, %v", c, ok)
		}
		for i, r := range c.Runs {
			got, _ := r.Ad.Lookup(r.Ad.OwnNames()[0])
			if text, want := got.Format(classad.StyleSpool), classad.Literal(values[i]).Format(classad.StyleSpool); text != want {
				return fmt.Errorf("run %d has %s, want %s", i, text, want)
			}
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	return body
}

// TestNewRunsTooMany holds that procs beyond what a number of one can be are
// refused.
func TestNewRunsTooMany(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{false, true} {
		err := attempt(filepath.Join(t.TempDir(), "spool"), files.Disk{}, func(tx *Tx) error {
			if read {
				tx.Len()
			}
			tx.Op("submit")
			tx.AddCluster(classad.New(), []NewRun{{Count: math.MaxInt32}, {Count: math.MaxInt}, {Count: 1, Ad: jobAd("a")}})
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("AddCluster of too many = %v, want a refusal", err)
		}
	}
}

// TestStateAfterCommit holds that a handle that read the queue in the middle of a
// transaction has what the transaction wrote before, once it is committed.
func TestStateAfterCommit(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "spool"), Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Update(func(tx *Tx) error {
		tx.Op("submit", strings.Repeat("an argument ", 20))
		tx.AddCluster(jobAd("alice"), []NewRun{{Count: 1, Attrs: []Attr{{"Args", classad.Literal(classad.String("1"))}}}, {Count: 1}})
		tx.PutBackoff(pool.Backoff{Slot: "slot1@host", Failures: 1, Until: noon})
		tx.Submitters() // reads all that, and makes nothing of it
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.View(func(v *View) error {
		c, ok := v.Cluster(1)
		if !ok || c.jobs() != 2 || c.common("Owner") != `"alice"` || len(v.Backoffs()) != 1 {
			return fmt.Errorf("cluster 1 is %+v, %v; slots left alone: %v", c, ok, v.Backoffs())
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
