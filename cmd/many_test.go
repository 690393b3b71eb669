package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// TestManyCommands has processes of every command meet at the lock of the writers, some of them
// twice, with others that look meanwhile and a pass that runs jobs. What each was told
// must be explained by some order of the commands, one at a time: so no update
// is lost, no reader sees half of one or goes back, nothing is given out
// twice, and whatever was refused did nothing.
func TestManyCommands(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	s := newStory(g.sure(g.prepare(), negotiation))
	var calls []call
	for _, change := range changes {
		calls = append(calls, change.call(0))
		if change.name != "negotiate" && change.name != "spool compact" { // a second one gives up at once
			calls = append(calls, change.call(0))
		}
	}
	passed := false
	for round := range slices.Chunk(calls, 4) {
		release := g.lock()
		var all sync.WaitGroup
		var halted []*process
		for teller, c := range round {
			start := s.now()
			p := g.haltAtLock(c)
			halted = append(halted, p)
			all.Go(func() { s.add(teller, c, p.answer(), start, s.now()) })
		}
		release()
		for _, p := range halted {
			p.resume()
		}
		if !passed { // more jobs that run meanwhile make the search for an order long
			passed = true
			all.Go(func() { s.tell(g, len(round), pass) })
		}
		for _, r := range readers {
			s.tell(g, len(round)+1, r.call)
		}
		all.Wait()
	}
	s.tell(g, 0, pass)
	s.ends(g)
}

// ends reads everything and holds that the story is true.
func (s *story) ends(g *ground) {
	g.Helper()
	for _, r := range readers {
		s.tell(g, 0, r.call)
	}
	s.check(g.T)
	g.historyIsWhole(s.put)
}

// TestSoakManyCommands runs processes of every command at once, which call what they draw. The
// answers are held to what TestManyCommands says.
func TestSoakManyCommands(t *testing.T) {
	length, seed := testenv.Soak(t)
	for begun := time.Now(); time.Since(begun) < length && !t.Failed(); seed++ {
		manyCommands(t, seed)
	}
}

func manyCommands(t *testing.T, seed uint64) {
	const workers, calls = 8, 40
	g := newGround(t)
	s := newStory(g.furnish())
	var mu sync.Mutex
	var clusters []int // of all workers, who change each other's jobs
	var all sync.WaitGroup
	for teller := range workers {
		all.Go(func() {
			w := &words{Rand: rand.New(rand.NewPCG(seed, uint64(teller))), last: 1}
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
	s.ends(g)
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
	left, starts := map[string]int{}, map[string]string{}
	for _, ad := range history(g.T, g.spool) {
		id := fmt.Sprintf("%s.%s", value(ad, "ClusterId"), value(ad, "ProcId"))
		left[id]++
		starts[id] = value(ad, "NumJobStarts")
		if status := value(ad, "JobStatus"); status == "4" && runs[id] == 0 || status != "3" && status != "4" {
			g.Errorf("job %s left with JobStatus %s and ran %d times", id, status, runs[id])
		}
	}
	if len(left) == 0 {
		g.Errorf("no history")
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
		// One that had to go in its last moment has been counted, and runs again.
		if most, _ := strconv.Atoi(starts[id]); n != 1 && n > most {
			g.Errorf("job %s ran %d times and was started %q times", id, n, starts[id])
		}
	}
	g.Logf("%d jobs left, %d of them ran", len(left), len(runs))
}

// history returns the ads of the jobs that have left the queue, each of which starts
// and ends with a newline.
func history(t *testing.T, spool string) (ads []string) {
	t.Helper()
	months, err := filepath.Glob(filepath.Join(spool, "history", "*.ads"))
	testenv.OK(t, err)
	for _, month := range months {
		text, err := os.ReadFile(month)
		testenv.OK(t, err)
		for ad := range strings.SplitAfterSeq(string(text), "\n\n") {
			if strings.HasSuffix(ad, "\n\n") {
				ads = append(ads, "\n"+strings.TrimSuffix(ad, "\n"))
			}
		}
	}
	return ads
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
