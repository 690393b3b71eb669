package spool

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool/internal/files"
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
		if err := attempt(dir, files.Disk{}, operations[0].do); err != nil {
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
			tx.SetRange(pool.Procs{Cluster: 7, First: 500, Last: 500}, "JobPrio", classad.Literal(classad.Int(3)))
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// unequal returns so many runs of one proc that differ in two texts, each given
// by itself or as ads.
func unequal(runs int, ads bool) []NewRun {
	list := make([]NewRun, runs)
	for i := range list {
		args, out := fmt.Sprintf("-seed %d -o result", i), fmt.Sprintf("results/out.%d.txt", i)
		list[i].Count = 1
		if !ads {
			list[i].Attrs = []Attr{{"Args", classad.Literal(classad.String(args))}, {"Out", classad.Literal(classad.String(out))}}
			continue
		}
		list[i].Ad = classad.New()
		list[i].Ad.SetString("Args", args)
		list[i].Ad.SetString("Out", out)
	}
	return list
}

// unequalProcs is how many the benchmarks below add.
const unequalProcs = 100_000

// BenchmarkAddCluster builds the transaction of a cluster whose procs differ in
// two texts each, without writing it.
func BenchmarkAddCluster(b *testing.B) {
	dir := filled(b, 1, 1)
	for _, ads := range []bool{false, true} {
		b.Run(fmt.Sprintf("ads=%v", ads), func(b *testing.B) {
			runs := unequal(unequalProcs, ads)
			s, err := Open(dir, Options{UIDDomain: "x"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			refused := errors.New("only built")
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Update(func(tx *Tx) error {
					tx.Op("submit")
					tx.AddCluster(jobAd("alice"), runs)
					return refused
				}); !errors.Is(err, refused) {
					b.Fatal(err)
				}
			}
			perProc(b)
		})
	}
}

// BenchmarkSubmitUnequal makes the runs and commits them too.
func BenchmarkSubmitUnequal(b *testing.B) {
	for _, ads := range []bool{false, true} {
		b.Run(fmt.Sprintf("ads=%v", ads), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				dir := filled(b, 1, 1)
				b.StartTimer()
				if err := attempt(dir, files.Disk{}, func(tx *Tx) error {
					tx.Op("submit")
					tx.AddCluster(jobAd("alice"), unequal(unequalProcs, ads))
					return nil
				}); err != nil {
					b.Fatal(err)
				}
			}
			perProc(b)
		})
	}
}

func perProc(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/unequalProcs, "ns/proc")
}

// BenchmarkManyLeave lets unequal procs of a long cluster leave, one by one.
func BenchmarkManyLeave(b *testing.B) {
	for b.Loop() {
		s := newState(&Spool{}, pinned{generation: noGeneration(1)})
		for _, kind := range []byte("NL") {
			for p := range unequalProcs {
				if err := s.apply(record{Kind: kind, Procs: pool.Procs{Cluster: 1, First: p, Last: p}}, 1); err != nil {
					b.Fatal(err)
				}
			}
		}
		if left, err := s.len(); left != 0 || err != nil {
			b.Fatalf("%d procs are left, %v", left, err)
		}
	}
	perProc(b)
}
