package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// TestKilledWriters kills writers of every kind with SIGKILL at random moments
// of their lives, on several spools side by side. All the time each spool has
// to be one that the commands so far lead to: with everything in it that was
// acknowledged, and of what was not, all or nothing. FAIRSPOOL_KILLS says how
// many are killed.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	kills, spools := 1000, 4
	if n, err := strconv.Atoi(os.Getenv("FAIRSPOOL_KILLS")); err == nil {
		kills = n
	}
	var all sync.WaitGroup
	fields := make([]*field, spools)
	for i := range fields {
		f := &field{ground: newGround(t), words: words{Rand: rand.New(rand.NewPCG(1, uint64(i))), last: 600}}
		f.maybe = []*model{f.furnish()}
		fields[i] = f
		all.Go(func() {
			f.err = f.killAll((kills + spools - 1) / spools)
			f.run("", "qdel", "-a") // what still lasts is of no use any more
		})
	}
	all.Wait()
	killed, done := map[string]int{}, map[string]int{}
	preempted, outside := 0, 0
	for i, f := range fields {
		if f.err != nil {
			t.Errorf("spool %d: %v", i, f.err)
			continue
		}
		f.historyIsWhole(f.maybe[0].put)
		preempted, outside = preempted+f.preempted, outside+f.outside
		for name := range f.life {
			killed[name] += f.killed[name]
			done[name] += f.done[name]
		}
	}
	for _, r := range writers {
		if n, m := killed[r.name], done[r.name]; !t.Failed() && (n < kills/50 || m < kills/200) {
			t.Errorf("%s: %d killed, %d acknowledged: too few to say anything", r.name, n, m)
		}
	}
	if n := kills / 200; !t.Failed() && (preempted < n || outside < n) {
		t.Errorf("%d jobs were preempted, and %d slots promised that others held: too few to say anything", preempted, outside)
	}
	t.Logf("killed %v, acknowledged %v, %d preempted, %d promised outside", killed, done, preempted, outside)
}

// field is a spool whose writers are killed.
type field struct {
	*ground
	words
	maybe        []*model // what the spool may be, after kills whose effect is not known yet
	life         map[string]time.Duration
	killed, done map[string]int
	err          error
	// Jobs that had to go, and slots that others held which were promised, by cycles that
	// may have been.
	preempted, outside int
}

// killAll goes through the writers until so many were killed.
func (f *field) killAll(kills int) error {
	f.life, f.killed, f.done = map[string]time.Duration{}, map[string]int{}, map[string]int{}
	for n := 0; n < kills; {
		for _, r := range writers {
			if len(f.maybe) > 8 || r.name == "negotiate" || r.name == "starter" {
				if err := f.look(); err != nil {
					return err
				}
			}
			f.clusters = f.maybe[0].leaving()
			before := f.killed[r.name]
			if err := f.kill(r.name, r.call(&f.words)); err != nil {
				return fmt.Errorf("%s, after %d kills: %w", r.name, n, err)
			}
			n += f.killed[r.name] - before
		}
	}
	if err := f.end(); err != nil {
		return err
	}
	// A submit that may have been, and whose jobs would be gone again, shows in
	// no listing, but in the number that the next cluster gets. And whoever takes
	// a job out cuts off what a killed one left in the history.
	last := submit(1, "alice", false)
	a := f.run(last.stdin, last.args...)
	if err := f.believe(last, a); err != nil {
		return err
	}
	_, cluster := clusterOf(a.out)
	id := fmt.Sprintf("%d.0", cluster)
	if err := f.believe(call{did: func(string) ([]step, error) { return []step{removed([]string{id}, nil)}, nil }}, f.run("", "qdel", id)); err != nil {
		return err
	}
	return f.look()
}

// leaving returns the clusters in the queue that do not rest.
func (m *model) leaving() (clusters []int) {
	for id, j := range m.jobs.rows {
		if !j.rests && !slices.Contains(clusters, id.Cluster) {
			clusters = append(clusters, id.Cluster)
		}
	}
	slices.Sort(clusters)
	return clusters
}

// measured is how many calls of each writer are left alive at first, to learn
// how long it usually takes.
const measured = 4

// kill makes a call and kills it at some moment of its usual life.
func (f *field) kill(name string, c call) error {
	if name == "negotiate" {
		if err := f.foresee(&c); err != nil {
			return err
		}
	}
	if name == "starter" { // which waits for none that lasts
		c = call{args: []string{"starter", "-json"}, did: starting}
	}
	start := time.Now()
	p, err := f.start(c.stdin, c.args...)
	if err != nil {
		return err
	}
	if f.done[name] >= measured {
		moment := time.AfterFunc(time.Duration(f.Int64N(int64(f.life[name]*3/2))), func() { p.Process.Kill() })
		defer moment.Stop()
	}
	a := p.answer()
	if p.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		f.killed[name]++
	} else {
		f.done[name]++
		f.life[name] += (time.Since(start) - f.life[name]) / time.Duration(min(f.done[name], 2*measured)) // a mean that forgets
	}
	if a.status != -1 || name != "starter" {
		if err := f.believe(c, a); err != nil {
			return err
		}
	}
	if name == "starter" || slices.ContainsFunc(f.maybe, (*model).leaves) {
		return f.settle()
	}
	return nil
}

// leaves tells whether a job has to go, which it does at a moment of its own.
func (m *model) leaves() bool {
	for _, j := range m.jobs.rows {
		if j.claim == pool.Vacating {
			return true
		}
	}
	return false
}

// end takes the jobs out of the queue that last, and waits until all have ended.
func (f *field) end() error {
	if err := f.look(); err != nil {
		return err
	}
	for _, cluster := range f.maybe[0].leaving() {
		id := strconv.Itoa(cluster)
		if err := f.believe(call{did: func(string) ([]step, error) { return []step{removed([]string{id}, nil)}, nil }}, f.run("", "qdel", id)); err != nil {
			return err
		}
	}
	return f.settle()
}

// believe leaves of what the spool may be only what agrees with an answer.
func (f *field) believe(c call, a answer) error {
	a.bad = without(a.bad, "of a transaction that was never completed") // what writers tell of the remains of killed ones
	f.maybe[0].readOutcomes(f.T)
	var then []*model
	steps := c.might
	if a.status == -1 && a.out == "" {
		then = f.maybe
	} else {
		a.status = max(a.status, 0) // killed, but it had said that it was done
		var err error
		if steps, err = c.steps(a); err != nil {
			return err
		}
	}
	for _, m := range f.maybe {
		ok := true
		for _, s := range steps {
			if ok {
				m, ok = m.after(s)
			}
		}
		if ok && !slices.ContainsFunc(then, m.equal) {
			then = append(then, m)
		}
	}
	if len(then) == 0 {
		texts := []string{}
		for _, s := range steps {
			texts = append(texts, s.text)
		}
		m := f.maybe[0]
		return fmt.Errorf("%v said %q: %v\nbut the spool may only be (or %d others)\n%s\n%s\n%s",
			c.args, a.out, texts, len(f.maybe)-1, showJobs(m), showSlots(m), showSubmitters(m))
	}
	f.maybe = then
	return nil
}

// look reads everything.
func (f *field) look() error {
	for _, r := range readers {
		if err := f.believe(r.call, f.run("", r.call.args...)); err != nil {
			return err
		}
	}
	return nil
}

// foresee learns from a dry run what a cycle would do.
func (f *field) foresee(c *call) error {
	a := f.run("", "negotiate", "-dry-run", "-json")
	pairs, err := matches(a.out)
	if err != nil {
		return fmt.Errorf("%+v: %w", a, err)
	}
	s := matched(pairs)
	c.might = []step{s}
	f.preempted, f.outside = f.preempted+len(s.victims), f.outside+s.outside
	return nil
}

// settle waits, after a pass of starter or when jobs have to go, until all supervisors
// and those of the next passes have done what they can: what is left are jobs that
// last, and promises of slots that others hold.
func (f *field) settle() error {
	for end := time.Now().Add(patience); ; {
		a := f.run("", "starter", "-json")
		if _, err := starting(a.out); err != nil || a.status != 0 {
			return fmt.Errorf("the pass after another: %+v, %w", a, err)
		}
		a = f.run("", "slots", "list", "-af", "State", "JobId")
		if a.status != 0 {
			return fmt.Errorf("slots list = %+v", a)
		}
		if !f.busy(a.out) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("some jobs do not end: %s", a.out)
		}
	}
	f.maybe[0].readOutcomes(f.T)
	for i, m := range f.maybe {
		m, _ = m.after(step{do: func(m *model) bool { m.settle(); return true }})
		f.maybe[i] = m
	}
	return nil
}

// busy tells whether some of the listed claims will change without a command.
func (f *field) busy(listing string) bool {
	for line := range strings.Lines(listing) {
		var state, job string
		fmt.Sscan(line, &state, &job)
		id, err := pool.ParseJobID(job)
		if err == nil && !(state == "Claimed" && f.maybe[0].jobs.rows[id].lasts > 0) {
			return true
		}
	}
	return false
}

// settle does what passes and supervisors do when nobody asks them for more.
func (m *model) settle() {
	for busy := true; busy; {
		busy = false
		m.arrive()
		for id, j := range m.jobs.rows {
			switch {
			case j.claim == pool.Matched:
				busy = begun(id).do(m)
			case j.claim == pool.Vacating || j.claim == pool.RunningClaim && j.lasts == 0:
				busy = ended(id).do(m)
			}
			if busy {
				break
			}
		}
	}
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
