package operation

import (
	"fmt"
	"strconv"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// clockMark is the mark under which the spool keeps the clock that its times are
// by: only while all of them are by the machine's clock. Times of the user's own make it
// ownTimes, and a cycle, which looks at all records anyway, puts the clock back when that
// has caught up with them. A spool that has only ever seen times of the user's own has no
// such mark.
const clockMark = "clock"

// ownTimes is the mark of a spool whose times were all by the machine's clock once.
const ownTimes = "own"

// isClock reports whether a mark is a clock.
func isClock(mark string) bool {
	c, err := accountant.ParseClock(mark)
	return err == nil && c.Known()
}

// farAhead is how far ahead of the machine's clock a time of the user's own may be
// without a word, in a spool whose times are or were by that clock.
const farAhead = 24 * time.Hour

// Refuse returns an error for a time of the user's own that is far ahead of the clock
// that the spool's times are by: later events, by the clock, would come before the last
// one, and add nothing to usage.
func Refuse(v *spool.View, at accountant.Reading) error {
	if at.Ahead <= farAhead || v.Mark(clockMark) == "" {
		return nil
	}
	return fmt.Errorf("-now %s is more than a day ahead of the machine's clock: until then jobs would add nothing to usage; nothing was changed, and -force takes it all the same",
		at.Now.UTC().Format(time.RFC3339))
}

// opSetClock names the transaction that tells past events by another clock. Behind
// "--" stand the milliseconds of the Jump: By and, unless it is zero, Since 1970.
const opSetClock = "set clock"

// jumpArgs returns the arguments of the transaction of a jump, of which JumpOf is
// the inverse.
func jumpArgs(j accountant.Jump) []string {
	args := []string{signedSpan(j.By), "--", strconv.FormatInt(j.By.Milliseconds(), 10)}
	if !j.Since.IsZero() {
		args = append(args, strconv.FormatInt(j.Since.UnixMilli(), 10))
	}
	return args
}

// JumpOf returns how a transaction of the log moved the times of all events before
// it; the zero Jump for almost all of them.
func JumpOf(t spool.Transaction) (j accountant.Jump) {
	if t.Op != opSetClock || len(t.Args) < 3 || len(t.Args) > 4 {
		return j
	}
	var ms [2]int64
	for i, arg := range t.Args[2:] {
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return j
		}
		ms[i] = n
	}
	if j.By = time.Duration(ms[0]) * time.Millisecond; len(t.Args) == 4 {
		j.Since = time.UnixMilli(ms[1]).UTC()
	}
	return j
}

// tolerance is how far a clock may be off without being taken for set. All that
// is shown of times is in seconds; and as the comparison is always with the
// clock as it was when the mark was made, what is tolerated does not add up.
const tolerance = time.Second

// Account runs fn in a transaction of the spool, as Update does, for events at
// the time at. Where the machine's clock was set since the last of them, all past
// events are first told by the clock as it is now, in a transaction of its own,
// and warn is told in a line: what elapsed is what really elapsed. It fails where Refuse
// does.
func Account(s *spool.Spool, at accountant.Reading, warn func(format string, args ...any), fn func(*spool.Tx) error) error {
	for {
		var found setting
		err := s.Update(func(tx *spool.Tx) error {
			if err := Refuse(&tx.View, at); err != nil {
				return err
			}
			found = settingOf(&tx.View, at)
			found.mark(tx)
			if found.jump.By == 0 {
				return fn(tx)
			}
			found.apply(tx)
			tx.Op(opSetClock, jumpArgs(found.jump)...)
			tx.UseReserve() // what comes next may be an end
			return nil
		})
		if err != nil || found.jump.By == 0 {
			return err
		}
		warn("%s", found.words)
	}
}

// setting is how a clock was set since the spool's last event.
type setting struct {
	jump  accountant.Jump
	words string           // what to tell people of it
	was   string           // the mark
	now   accountant.Clock // what it should be
}

// settingOf finds out how the clock was set that at was read from. Times that are
// the user's own say nothing of it.
func settingOf(v *spool.View, at accountant.Reading) setting {
	c := setting{was: v.Mark(clockMark), now: at.Clock}
	before, err := accountant.ParseClock(c.was)
	switch {
	case !at.Clock.Known():
		return c
	case err != nil || !before.Known():
		c.now = accountant.Clock{}
		return c
	case before.Boot == at.Clock.Boot:
		c.sameBoot(before)
	default:
		c.otherBoot(v, at.Now)
	}
	if c.jump.By != 0 {
		c.jump.Since = oldestMatch(v)
	}
	return c
}

// sameBoot finds out how the clock was set since the same boot's was as before.
func (c *setting) sameBoot(before accountant.Clock) {
	by := c.now.Offset - before.Offset
	if by.Abs() <= tolerance {
		c.now = before
		return
	}
	way := "ahead"
	if by < 0 {
		way = "back"
	}
	c.jump.By = by
	c.words = fmt.Sprintf("the clock was set %s by %s: the accounts go on as if it had not been", way, span(by.Abs()))
}

// otherBoot finds out whether the clock of another boot than the last event's can
// be told from that one's: only where it is behind. One that is ahead is that
// of a machine that was off.
func (c *setting) otherBoot(v *spool.View, now time.Time) {
	behind := newest(v).Sub(now).Round(time.Millisecond)
	if behind <= tolerance {
		return
	}
	c.jump.By = -behind
	c.words = fmt.Sprintf("the clock is %s before the last event, since when the machine was booted: the accounts go on from there", span(behind))
}

// mark notes the clock, in the name of whatever else the transaction does.
func (c setting) mark(tx *spool.Tx) {
	text := c.now.String()
	if text == "" && c.was != "" {
		text = ownTimes
	}
	if text != c.was {
		tx.Op("note clock")
		tx.PutMark(clockMark, text)
	}
}

// apply tells all past events by the new clock.
func (c setting) apply(tx *spool.Tx) {
	for _, r := range c.records(&tx.View) {
		tx.PutSubmitter(r)
	}
	for _, y := range c.tallies(&tx.View) {
		tx.PutTally(y)
	}
	for _, claim := range c.claims(&tx.View) {
		tx.PutClaim(claim)
	}
	for _, b := range c.backoffs(&tx.View) {
		tx.PutBackoff(b)
	}
	list, _ := Reservations(&tx.View)
	putReservations(tx, c.reservations(list))
	c.putDrains(tx)
}

// noteClock puts the mark where it is no clock, of that by which the snapshot was told.
func (s *Snapshot) noteClock(tx *spool.Tx) {
	if s.mark != "" && !isClock(tx.Mark(clockMark)) {
		tx.PutMark(clockMark, s.mark)
	}
}

func (c setting) records(v *spool.View) []accountant.Record {
	list := v.Submitters()
	for i, r := range list {
		list[i] = r.Jump(c.jump)
	}
	return list
}

func (c setting) tallies(v *spool.View) []accountant.Tally {
	list := v.Tallies()
	for i, y := range list {
		list[i] = y.Jump(c.jump)
	}
	return list
}

func (c setting) claims(v *spool.View) []pool.Claim {
	list := v.Claims()
	for i, claim := range list {
		claim.MatchedAt, claim.StartedAt = c.jump.Event(claim.MatchedAt), c.jump.Event(claim.StartedAt)
		claim.VacateSince, claim.ChargedSince = c.jump.Event(claim.VacateSince), c.jump.Event(claim.ChargedSince)
		list[i] = claim
	}
	return list
}

func (c setting) backoffs(v *spool.View) []pool.Backoff {
	list := v.Backoffs()
	for i, b := range list {
		list[i].Until = c.jump.Event(b.Until)
	}
	return list
}

// By tells the times of a snapshot of v by the clock that at was read from, which
// may have been set since the last event.
func (s *Snapshot) By(v *spool.View, at accountant.Reading) {
	c := settingOf(v, at)
	if c.now != at.Clock && !isClock(c.was) && newest(v).Sub(at.Now) <= tolerance {
		s.mark = at.Clock.String()
	}
	if c.jump.By != 0 {
		s.Pool.Submitters, s.Pool.Claims, s.Pool.Backoffs = c.records(v), c.claims(v), c.backoffs(v)
		s.Pool.Reservations = c.reservations(s.Pool.Reservations)
		for i, r := range s.Pool.Running {
			s.Pool.Running[i].Started = c.jump.Event(r.Started)
		}
	}
}

// Submitters returns all submitters' records, by name, as the clock tells their
// times that at was read from, which may have been set since the last event.
func Submitters(v *spool.View, at accountant.Reading) []accountant.Record {
	return settingOf(v, at).records(v)
}

// Tallies returns all tallies, by kind and name, in the same way.
func Tallies(v *spool.View, at accountant.Reading) []accountant.Tally {
	return settingOf(v, at).tallies(v)
}

// Late says in words that the last event of the records was after now, which
// therefore counts as of then; nothing otherwise.
func Late(records []accountant.Record, now time.Time) string {
	var last time.Time
	for _, r := range records {
		if r.At.After(last) {
			last = r.At
		}
	}
	if last.Sub(now) <= tolerance {
		return ""
	}
	return fmt.Sprintf("now is %s before the last event; this counts as of then", span(last.Sub(now)))
}

// Beyond returns a sentence if the last event is after now in a spool whose times are or were by
// the machine's clock; empty otherwise.
func Beyond(v *spool.View, now time.Time) string {
	last := newest(v)
	if v.Mark(clockMark) == "" || last.Sub(now) <= tolerance {
		return ""
	}
	return fmt.Sprintf("the last event is of %s, which is still to come: until then jobs add nothing to usage", last.UTC().Format(time.RFC3339))
}

// ClockSet says in words how the clock that at was read from was set since the last event; nothing
// if it was not, or that cannot be told.
func ClockSet(v *spool.View, at accountant.Reading) string { return settingOf(v, at).words }

// newest returns when the last event was.
func newest(v *spool.View) time.Time { return LastEvent(v, time.Unix(1<<40, 0)) }

// LastEvent returns when the last event before a time was; zero if there was none.
func LastEvent(v *spool.View, before time.Time) (last time.Time) {
	note := func(t time.Time) {
		if t.After(last) && t.Before(before) {
			last = t
		}
	}
	for _, r := range v.Submitters() {
		note(r.At)
	}
	for _, y := range v.Tallies() {
		note(y.At)
	}
	for _, c := range v.Claims() {
		note(c.ChargedSince)
		note(c.MatchedAt)
		note(c.StartedAt)
		note(c.VacateSince)
	}
	return last
}

// oldestMatch returns when the oldest claim was made; zero without claims.
func oldestMatch(v *spool.View) (first time.Time) {
	for _, c := range v.Claims() {
		if from := c.ChargedFrom(); first.IsZero() || from.Before(first) {
			first = from
		}
	}
	return first
}

// span words a length of time of a second and more: 1:00:00, 3652+01:00:00.
func span(d time.Duration) string {
	return elapsed.Short(int64(d.Round(time.Second)/time.Second), 3)
}

func signedSpan(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	return "+" + span(d)
}
