package spool

import (
	"bytes"
	"math"
	"os"
	"slices"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// byOwner says that jobs stand in the order of their Owner, but for one whose jobs stand in none.
func byOwner(ad *classad.Ad) (string, bool) {
	owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
	if owner == "user1" {
		return "", false
	}
	return owner, false
}

// TestRepresent holds that clusters that stand for others, with those, are all that there are, and like them.
func TestRepresent(t *testing.T) {
	t.Parallel()
	asked := []string{pool.AttrOwner, pool.AttrJobStatus}
	dir, extract := extracts(t, asked)
	s := mustOpen(t, dir)
	if err := s.Update(func(tx *Tx) error {
		tx.Op("test")
		tx.Set(pool.JobID{Cluster: 2, Proc: 0}, pool.AttrJobStatus, classad.Literal(classad.Int(5)))
		tx.LeaveRange(pool.Procs{Cluster: 4, First: 0, Last: 0}, noon)
		return unlike(tx, 150, 153)
	}); err != nil {
		t.Fatal(err)
	}
	look := func(by Representing, check func(of *View, stands map[int]Stand, ok bool)) {
		t.Helper()
		if err := mustOpen(t, dir).View(func(v *View) error {
			part, _ := v.Part(asked, "")
			of, stands, ok := Represent(part, by)
			check(of, stands, ok)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	var all []pool.Procs
	statuses := map[pool.JobID]*classad.Expr{}
	if err := s.View(func(v *View) error {
		for _, c := range v.Clusters() {
			for _, r := range c.Runs {
				all = append(all, r.Procs)
				statuses[r.FirstJob()], _ = r.Ad.Lookup(pool.AttrJobStatus)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	by := Representing{Kind: byOwner, Alone: map[int]bool{8: true}, Spares: -10}
	look(by, func(of *View, stands map[int]Stand, ok bool) {
		if !ok || len(stands) == 0 {
			t.Fatalf("%v, %v", stands, ok)
		}
		var found []pool.Procs
		for _, c := range of.Clusters() {
			stand, is := stands[c.ID]
			if !is {
				for _, r := range c.Runs {
					found = append(found, r.Procs)
				}
				continue
			}
			n := 0
			status, _ := c.Runs[0].Ad.Lookup(pool.AttrJobStatus)
			for r := range stand.Runs() {
				n += r.Count()
				if r.Cluster == 8 || statuses[r.FirstJob()].String() != status.String() {
					t.Errorf("cluster %d stands for %v, whose JobStatus is %v, not %v", c.ID, r.Procs, statuses[r.FirstJob()], status)
				}
				if at, _ := r.Proc(r.First).EvalInt(&classad.Context{}, pool.AttrQDate); at != int64(1790000000+r.Cluster-1) {
					t.Errorf("cluster %d was submitted at %d", r.Cluster, at)
				}
				found = append(found, r.Procs)
			}
			if n != c.Runs[0].Count() || len(c.Runs) > 1 {
				t.Errorf("cluster %d has %v for %d procs", c.ID, c.Runs, n)
			}
		}
		slices.SortFunc(found, pool.Procs.Compare)
		if !slices.Equal(found, all) {
			t.Errorf("there are %v\nand were %v", found, all)
		}
	})
	by.Spares = math.MaxInt
	look(by, func(_ *View, _ map[int]Stand, ok bool) {
		if ok {
			t.Error("more clusters are left than wanted")
		}
	})
	by.Spares = -10
	text, err := os.ReadFile(extract)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(text); at += 53 {
		changed := bytes.Clone(text)
		changed[at] ^= 4
		if err := os.WriteFile(extract, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		look(by, func(_ *View, _ map[int]Stand, ok bool) {
			if ok {
				t.Fatalf("byte %d of the extract changed, and it is believed", at)
			}
		})
	}
}
