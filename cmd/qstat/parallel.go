package main

import (
	"bytes"
	"iter"
	"runtime"
	"slices"
	"sync"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// ads goes through the ads of all jobs, by ascending id. The ad of a run is one
// of its procs after the other.
func ads(spans []selection.Span) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		for i, s := range spans {
			if s.First == s.Last && (i+1 == len(spans) || spans[i+1].Cluster != s.Cluster) && (i == 0 || spans[i-1].Cluster != s.Cluster) {
				if !yield(single(s)) {
					return
				}
				continue
			}
			ad := s.Run.Proc(s.First)
			for p := s.First; p <= s.Last; p++ {
				ad.SetInt(pool.AttrProcID, int64(p))
				if !yield(ad) {
					return
				}
			}
		}
	}
}

// single returns the ad of a job that shares its cluster's ad with no other one that is
// printed: without a chain, where every attribute would have to be looked for twice.
func single(s selection.Span) *classad.Ad {
	cluster := s.Run.Ad.Parent()
	own := s.Run.Ad.OwnNames()
	if cluster.Parent() != nil || cluster.Has(pool.AttrProcID) || slices.ContainsFunc(own, cluster.Has) {
		return s.Run.Proc(s.First) // which of two spellings counts, the chain says
	}
	ad := cluster.Clone()
	for _, name := range own {
		e, _ := s.Run.Ad.Lookup(name)
		ad.Set(name, e)
	}
	ad.SetInt(pool.AttrProcID, int64(s.First))
	return ad
}

// printAds writes whole ads, a part of the jobs by each processor. What -af writes may
// have columns that grow from line to line, so it is written in one go.
func printAds(c *cmdline.Call, form string, spans []selection.Span) error {
	parts := portions(spans, portion)
	if form == "af" || len(parts) < 2 || c.Terminal() {
		return adprint.Print(c, form, ads(spans))
	}
	first := true
	for some := range slices.Chunk(parts, 4*runtime.GOMAXPROCS(0)) {
		for _, out := range printed(c, form, some) {
			if out.err != nil {
				return out.err
			}
			b := out.Bytes()
			if form == "json" {
				b = linked(b, first)
			}
			first = false
			if _, err := c.Stdout.Write(b); err != nil {
				return err
			}
		}
	}
	if form == "json" {
		_, err := c.Stdout.Write([]byte(listEnd))
		return err
	}
	return nil
}

// portion is how many jobs are printed together.
const portion = 500

// listEnd is what a list that is not empty ends with in JSON.
const listEnd = "\n]\n"

// linked makes of a list's text what goes on with the list that came before.
func linked(list []byte, first bool) []byte {
	list = bytes.TrimSuffix(list, []byte(listEnd))
	if !first {
		list[0] = ',' // instead of the bracket
	}
	return list
}

// printout is what was printed, or why it was not.
type printout struct {
	bytes.Buffer
	err error
}

// printed prints each part by itself.
func printed(c *cmdline.Call, form string, parts [][]selection.Span) []printout {
	texts := make([]printout, len(parts))
	next := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				own := *c
				own.Stdout = &texts[i]
				texts[i].err = adprint.Print(&own, form, ads(parts[i]))
			}
		})
	}
	for i := range parts {
		next <- i
	}
	close(next)
	wait.Wait()
	return texts
}

// portions cuts spans into parts of so many jobs.
func portions(spans []selection.Span, jobs int) (parts [][]selection.Span) {
	room := 0
	for _, s := range spans {
		for last := s.Last; s.First <= last; s.First, s.Last = s.Last+1, last {
			if room == 0 {
				parts, room = append(parts, nil), jobs
			}
			s.Last = min(last, s.First+room-1)
			room -= s.Last - s.First + 1
			k := len(parts) - 1
			parts[k] = append(parts[k], s)
		}
	}
	return parts
}
