package spool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairspool/lib/pool"
)

// spelled is how some attributes of each job are written.
func spelled(clusters []*Cluster, names []string) string {
	var b strings.Builder
	for _, c := range clusters {
		for _, r := range c.Runs {
			fmt.Fprintf(&b, "%v %d", r.Procs, r.Seq)
			for p := r.First; p <= r.Last; p++ {
				for _, name := range names {
					e, _ := r.Proc(p).Lookup(name)
					fmt.Fprintf(&b, " %s=%v", name, e)
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestPartLaw holds that a view of a part says of what it reads what the whole one does, as the spool
// changes, and that it notes whatever else is looked up.
func TestPartLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		open := func() *Spool {
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
			if err != nil {
				rt.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
		writer, reader := open(), open()
		read := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"X", "xylem", "odd name", "ClusterId", "QDate", "EnteredCurrentStatus"}), strings.ToLower).Draw(rt, "read")
		ask := slices.Concat(read, []string{"Y", "ClusterId", "ProcId", "Requirements", "TARGET"})
		for range rapid.IntRange(1, 4).Draw(rt, "transactions") {
			by := writer
			if rapid.Bool().Draw(rt, "by the reader") {
				by = reader
			}
			if err := by.Update(func(tx *Tx) error {
				ad := drawAttrs(rt, 3)
				ad.SetString(pool.AttrName, "s")
				tx.PutSlot("s", ad)
				changeQueue(rt, tx)
				return nil
			}); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "folded") {
				if _, err := by.Fold(1, nil); err != nil {
					rt.Fatal(err)
				}
			}
			if err := reader.View(func(v *View) error {
				if rapid.Bool().Draw(rt, "some are made") {
					v.Cluster(1)
					v.Advertised("s")
				}
				part, u := v.Part(read, "Y")
				if got, want := spelled(part.Clusters(), ask), spelled(v.Clusters(), ask); got != want {
					rt.Errorf("in part:\n%s\nwhole:\n%s", got, want)
				}
				if missed, all := u.Missed(); len(missed) > 0 || all {
					rt.Errorf("read %q, asked for %q, and missed %q (all %v)", read, ask, missed, all)
				}
				slots, _ := part.Slots()
				whole, _ := v.Slots()
				for _, name := range read {
					a, _ := slots[0].Ad.Lookup(name)
					b, _ := whole[0].Ad.Lookup(name)
					if fmt.Sprint(a) != fmt.Sprint(b) || slots[0].Seq != whole[0].Seq {
						rt.Errorf("slot's %s in part %v (%d), whole %v (%d)", name, a, slots[0].Seq, b, whole[0].Seq)
					}
				}
				return nil
			}); err != nil {
				rt.Fatal(err)
			}
		}
		if err := open().View(func(v *View) error {
			part, u := v.Part(read, "Y")
			list := part.Clusters()
			for _, c := range list {
				c.Runs[0].Proc(0).Has("Unheard")
			}
			if missed, _ := u.Missed(); len(list) > 0 && !slices.Equal(missed, []string{"unheard"}) {
				rt.Errorf("Unheard was looked up, noted is %q", missed)
			}
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
	})
}
