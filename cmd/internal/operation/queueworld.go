package operation

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/maui"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/spool"
)

// Sources are what a policy with one queue reckons with besides the jobs. The functions
// are called only if the configuration makes a difference of it.
type Sources struct {
	Slots   func() []pool.Slot
	Claims  func() []pool.Claim
	Tallies func() []accountant.Tally
	Now     time.Time
	// Delivered is when a cycle last wrote the tickets of jobs that ran (Delivered); zero:
	// never.
	Delivered time.Time
}

// SourcesOf returns those of a view, with times as the clock tells them that at was read
// from.
func SourcesOf(v *spool.View, at accountant.Reading) Sources {
	return Sources{
		Slots:   func() []pool.Slot { slots, _ := Slots(v); return slots },
		Claims:  v.Claims,
		Tallies: func() []accountant.Tally { return Tallies(v, at) },
		Now:     at.Now, Delivered: Delivered(v),
	}
}

// OneQueue tells whether JOB_PRIORITY_POLICY is one with a queue of all submitters' jobs.
func OneQueue(cfg *config.Config) bool { return cfg.JobPriorityPolicy != "condor" }

// Queue returns the policy of JOB_PRIORITY_POLICY that puts all submitters' jobs into one
// order; nil if each submitter's have their own.
func Queue(cfg *config.Config, from Sources) jobprio.Queue {
	switch cfg.JobPriorityPolicy {
	case "maui":
		return maui.NewQueue(&cfg.Maui, mauiWorld(cfg, from))
	case "sge":
		q := sge.NewQueue(&cfg.SGE, SGEWorld(cfg, from))
		q.KeepTickets(cfg.RunTime.Interval > 0)
		q.SpareRunning(!delivers(cfg.RunTime.Interval, from.Delivered, from.Now))
		return q
	}
	return nil
}

// Beside says which jobs a snapshot has besides the idle ones.
type Beside struct {
	Running bool // those that have a claim
	Held    bool // those that are held or wait for others
}

// BesideOf returns what the configuration makes a cycle look at.
func BesideOf(cfg *config.Config) Beside {
	switch cfg.JobPriorityPolicy {
	case "maui":
		return Beside{Running: true, Held: maui.NewQueue(&cfg.Maui, maui.World{}).LooksAtHeld()}
	case "sge":
		return Beside{Running: true}
	}
	return Beside{}
}
