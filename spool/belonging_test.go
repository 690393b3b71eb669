package spool

import (
	"fmt"
	"slices"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// TestBelonging holds that all clusters that may have jobs of a user are found,
// whatever says whose they are, and that others are left alone once the index
// knows them.
func TestBelonging(t *testing.T) {
	t.Parallel()
	dir := fixture(t) // cluster 1 is carol's
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text := func(name, value string) *classad.Ad {
		ad := classad.New()
		e, err := classad.ParseExpr(value)
		if err != nil {
			t.Fatal(err)
		}
		ad.Set(name, e)
		return ad
	}
	if err := s.Update(func(tx *Tx) error {
		tx.Op("submit")
		tx.AddCluster(text("Owner", `"alice"`), []NewRun{{Count: 3}})                                         // 2
		tx.AddCluster(text("Owner", `"bob"`), []NewRun{{Count: 1}, {Count: 1, Ad: text("owner", `"alice"`)}}) // 3
		tx.AddCluster(text("Owner", `strcat("al", "ice")`), []NewRun{{Count: 1}})                             // 4
		tx.AddCluster(text("User", `"alice"`), []NewRun{{Count: 1}})                                          // 5
		tx.AddCluster(text("Cmd", `"x"`), []NewRun{{Count: 1}})                                               // 6
		tx.AddCluster(text("Owner", `"al\"ice"`), []NewRun{{Count: 1}})                                       // 7
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	ids := func(users ...string) (list []int) {
		t.Helper()
		fresh, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
		if err != nil {
			t.Fatal(err)
		}
		defer fresh.Close()
		if err := fresh.View(func(v *View) error {
			for _, c := range v.Belonging(users) {
				list = append(list, c.ID)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, c := range []struct {
		users []string
		want  []int
	}{
		{[]string{"alice"}, []int{2, 3, 4, 5}},
		{[]string{"bob"}, []int{3, 4}},
		{[]string{"carol", "alice"}, []int{1, 2, 3, 4, 5}},
		{[]string{`al"ice`}, []int{3, 4, 7}},
		{[]string{"nobody"}, []int{3, 4}},
		{nil, nil},
	} {
		if got := ids(c.users...); !slices.Equal(got, c.want) {
			t.Errorf("Belonging(%q) = %v, want %v", c.users, got, c.want)
		}
	}
	if err := s.Update(func(tx *Tx) error {
		tx.Op("set")
		tx.Set(pool.JobID{Cluster: 6}, "Owner", classad.Literal(classad.String("dave")))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := ids("dave"); !slices.Contains(got, 6) {
		t.Errorf("after a change of cluster 6, Belonging(dave) = %v, want 6 among them", got)
	}
	if err := s.View(func(v *View) error {
		v.Clusters()
		if got := fmt.Sprint(len(v.Belonging([]string{"alice"}))); got != "7" {
			return fmt.Errorf("with everything read, Belonging = %s clusters, want all 7", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
