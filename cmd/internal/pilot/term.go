package pilot

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// Term is the time that a batch engine gives a pilot, which is a job of that engine.
type Term struct {
	Engine string        // what messages call the engine
	Ends   time.Duration // when it kills the pilot, by the time since the boot; 0: that is not known
	By     time.Duration // when nothing of its jobs may be left, likewise
	Grace  time.Duration // how long the engine lets it go on that has sent it a signal
}

// Times of a pilot that has a term.
const (
	// DefaultGrace is how long an engine lets a job go on to which it has sent a signal: Slurm's KillWait, unless the site
	// has set another.
	DefaultGrace = 30 * time.Second
	// margin is what recording the ends of jobs, and saying goodbye, may take.
	margin = 10 * time.Second
	// termLook is how often the pilot looks whether its term ends.
	termLook = 500 * time.Millisecond
	// orphanTime is for how long a supervisor may miss its pilot before its job has to leave, and abandonTime before
	// it ends itself though the end of its job is not recorded.
	orphanTime  = 10 * time.Second
	abandonTime = time.Minute
)

// marginOf returns the margin at the end of a time that may be short.
func marginOf(d time.Duration) time.Duration { return min(margin, d/10) }

// warningBefore returns how long before the end of a pilot's time its jobs have to leave, which may each take
// so long to vacate.
func warningBefore(whole, vacate time.Duration) time.Duration { return min(vacate+margin, whole/5) }

// EngineVariable names the variable in which a pool that runs pilots of another one passes its name
// for messages.
const EngineVariable = "FAIRSPOOL_ENGINE"

// EngineHere returns the name, for messages, of the engine that runs this process as a
// job.
func EngineHere() string {
	switch name := os.Getenv(EngineVariable); {
	case name != "":
		return name
	case os.Getenv("SLURM_JOB_ID") != "":
		return "Slurm"
	case os.Getenv("SGE_TASK_ID") != "":
		return "Grid Engine"
	}
	return "its engine"
}

// sent says that the engine has sent a signal.
func (t Term) sent(sig os.Signal) string { return t.Engine + " sent " + supervise.SignalName(sig) }

// warned returns by when, by the time since the boot, nothing of a job may be left if the engine has just sent a signal.
func (t Term) warned() time.Duration { return t.until(Uptime()+t.Grace, t.Grace) }

// until returns by when a job must be gone if the engine kills at end and whole was the time left at first.
func (t Term) until(end, whole time.Duration) time.Duration {
	by := end - marginOf(whole)
	if t.By != 0 {
		by = min(by, t.By)
	}
	return by
}

// putTerm keeps the term of the pilot for its supervisors; nil: it has none.
func (s State) putTerm(t *Term) error {
	if t == nil {
		if err := os.Remove(s.path("term")); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return s.write("term", text, false)
}

// term returns what putTerm has kept last; nil for none.
func (s State) term() (*Term, error) {
	text, err := os.ReadFile(s.path("term"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var t Term
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return &t, err
}

// leaving says that the pilot leaves.
type leaving struct {
	why  string
	ends time.Duration // when the engine kills it, by the time since the boot
	by   time.Duration // when nothing of its jobs may be left
}

// HasTerm reports whether a batch engine runs the pilot.
func (p *Pilot) HasTerm() bool { return p.Idle > 0 || p.Time > 0 }

// Over is closed when the time of a pilot with a term is over, or it has nothing to stay for.
func (p *Pilot) Over() <-chan struct{} { return p.over }

// Left returns for how long jobs may run before they have to leave, which may each take so long to vacate then; false: the
// pilot has no such time.
func (p *Pilot) Left(vacate time.Duration) (left time.Duration, ok bool) {
	return p.began + p.Time - warningBefore(p.Time, vacate) - Uptime(), p.Time > 0
}

// beginTerm begins the pilot's term, if it has one.
func (p *Pilot) beginTerm() error {
	p.began = Uptime()
	if !p.HasTerm() {
		return p.putTerm(nil)
	}
	p.busy, p.left, p.over = p.began, make(chan struct{}, 1), make(chan struct{})
	p.term = Term{Engine: EngineHere(), Grace: p.Grace}
	if p.Time > 0 {
		p.term.Ends, p.term.By = p.began+p.Time, p.began+p.Time-marginOf(p.Time)
	}
	go p.attendTerm()
	return p.putTerm(&p.term)
}

// attendTerm has the pilot leave when the engine warns it, its time is over, or it was idle for long.
func (p *Pilot) attendTerm() {
	look := time.NewTicker(termLook)
	defer look.Stop()
	for {
		select {
		case sig := <-p.Stop:
			if sig == unix.SIGUSR1 && p.Time > 0 { // the first warning, before the end of that
				p.leave(p.term.sent(sig), p.term.Ends, p.Time)
			} else {
				p.leave(p.term.sent(sig), Uptime()+p.Grace, p.Grace)
			}
		case <-look.C:
		}
		if p.lookAtTerm() {
			close(p.over)
			return
		}
	}
}

// lookAtTerm has the pilot leave if it is time to. Over: it has to end now.
func (p *Pilot) lookAtTerm() (over bool) {
	now, at := Uptime(), p.attempts()
	p.mu.Lock()
	if len(at) > 0 || len(p.starting) > 0 || p.link != nil && len(p.claims) > 0 {
		p.busy = now
	}
	idle, l, vacate := now-p.busy, p.leaves, p.vacate
	p.mu.Unlock()
	switch {
	case l != nil && now >= l.ends:
		return true
	case p.Time > 0 && now >= p.term.Ends-warningBefore(p.Time, vacate):
		p.leave(p.term.Engine+" gave it "+p.Time.String(), p.term.Ends, p.Time)
	case p.Idle > 0 && idle >= p.Idle:
		p.leave("it had no job for "+p.Idle.String(), now+DefaultGrace, DefaultGrace)
	}
	return false
}

// leave has the pilot leave for the reason why: the engine kills it at end, and whole was the time left at first. The
// first reason counts, and the earliest time.
func (p *Pilot) leave(why string, end, whole time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := leaving{why, end, p.term.until(end, whole)}
	if p.term.Ends != 0 {
		l.ends = min(l.ends, p.term.Ends)
	}
	if p.leaves != nil {
		if l.ends >= p.leaves.ends {
			return
		}
		l.why = p.leaves.why
	} else {
		p.Say("this machine leaves the pool: %s", why)
	}
	p.leaves = &l
	for a := range p.followers {
		p.tell(a, p.word(a))
	}
	select {
	case p.left <- struct{}{}:
	default:
	}
}

// word returns the message about the claim of an attempt. The caller has mu.
func (p *Pilot) word(a pool.Attempt) (w word) {
	if c, ok := p.claims[a.Job]; ok && c.Attempt == a {
		w.Claim = c
	}
	if p.leaves != nil {
		w.Leave, w.By = p.leaves.why, p.leaves.by
	}
	return w
}

// tellLeaving tells the spool's host that the pilot leaves, once a link.
func (p *Pilot) tellLeaving(l *line) error {
	p.mu.Lock()
	leaves := p.leaves
	p.mu.Unlock()
	if leaves == nil || l.toldLeaving {
		return nil
	}
	l.toldLeaving = true
	return l.beat(Beat{Leave: leaves.why})
}

// isEmpty reports whether the pilot leaves, the spool's host knows, and nothing is left to be done.
func (p *Pilot) isEmpty(l *line) bool {
	if !l.toldLeaving || len(p.attempts()) > 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link == l && len(p.starting)+len(p.claims) == 0
}
