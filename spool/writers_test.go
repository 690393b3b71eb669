package spool

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// TestManyWriters lets writers with handles of their own go at one spool, and
// a reader look on: nothing is lost, nothing is there twice, no cluster id is
// given twice, and the reader sees each transaction whole.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	const writers, rounds = 8, 12
	var all sync.WaitGroup
	ids := make(chan int, writers*rounds)
	for range writers {
		all.Add(1)
		go func() {
			defer all.Done()
			s, err := Open(dir, Options{Program: "test", UIDDomain: "x", LockWait: longWait})
			if err != nil {
				t.Error(err)
				return
			}
			for range rounds {
				if err := s.Update(func(tx *Tx) error {
					tx.Op("submit")
					ids <- tx.AddCluster(jobAd("alice"), []NewRun{{Count: 3}, {Count: 2}})
					return nil
				}); err != nil {
					t.Error(err)
				}
				if err := s.Update(func(tx *Tx) error {
					tx.Op("count")
					r, _ := tx.Submitter("carol@x")
					r.ResourcesUsed++
					tx.PutSubmitter(r)
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	reader, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for watching := true; watching; {
		select {
		case <-done:
			watching = false
		default:
		}
		if err := reader.View(func(v *View) error {
			for _, c := range v.Clusters()[1:] {
				if n := len(c.Runs); n != 2 {
					return fmt.Errorf("cluster %d has %d runs: half a transaction", c.ID, n)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(ids)
	seen := map[int]bool{}
	for id := range ids {
		if seen[id] {
			t.Errorf("cluster id %d was given twice", id)
		}
		seen[id] = true
	}
	if err := reader.View(func(v *View) error {
		r, _ := v.Submitter("carol@x")
		if want := 11 + 5*writers*rounds; v.Len() != want || len(seen) != writers*rounds || r.ResourcesUsed != writers*rounds {
			t.Errorf("%d jobs, %d clusters, %d counted; want %d, %d, %d", v.Len(), len(seen), r.ResourcesUsed, want, writers*rounds, writers*rounds)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestSubmitReadsNoJob holds that what a submit reads does not depend on how
// much is in the queue: it reads the end of the journal, back to where its owner stands.
func TestSubmitReadsNoJob(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	s, err := Open(dir, Options{Program: "test", UIDDomain: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := s.Update(operations[1].do); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := errors.Join(s.Update(operations[0].do), s.Update(operations[1].do)); err != nil {
			t.Fatal(err)
		}
		layer := newFaulty()
		if err := attempt(dir, layer, operations[0].do); err != nil {
			t.Fatal(err)
		}
		if layer.read > 8192 {
			t.Errorf("a submit read %d bytes of a spool with more than 2,000 jobs, want at most 8,192", layer.read)
		}
		if _, err := s.Fold(1, nil); err != nil {
			t.Fatal(err)
		}
	}
}
