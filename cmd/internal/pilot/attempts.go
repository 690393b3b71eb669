package pilot

import (
	"errors"
	"fmt"
	"os"
	"time"

	"fairspool/cmd/internal/claimlock"
	"fairspool/cmd/internal/desk"
	"fairspool/lib/family"
	"fairspool/lib/pool"
)

// sweepEvery is how often a pilot looks at its attempts though nothing was said of them.
const sweepEvery = time.Minute

// again is how long a pilot waits before it starts a supervisor of the same attempt again.
const again = 5 * time.Second

// miss notes that an attempt has no supervisor, if it has a claim.
func (p *Pilot) miss(a pool.Attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.claims[a.Job]; ok && c.Attempt == a && p.missing[a].IsZero() {
		p.missing[a] = time.Now()
	}
}

// take records the news of the spool's host, and has supervisors started for attempts that have none.
func (p *Pilot) take(l *line, n News) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n.First {
		now := map[pool.Attempt]bool{}
		for _, c := range n.Now {
			now[c.Attempt] = true
		}
		for a := range p.followers {
			if !now[a] {
				p.tell(a, word{Gone: true})
			}
		}
		clear(p.claims)
		p.link = l
		if !p.linked {
			p.linked, p.busy = true, Uptime()
		}
	}
	for _, id := range n.Gone {
		if old, ok := p.claims[id]; ok {
			p.drop(old)
		}
	}
	var list []pool.Attempt
	for _, c := range n.Now {
		if old, ok := p.claims[c.Attempt.Job]; ok && old.Attempt != c.Attempt {
			p.drop(old)
		}
		p.claims[c.Attempt.Job] = c
		p.tell(c.Attempt, p.word(c.Attempt))
		if p.wants(c, n.First) {
			list = append(list, c.Attempt)
		}
	}
	p.start(list)
}

// wants reports whether a supervisor is to be started for a claim. At once: not only for one that is Matched. The caller has mu.
func (p *Pilot) wants(c Claim, atOnce bool) bool {
	a := c.Attempt
	runs := c.Mine && (c.State == pool.RunningClaim || c.State == pool.Vacating)
	matched := c.State == pool.Matched && p.leaves == nil
	if p.starting[a] || p.followers[a] != nil || !runs && !matched || time.Since(p.tried[a]) < again {
		return false
	}
	if _, err := os.Lstat(p.ClaimFile(a)); err == nil {
		delete(p.missing, a)
		return false
	}
	if runs && !atOnce { // a supervisor that goes on with it may be about to, or has done it already
		if p.missing[a].IsZero() {
			p.missing[a] = time.Now()
		}
		return false
	}
	return true
}

// start has supervisors started. The caller has mu.
func (p *Pilot) start(list []pool.Attempt) {
	if len(list) == 0 {
		return
	}
	for _, a := range list {
		p.starting[a], p.tried[a] = true, time.Now()
		delete(p.missing, a)
	}
	go func() {
		p.Start(list, p.check)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, a := range list {
			delete(p.starting, a)
		}
	}()
}

// lookForMissing has supervisors started for attempts that have had none for a while.
func (p *Pilot) lookForMissing() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []pool.Attempt
	for a, since := range p.missing {
		c, ok := p.claims[a.Job]
		switch {
		case !ok || c.Attempt != a:
			delete(p.missing, a)
		case time.Since(since) < time.Second:
		case p.wants(c, true):
			list = append(list, a)
		}
	}
	p.start(list)
}

// sweep looks at all attempts: it ends those with a dead supervisor, and has a supervisor started for those without
// one.
func (p *Pilot) sweep() {
	files := p.attempts()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		return
	}
	for _, a := range files {
		if p.followers[a] == nil && !p.starting[a] {
			go p.endLost(a)
		}
	}
	var list []pool.Attempt
	for _, c := range p.claims {
		if p.wants(c, false) {
			list = append(list, c.Attempt)
		}
	}
	p.start(list)
}

// drop forgets a claim that is gone. The caller has mu.
func (p *Pilot) drop(c Claim) {
	delete(p.claims, c.Attempt.Job)
	delete(p.tried, c.Attempt)
	delete(p.missing, c.Attempt)
	p.tell(c.Attempt, word{Gone: true})
}

// endLost ends an attempt if its supervisor has died: first its remaining processes, and then its claim.
func (p *Pilot) endLost(a pool.Attempt) {
	p.mu.Lock()
	if p.ending[a] {
		p.mu.Unlock()
		return
	}
	p.ending[a] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.ending, a)
		p.mu.Unlock()
	}()
	lock, err := claimlock.TakeCharge(p.ClaimFile(a))
	if errors.Is(err, claimlock.ErrBusy) {
		return // it lives
	}
	if err == nil && !p.isMarked(lock.File) {
		lock.Remove() // nothing was begun: its supervisor is about to, or another one is
		p.miss(a)
		return
	}
	if err == nil {
		err = p.end(a, lock)
	}
	if err != nil {
		p.Tell(fmt.Errorf("job %v, attempt %d: %w", a.Job, a.Number, err))
		return
	}
	p.miss(a) // one that was not begun still is to be
}

func (p *Pilot) end(a pool.Attempt, lock *claimlock.Lock) error {
	on := p.Machine(p.State.Folder(p.Execute), p.Prefix())
	for _, of := range []family.Options{on.FamilyOf(a, nil)} {
		if err := desk.KillLeft(lock, of, p.Patience); err != nil {
			lock.Close()
			return err
		}
	}
	if err := errors.Join(on.EndContainer(a, nil), on.Folder.Remove(a.String())); err != nil {
		p.Tell(err)
	}
	r, ok := p.State.end(a)
	if !ok {
		r = Request{Do: Finish, Attempt: a, How: &pool.Ending{Lost: desk.SupervisorDied, Died: true}}
		if !p.alive.IsZero() && beforeBoot(lock.Signed()) {
			r.Ago = time.Since(p.alive)
		}
	}
	r.Last = true
	answer, err := p.ask(r)
	if err == nil && !answer.Gone {
		err = answer.Failed.Err()
	}
	if errors.Is(err, errDown) {
		lock.Close() // the next link
		return nil
	}
	if err != nil {
		lock.Close()
		return err
	}
	p.forgetEnd(a)
	lock.Remove()
	return nil
}
