package spool

import (
	"fmt"
	"path/filepath"
	"testing"

	"fairspool/lib/classad"
)

// filled is a spool with so many clusters of so many equal procs.
func filled(b *testing.B, clusters, procs int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "spool")
	s, err := Open(dir, Options{Program: "bench", UIDDomain: "x"})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Update(func(tx *Tx) error {
		tx.Op("submit")
		for i := range clusters {
			ad := jobAd(fmt.Sprintf("user%d", i%10))
			for n := range 20 {
				ad.SetInt(fmt.Sprint("Attribute", n), int64(n*i%100))
			}
			tx.AddCluster(ad, []NewRun{{Count: procs}})
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkView reads all jobs of a spool anew, from the journal and from
// segments: what a command costs that looks at the whole queue.
func BenchmarkView(b *testing.B) {
	for _, size := range []struct{ clusters, procs int }{{100, 1000}, {10000, 1}} {
		for _, folded := range []bool{false, true} {
			b.Run(fmt.Sprintf("jobs=%dx%d/folded=%v", size.clusters, size.procs, folded), func(b *testing.B) {
				dir := filled(b, size.clusters, size.procs)
				if folded {
					foldAll(b, dir)
				}
				b.ReportAllocs()
				for b.Loop() {
					s, err := Open(dir, Options{UIDDomain: "x"})
					if err != nil {
						b.Fatal(err)
					}
					if err := s.View(func(v *View) error { v.Clusters(); return nil }); err != nil {
						b.Fatal(err)
					}
					s.Close()
				}
			})
		}
	}
}

// BenchmarkSubmit adds a cluster to a queue of 100,000 jobs that it does not
// read; most of it is the sync.
func BenchmarkSubmit(b *testing.B) {
	dir := filled(b, 100, 1000)
	for b.Loop() {
		if err := attempt(dir, disk{}, operations[0].do); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSet changes one job of 100,000 through a handle that has read them.
func BenchmarkSet(b *testing.B) {
	s, err := Open(filled(b, 100, 1000), Options{UIDDomain: "x"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Update(func(tx *Tx) error {
			tx.Op("set")
			tx.SetRange(7, 500, 500, "JobPrio", classad.Literal(classad.Int(3)))
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}
