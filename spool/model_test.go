package spool

import (
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestModel plays random changes against a map of jobs, and holds that the
// runs in the spool, the same read anew, and the map agree, also when the journal is folded now and then.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		model := map[pool.JobID]map[string]string{}
		for range rapid.IntRange(1, 6).Draw(t, "transactions") {
			if err := s.Update(func(tx *Tx) error {
				tx.Op("play")
				for range rapid.IntRange(1, 8).Draw(t, "changes") {
					play(t, tx, model)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 2).Draw(t, "fold") == 0 {
				if _, err := s.Fold(1, nil); err != nil {
					t.Fatal(err)
				}
			}
			fresh, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Spool{s, fresh} {
				if err := s.View(func(v *View) error { return compare(v, model) }); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// play makes one random change to the transaction and the model.
func play(t *rapid.T, tx *Tx, model map[pool.JobID]map[string]string) {
	ids := []pool.JobID{}
	for id := range tx.Jobs() {
		ids = append(ids, id)
	}
	if tx.NextCluster() > 1 && rapid.IntRange(0, 5).Draw(t, "grow") == 0 {
		grow(t, tx, model)
		return
	}
	if len(ids) == 0 || rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
		var runs []NewRun
		id, proc := tx.NextCluster(), 0
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			n, first := rapid.IntRange(1, 6).Draw(t, "procs"), proc
			ad := classad.New()
			ad.SetInt("X", int64(proc))
			runs = append(runs, NewRun{Count: n, Ad: ad})
			for range n {
				model[pool.JobID{Cluster: id, Proc: proc}] = map[string]string{"X": fmt.Sprint(first)}
				proc++
			}
		}
		tx.AddCluster(classad.New(), runs)
		return
	}
	id := ids[rapid.IntRange(0, len(ids)-1).Draw(t, "job")]
	name := rapid.SampledFrom([]string{"X", "Y"}).Draw(t, "attribute")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		tx.Leave(id, noon)
		delete(model, id)
	case 1:
		tx.Set(id, name, nil)
		delete(model[id], name)
	default:
		last := id.Proc
		for model[pool.JobID{Cluster: id.Cluster, Proc: last + 1}] != nil && rapid.Bool().Draw(t, "further") {
			last++
		}
		n := rapid.Int64Range(0, 9).Draw(t, "value")
		tx.SetRange(pool.Procs{Cluster: id.Cluster, First: id.Proc, Last: last}, name, classad.Literal(classad.Int(n)))
		for p := id.Proc; p <= last; p++ {
			model[pool.JobID{Cluster: id.Cluster, Proc: p}][name] = fmt.Sprint(n)
		}
	}
}

// grow adds procs to a cluster, which may have none left.
func grow(t *rapid.T, tx *Tx, model map[pool.JobID]map[string]string) {
	id, first := rapid.IntRange(1, tx.NextCluster()-1).Draw(t, "cluster"), 0
	if c, ok := tx.Cluster(id); ok {
		first = c.Runs[len(c.Runs)-1].Last + 1
	}
	first += rapid.IntRange(0, 2).Draw(t, "gap")
	n := rapid.IntRange(1, 3).Draw(t, "procs")
	for proc := first; proc < first+n; proc++ {
		model[pool.JobID{Cluster: id, Proc: proc}] = map[string]string{}
	}
	tx.Grow(id, classad.New(), first, []NewRun{{Count: n}})
}

func compare(v *View, model map[pool.JobID]map[string]string) error {
	n := 0
	last := pool.JobID{}
	for id, ad := range v.Jobs() {
		n++
		if !last.Less(id) {
			return fmt.Errorf("job %v comes after %v", id, last)
		}
		last = id
		for _, name := range []string{"X", "Y"} {
			want, ok := model[id][name]
			e, has := ad.Lookup(name)
			if has != ok || ok && e.String() != want {
				return fmt.Errorf("%v.%s = %v, want %v", id, name, e, want)
			}
		}
	}
	if n != len(model) || v.Len() != n {
		return fmt.Errorf("%d jobs, Len %d, want %d", n, v.Len(), len(model))
	}
	return nil
}
