package pilotdesk

import (
	"time"

	"fairspool/spool/heard"
)

// tally counts a pilot's work over all its links. It is kept with the signs of its life.
type tally struct {
	heard.Served
	last heard.Sign
	free time.Time // since when it has had no job; zero: it has some
}

// begin goes on where an earlier link of the pilot ended, by the last sign of its machine.
func (t *tally) begin(before heard.Sign, pilot int) {
	t.Served = heard.Served{Pilot: pilot}
	if before.Pilot == pilot {
		t.Served = before.Served
	}
}

// busy notes whether the pilot has jobs.
func (t *tally) busy(is bool) {
	t.count()
	switch {
	case is:
		t.free = time.Time{}
	case t.free.IsZero():
		t.free = time.Now()
	}
}

// count counts the time without jobs until now.
func (t *tally) count() {
	if !t.free.IsZero() {
		now := time.Now()
		t.Idle += now.Sub(t.free)
		t.free = now
	}
}

// keep keeps the number of jobs with the last sign.
func (t *tally) keep(dir, machine string) error {
	if t.Jobs == t.last.Jobs {
		return nil
	}
	return t.note(dir, machine, t.last)
}

// note makes a sign the machine's last one, with the pilot's work until now.
func (t *tally) note(dir, machine string, s heard.Sign) error {
	t.count()
	s.Served = t.Served
	t.last = s
	return heard.Note(dir, machine, s)
}
