package cmd

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// TestStoppedWriter stops a writer of each kind while it holds the spool's lock. Readers go
// on, other writers wait as long as they were told and then say whom they waited for, and when
// the holder goes on everything does: what all of them were told makes a true story.
func TestStoppedWriter(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	s := newStory(g.sure(g.prepare(), negotiation)) // with jobs for starter to start
	for i, c := range changes {
		next, impatient := changes[(i+1)%len(changes)], changes[(i+2)%len(changes)]
		// A free slot, without which a cycle would write nothing.
		s.tell(g, 0, advertise([]string{slotName(30 + i)}, slot{1, true, 0, false}))
		var all sync.WaitGroup
		start, first := s.now(), c.call(1)
		held := g.haltWithLock(first)
		holder := g.holder(held, first)
		all.Go(func() { s.add(1, first, held.answer(), start, s.now()) })

		for n, r := range readers {
			if i == 0 || (i+n)%3 == 0 { // all of them once
				look := r.call
				look.args = insert(look.args, r.name, "-lock-wait", "0")
				s.tell(g, 0, look)
			}
		}
		g.givesUp(impatient.call(0), impatient.name, holder)
		if i == 0 {
			g.givesUp(pass, "starter", holder)
		}
		start, second := s.now(), next.call(0)
		waits := g.begin(second, nil)
		all.Go(func() { s.add(2, second, waits.answer(), start, s.now()) })
		testenv.UntilWaiting(t, waits.Process.Pid, filepath.Join(g.spool, "lock"))
		held.resume()
		all.Wait()
	}
	s.ends(g)
}

var heldBy = regexp.MustCompile(`^held by (pid (\d+) \(([a-z]+)\) since \S+) `)

// holder returns what the lock's file says of a process that has the lock: "pid N (PROGRAM)
// since TIME".
func (g *ground) holder(p *process, c call) string {
	g.Helper()
	part := heldBy.FindStringSubmatch(g.text("spool/lock"))
	if part == nil || part[2] != fmt.Sprint(p.Process.Pid) || part[3] != c.args[0] {
		g.Fatalf("the lock's file is %q, want it to name process %d of %s", g.text("spool/lock"), p.Process.Pid, c.args[0])
	}
	return part[1]
}

// givesUp holds that a writer that waits a little for the lock says in the end who holds it.
func (g *ground) givesUp(c call, name, holder string) {
	g.Helper()
	const wait = 50 * time.Millisecond
	start := time.Now()
	a := g.run(c.stdin, insert(c.args, name, "-lock-wait", fmt.Sprint(wait.Seconds()))...)
	if took := time.Since(start); took < wait {
		g.Errorf("%s -lock-wait %v gave up after %v", name, wait, took)
	}
	lines := 1
	a.bad = inWords(a.bad)
	if name == "starter" { // its supervisors gave up, for each match one
		lines, a.out = slotCount, ""
	}
	if a.status != 75 || a.out != "" || strings.Count(a.bad, "held by "+holder+"\n") != lines || strings.Count(a.bad, "\n") != lines {
		g.Errorf("%s while the lock is held = %d, %q, %q, want 75 and %d lines about %s", name, a.status, a.out, a.bad, lines, holder)
	}
}

// insert returns the arguments with some more behind the command's name.
func insert(args []string, name string, more ...string) []string {
	n := strings.Count(name, " ") + 1
	return append(append(append([]string{}, args[:n]...), more...), args[n:]...)
}
