package main

import (
	"time"

	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// updates tell the spool now and then what an attempt uses while it runs: the job's ad,
// the accounts, and the job's event log when it has grown.
type updates struct {
	every    time.Duration // STARTER_UPDATE_INTERVAL
	timer    *time.Timer   // nil: no updates
	reported operation.Progress
	sizeKB   int64 // as it was logged last
}

// newUpdates returns the updates of a program that is executed now.
func newUpdates(c *config.Config) *updates {
	u := &updates{every: c.UpdateInterval}
	if u.every > 0 {
		u.timer = time.NewTimer(c.InitialUpdateInterval)
	}
	return u
}

// next fires when the next update is due; nil: none ever is.
func (u *updates) next() <-chan time.Time {
	if u.timer == nil {
		return nil
	}
	return u.timer.C
}

// end ends the updates.
func (u *updates) end() {
	if u.timer != nil {
		u.timer.Stop()
	}
}

// send commits what the attempt has used so far, and sets when the next update is due.
// What fails is complained of, and the next update tells that, too.
func (u *updates) send(s *supervisor, p operation.Progress) {
	if u.timer != nil {
		u.timer.Reset(u.every)
	}
	s.complain(u.commit(s, p, operation.Report, nil))
}

// checkpointed commits that the job has left a checkpoint of so many bytes, with which it
// goes on in its slot. When that fails, what it took until then is committed with the next.
func (u *updates) checkpointed(s *supervisor, p operation.Progress, bytes int64) error {
	usage := userlog.Usage{User: p.UserCPU, System: p.SysCPU}
	return u.commit(s, p, operation.Checkpointed, userlog.Checkpointed{Run: usage, Sent: bytes})
}

// telling is Report or Checkpointed of package operation.
type telling func(tx *spool.Tx, id pool.JobID, attempt int, p, before operation.Progress, at time.Time, params accountant.Params) error

// commit tells of the attempt in a transaction, and then writes an event to its log, if
// there is one, and another if the job has grown.
func (u *updates) commit(s *supervisor, p operation.Progress, tell telling, event userlog.Body) error {
	now := s.call.Later()
	s.spool.At(now.Now)
	var log joblog.Log
	size := userlog.ImageSize{}
	err := operation.Account(s.spool, now, s.tell, func(tx *spool.Tx) error {
		if err := tell(tx, s.Job, s.Number, p, u.reported, now.Now, s.params); err != nil {
			return err
		}
		ad, _ := tx.Job(s.Job)
		log, size = joblog.Of(ad), sizeOf(ad)
		return nil
	})
	s.spool.Close() // a machine may have many supervisors: none keeps the queue in memory
	if err != nil {
		return err
	}
	u.reported = p.After(u.reported)
	var events []userlog.Event
	add := func(body userlog.Body) {
		events = append(events, userlog.Event{Job: s.Job, At: now.Now.Local(), Body: body})
	}
	if event != nil {
		add(event)
	}
	if u.reported.PeakKB > u.sizeKB {
		u.sizeKB = u.reported.PeakKB
		add(size)
	}
	logEvents(s.spool, log, s.config.NobodySlotUser, s.complain, events...)
	return nil
}

// sizeOf returns the event of a job that has grown, as its ad has its size.
func sizeOf(ad *classad.Ad) userlog.ImageSize {
	number := func(name string) int64 { n, _ := ad.EvalInt(&classad.Context{}, name); return n }
	return userlog.ImageSize{
		ImageKB: number(pool.AttrImageSize), MemoryMB: number(pool.AttrMemoryUsage),
		ResidentKB: number(pool.AttrResidentSetSize), ProportionalKB: -1,
	}
}
