package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStoppedWriter stops a writer with SIGSTOP while it holds the spool's
// lock. Readers go on, other writers wait as long as they were told and then
// say whom they waited for, and after SIGCONT everything goes on: what all of
// them were told makes a true story.
func TestStoppedWriter(t *testing.T) {
	t.Parallel()
	for i, r := range writers {
		if r.name == "starter" || r.name == "spool compact" {
			continue // a pass holds no lock, its supervisors do; a fold hardly ever does
		}
		t.Run(strings.ReplaceAll(r.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			g := newGround(t)
			m := g.furnish()
			m = g.sure(g.sure(m, submit(slotCount, "alice", false)), cycle(t, slotCount)) // for starter to start
			for range 3 {
				m = g.sure(m, submit(20, "alice", false))
			}
			s := newStory(m)
			w := &words{Rand: rand.New(rand.NewPCG(3, uint64(i))), clusters: []int{4, 5, 6}}
			held := g.catch(s, w, r.call)
			t.Logf("caught %s", held.text)
			g.waiting(s, held)
			held.release()
			for _, r := range readers {
				s.tell(g, 0, r.call)
			}
			s.check(t)
		})
	}
}

// crowd is a number of processes of one command that are on their way.
type crowd struct {
	processes []*process
	all       sync.WaitGroup
}

// gather starts a crowd, whose answers go into the story.
func (g *ground) gather(s *story, w *words, some func(*words) call) *crowd {
	g.Helper()
	c := &crowd{}
	for teller := range 6 {
		call, start := some(w), s.now()
		p, err := g.start(call.stdin, call.args...)
		if err != nil {
			g.Fatal(err)
		}
		g.Cleanup(func() { p.Process.Kill() }) // a test that failed leaves nobody stopped
		c.processes = append(c.processes, p)
		c.all.Go(func() {
			a := p.answer()
			s.add(teller, call, a, start, s.now())
		})
	}
	return c
}

func (c *crowd) signal(sig syscall.Signal) {
	for _, p := range c.processes {
		p.Process.Signal(sig) // some may have ended
	}
}

// holder is a stopped process that holds the lock.
type holder struct {
	*crowd
	pid  int
	text string // "pid N (PROGRAM) since TIME", as those see it who wait
}

func (h *holder) release() {
	syscall.Kill(h.pid, syscall.SIGCONT)
	h.all.Wait()
}

var heldBy = regexp.MustCompile(`held by (pid (\d+) \([a-z]+\) since \S+)\n$`)

// catch stops crowds at random moments until one of the stopped processes
// holds the lock. The others of its crowd go on, and wait.
func (g *ground) catch(s *story, w *words, some func(*words) call) *holder {
	g.Helper()
	end := time.Now().Add(patience)
	for try := 0; time.Now().Before(end); try++ {
		// A free slot, without which a cycle would write nothing.
		s.tell(g, 10, advertise([]string{slotName(slotCount + try)}, slot{1, true, 0, false}))
		c := g.gather(s, w, some)
		moment := time.Now().Add(time.Duration(w.IntN(20)) * time.Millisecond)
		until(g.T, "the moment has come", func() bool { return time.Now().After(moment) })
		c.signal(syscall.SIGSTOP)
		for _, p := range c.processes {
			until(g.T, "it has stopped", func() bool { return strings.Contains("TZ-", processState(p.Process.Pid)) })
		}
		said := g.run("", "prio", "-lock-wait", "0", "+0", "1.0")
		if part := heldBy.FindStringSubmatch(said.bad); said.status == 75 && part != nil {
			pid, _ := strconv.Atoi(part[2])
			for _, p := range c.processes {
				if p.Process.Pid == pid && processState(pid) == "T" {
					for _, other := range c.processes {
						if other != p {
							other.Process.Signal(syscall.SIGCONT)
						}
					}
					return &holder{c, pid, part[1]}
				}
			}
		}
		c.signal(syscall.SIGCONT)
		c.all.Wait()
	}
	g.Fatalf("no process was caught with the lock")
	return nil
}

// processState returns the letter for a process's state, "-" for one that is
// not there.
func processState(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "-"
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

// until polls for something that must come about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(500 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("%v have passed, and not yet: %s", patience, what)
		}
	}
}

// waiting runs every command while the lock is held. All readers have to
// answer, and all writers to give up in time.
func (g *ground) waiting(s *story, held *holder) {
	g.Helper()
	look := func() {
		for _, r := range readers {
			c := r.call
			c.args = insert(c.args, r.name, "-lock-wait", "0")
			s.tell(g, 10, c)
		}
	}
	look()
	const seconds = 1
	w := &words{Rand: rand.New(rand.NewPCG(4, 4)), clusters: []int{4, 5, 6}}
	var all sync.WaitGroup
	for _, r := range writers {
		if r.name == "negotiate" && strings.Contains(held.text, "(negotiate)") {
			continue // that one is refused for another reason
		}
		c := r.call(w)
		all.Go(func() {
			start := time.Now()
			a := g.run(c.stdin, insert(c.args, r.name, "-lock-wait", fmt.Sprint(seconds))...)
			took := time.Since(start)
			lines := 1
			if r.name == "starter" { // its supervisors gave up, for each match one
				lines, a.out = max(slotCount, strings.Count(a.bad, "\n")), ""
			}
			if a.status != 75 || a.out != "" || !saysHeld(a.bad, c.args[0], held.text, lines) {
				g.Errorf("%s while the lock is held = %d, %q, %q, want 75 and %d line(s) about %s", r.name, a.status, a.out, a.bad, lines, held.text)
			}
			if took < seconds*time.Second || took > seconds*time.Second+patience {
				g.Errorf("%s -lock-wait %d gave up after %v", r.name, seconds, took)
			}
		})
	}
	all.Wait()
	look()
}

// saysHeld tells whether so many lines, and no others, name the holder.
func saysHeld(bad, command, held string, lines int) bool {
	n := 0
	for line := range strings.Lines(bad) {
		if !strings.HasPrefix(line, command+": ") || !strings.Contains(line, "the spool is locked for more than 1s: ") || !strings.HasSuffix(line, "held by "+held+"\n") {
			return false
		}
		n++
	}
	return n == lines
}

// insert returns the arguments with some more behind the command's name.
func insert(args []string, name string, more ...string) []string {
	n := strings.Count(name, " ") + 1
	return append(append(append([]string{}, args[:n]...), more...), args[n:]...)
}
