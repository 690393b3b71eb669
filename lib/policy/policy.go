package policy

import (
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Policy is a rule for whose job goes first. It has no state: a configuration has its settings.
type Policy interface {
	// Name is the value of JOB_PRIORITY_POLICY that chooses it, such as "maui".
	Name() string
	// Table is the table of the configuration that holds its settings; nil without one.
	Table() *config.Table
	// OneQueue reports whether it puts the jobs of all submitters into one order. Without that,
	// shares by EUP say whose turn it is, and jobprio.Compare which of its jobs go.
	OneQueue() bool
	// Queue returns that order; nil without one.
	Queue(c *config.Config, from Sources) jobprio.Queue
	// Beside says which jobs the order is made from besides the idle ones.
	Beside(c *config.Config) Beside
	// Listing returns the same queue for people; nil without one.
	Listing(c *config.Config, from Sources) Listing
	// Display says how lists show jobs.
	Display(c *config.Config) Display
	// Options are those of prio that set what the policy looks at.
	Options() []Option
	// Rules are what jobs may ask for.
	Rules(c *config.Config) Rules
}

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

// Beside says which jobs a snapshot has besides the idle ones.
type Beside struct {
	Running bool // those that have a claim
	Held    bool // those that are held or wait for others
}
