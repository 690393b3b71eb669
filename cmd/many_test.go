package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestManyCommands runs processes of every command at once. What each was told
// must be explained by some order of the commands, one at a time: so no update
// is lost, no reader sees half of one or goes back, nothing is given out
// twice, and whatever was refused did nothing.
func TestManyCommands(t *testing.T) {
	const workers, calls = 8, 75
	g := newGround(t)
	s := newStory(g.furnish())
	var mu sync.Mutex
	var clusters []int // of all workers, who change each other's jobs
	var all sync.WaitGroup
	for teller := range workers {
		all.Go(func() {
			w := &words{Rand: rand.New(rand.NewPCG(7, uint64(teller)))}
			for range calls {
				mu.Lock()
				w.clusters = slices.Clone(clusters[max(0, len(clusters)-5):])
				mu.Unlock()
				a := s.tell(g, teller, w.anyCall())
				if _, cluster := clusterOf(a.out); cluster > 0 {
					mu.Lock()
					clusters = append(clusters, cluster)
					mu.Unlock()
				}
			}
		})
	}
	for teller := range 2 { // who only look at jobs
		all.Go(func() {
			for range calls {
				s.tell(g, workers+teller, readers[0].call)
			}
		})
	}
	all.Wait()
	for _, r := range readers {
		s.tell(g, 0, r.call)
	}
	s.check(t)
	g.historyIsWhole(s.put)
}

// anyCall chooses a call of any command; one in three only looks.
func (w *words) anyCall() call {
	if w.IntN(3) == 0 {
		return readers[w.IntN(len(readers))].call
	}
	total := 0
	for _, r := range writers {
		total += r.many
	}
	n := w.IntN(total)
	for _, r := range writers {
		if n -= r.many; n < 0 {
			return r.call(w)
		}
	}
	return readers[0].call
}

// historyIsWhole holds that each of the jobs that were put into the queue is
// still there or stands in the history, once, and that each one that completed
// has run once.
func (g *ground) historyIsWhole(put int) {
	g.Helper()
	runs := map[string]int{}
	for _, id := range strings.Fields(g.text("starts")) {
		runs[id]++
	}
	months, err := filepath.Glob(filepath.Join(g.spool, "history", "*.ads"))
	if err != nil || len(months) == 0 {
		g.Errorf("no history: %v", err)
	}
	left := map[string]int{}
	for _, month := range months {
		text, err := os.ReadFile(month)
		if err != nil {
			g.Fatal(err)
		}
		for ad := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
			ad = "\n" + ad + "\n"
			id := fmt.Sprintf("%s.%s", value(ad, "ClusterId"), value(ad, "ProcId"))
			left[id]++
			if status := value(ad, "JobStatus"); status == "4" && runs[id] != 1 || status != "3" && status != "4" {
				g.Errorf("job %s left with JobStatus %s and ran %d times", id, status, runs[id])
			}
		}
	}
	queue := "\n" + g.run("", "qstat", "-af", `strcat(ClusterId, ".", ProcId)`).out
	for id, n := range left {
		if n != 1 || strings.Contains(queue, "\n"+id+"\n") {
			g.Errorf("job %s left %d times, and the queue is%s", id, n, queue)
		}
	}
	if n := strings.Count(queue, "\n") - 1; len(left)+n != put {
		g.Errorf("%d jobs have left and %d are in the queue, want %d together", len(left), n, put)
	}
	for id, n := range runs {
		if n != 1 {
			g.Errorf("job %s ran %d times", id, n)
		}
	}
	g.Logf("%d jobs left, %d of them ran", len(left), len(runs))
}

func value(ad, name string) string {
	_, rest, _ := strings.Cut(ad, "\n"+name+" = ")
	text, _, _ := strings.Cut(rest, "\n")
	return text
}

// text returns a file of the ground, empty when there is none.
func (g *ground) text(name string) string {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil && !os.IsNotExist(err) {
		g.Fatal(err)
	}
	return string(b)
}
