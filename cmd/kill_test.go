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

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// TestKilledWriters kills a command of each kind with SIGKILL before it has the writers' lock,
// with the lock, and when its change is committed and nobody has been told. The spool holds
// nothing of the first two and all of the third, and the next command goes on from there.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	m := g.prepare()
	for _, change := range changes {
		c := change.call(0)
		release := g.lock()
		p := g.haltAtLock(c)
		release()
		p.kill(g)
		g.haltWithLock(c).kill(g)
		if m = g.looks(m); change.name == "negotiate" {
			s, err := g.foresee()
			testenv.OK(t, err)
			c.might = []step{s}
		}
		p = g.startUnheard(c)
		p.Process.Kill()
		if a := p.answer(); a.status != -1 && change.name != "prio" { // which has nothing to say
			t.Errorf("%s that nobody heard = %+v", change.name, a)
		}
		for _, s := range c.might {
			var ok bool
			if m, ok = m.after(s); !ok {
				t.Fatalf("%s: it cannot be that %s", change.name, s.text)
			}
		}
		m = g.looks(m)
	}
	g.historyIsWhole(g.sure(m, submit(1, "alice", true)).put)
}

// looks holds that jobs, slots and submitters are those of the model.
func (g *ground) looks(m *model) *model {
	g.Helper()
	for _, r := range readers[:3] {
		m = g.sure(m, r.call)
	}
	return m
}

// foresee learns from a dry run what a cycle would do.
func (g *ground) foresee() (step, error) {
	a := g.run("", "negotiate", "-dry-run", "-json")
	pairs, err := matches(a.out)
	if err != nil {
		err = fmt.Errorf("%+v: %w", a, err)
	}
	return matched(pairs), err
}

// TestSoakKilledWriters kills writers of every kind with SIGKILL at random moments of their
// lives, on several spools side by side. All the time each spool has to be one that the
// commands so far lead to: with everything in it that was acknowledged, and of what was not,
// all or nothing.
func TestSoakKilledWriters(t *testing.T) {
	length, seed := testenv.Soak(t)
	const spools = 4
	end := time.Now().Add(length)
	var all sync.WaitGroup
	fields := make([]*field, spools)
	for i := range fields {
		f := &field{ground: newGround(t), words: words{Rand: rand.New(rand.NewPCG(seed, uint64(i))), last: 600}}
		f.maybe = []*model{f.furnish()}
		fields[i] = f
		all.Go(func() {
			f.err = f.killUntil(end)
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

// killUntil goes through the writers and kills them until the time has come.
func (f *field) killUntil(end time.Time) error {
	f.life, f.killed, f.done = map[string]time.Duration{}, map[string]int{}, map[string]int{}
	for time.Now().Before(end) {
		for _, r := range writers {
			if len(f.maybe) > 8 || r.name == "negotiate" || r.name == "starter" {
				if err := f.look(); err != nil {
					return err
				}
			}
			f.clusters = f.maybe[0].leaving()
			if err := f.kill(r.name, r.call(&f.words)); err != nil {
				return fmt.Errorf("%s, after %v kills: %w", r.name, f.killed, err)
			}
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
		s, err := f.foresee()
		if err != nil {
			return err
		}
		c.might = []step{s}
		f.preempted, f.outside = f.preempted+len(s.victims), f.outside+s.outside
	}
	if name == "starter" { // which waits for none that lasts
		c = call{args: []string{"starter", "-json"}, did: starting}
	}
	start := time.Now()
	p := f.process(c.stdin, c.args...)
	if err := p.Start(); err != nil {
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

// leaves reports whether a job has to go, which it does at a moment of its own.
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

// settle waits, after a pass of starter or when jobs have to go, until all supervisors
// and those of the next passes have done what they can: what is left are jobs that
// last, and promises of slots that others hold.
func (f *field) settle() error {
	var a answer
	var err error
	if !testenv.Await(func() bool {
		if a = f.run("", "starter", "-json"); a.status == 0 {
			_, err = starting(a.out)
		}
		if a.status == 0 && err == nil {
			a = f.run("", "slots", "list", "-af", "State", "JobId")
		}
		return a.status != 0 || err != nil || !f.busy(a.out)
	}) {
		return fmt.Errorf("some jobs do not end: %s", a.out)
	}
	if a.status != 0 || err != nil {
		return fmt.Errorf("%+v, %w", a, err)
	}
	f.maybe[0].readOutcomes(f.T)
	for i, m := range f.maybe {
		m, _ = m.after(step{do: func(m *model) bool { m.settle(); return true }})
		f.maybe[i] = m
	}
	return nil
}

// busy reports whether some of the listed claims will change without a command.
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
	testenv.OK(t, os.WriteFile(name, []byte(text), 0o600))
}
