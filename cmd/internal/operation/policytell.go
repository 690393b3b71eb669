package operation

import (
	"slices"
	"time"

	"fairspool/lib/pool"
	"fairspool/spool"
)

// Tell is what a message is about.
type Tell string

// What owners of clusters are told of, by JobNotification.
const (
	TellHeld  Tell = "held"  // jobs are held that did not ask for it: always, error
	TellStart Tell = "start" // the first job was started: start
	TellEnd   Tell = "end"   // all jobs have ended: always, complete; error if one did not succeed
)

// Owed is a message that somebody is to be sent.
type Owed struct {
	Endings
	About Tell
}

// mostTries is how often a message is tried before it is given up: again in the next
// cycle, then after 1, 3, 7 minutes and so on, for eight hours in all.
const mostTries = 10

// MailOwed returns the messages that are to be sent at the time now, by
// cluster. Of one cluster that is one at a time.
func MailOwed(v *spool.View, now time.Time) (list []Owed) {
	for _, e := range AllEndings(v) {
		if e.Retry > now.Unix() {
			continue
		}
		if about := e.owes(v); about != "" {
			list = append(list, Owed{e, about})
		}
	}
	return list
}

// owes returns what the owner is to be told of next, empty for nothing.
func (e Endings) owes(v *spool.View) Tell {
	if e.Notification == NotifyNever || e.Unknown {
		return ""
	}
	ended := Ended(v, e.Cluster)
	for _, x := range [...]struct {
		about Tell
		due   bool
	}{
		{TellHeld, e.Held > 0 && !ended},
		{TellStart, e.Notification == NotifyStart && (e.First > 0 || started(v, e.Cluster))},
		{TellEnd, ended && e.Jobs() > 0},
	} {
		if x.due && e.wants(x.about) {
			return x.about
		}
	}
	return ""
}

// wants reports whether the owner wants to be told, and has not been.
func (e Endings) wants(about Tell) bool {
	if slices.Contains(e.Told, about) {
		return false
	}
	switch e.Notification {
	case NotifyAlways:
		return about == TellHeld || about == TellEnd
	case NotifyComplete:
		return about == TellEnd
	case NotifyError:
		return about == TellHeld || about == TellEnd && e.Succeeded < e.Jobs()
	case NotifyStart:
		return about == TellStart
	}
	return false
}

// mayTell reports whether the owner is still to be told of something, now or later. Of
// a cluster that has not ended what was told is kept in any case, lest it be told again.
func (e Endings) mayTell(v *spool.View) bool {
	switch {
	case e.Notification == NotifyNever:
		return false
	case !Ended(v, e.Cluster):
		return true
	case e.Unknown:
		return !slices.Contains(e.Told, TellEnd)
	}
	return e.owes(v) != ""
}

// Jobs returns how many jobs have ended.
func (e Endings) Jobs() int { return e.Succeeded + e.Failed + e.Signalled + e.Removed }

// started reports whether a job of the queue was ever started.
func started(v *spool.View, cluster int) bool {
	c, ok := v.Cluster(cluster)
	return ok && slices.ContainsFunc(c.Runs, func(r spool.Run) bool { return r.Ad.Has(pool.AttrJobStartDate) })
}

// Told notes that a message was sent. The caller names the transaction.
func Told(tx *spool.Tx, m Owed) {
	if e, ok := EndingsOf(&tx.View, m.Cluster); ok {
		e.told(m.About)
		PutEndings(tx, e)
	}
}

func (e *Endings) told(about Tell) {
	e.Told = append(e.Told, about)
	e.Tries, e.Retry = 0, 0
}

// NotTold notes that a message could not be sent at the time now, and tells
// whether that was the last try. The caller names the transaction.
func NotTold(tx *spool.Tx, m Owed, now time.Time) (last bool) {
	e, ok := EndingsOf(&tx.View, m.Cluster)
	if !ok {
		return false
	}
	e.Retry = now.Add(time.Minute * (1<<e.Tries - 1)).Unix()
	e.Tries++
	if last = e.Tries >= mostTries; last {
		e.told(m.About)
	}
	PutEndings(tx, e)
	return last
}
