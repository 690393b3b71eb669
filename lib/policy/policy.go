// Package policy is the interface between the pool and a policy, which decides which jobs
// go first.
//
// A Policy orders jobs by shares, as HTCondor does, or puts all submitters' jobs into one queue, as
// Maui and Grid Engine do. Each is a package below this one, and is registered by one line in
// fairspool/lib/policy/registry.
package policy

import (
	"iter"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Policy is a rule for the order of jobs. It has no state: a configuration has its settings.
type Policy interface {
	// Name is the value of JOB_PRIORITY_POLICY that chooses it, such as "maui".
	Name() string
	// Table is the table of the configuration that holds its settings; nil without one.
	Table() *config.Table
	// OneQueue reports whether it puts the jobs of all submitters into one order. Otherwise
	// shares by EUP order the submitters, and jobprio.Compare the jobs of each.
	OneQueue() bool
	// Queue returns that order; nil without one.
	Queue(c *config.Config, from Sources) jobprio.Queue
	// Beside selects the jobs that the order includes besides the idle ones.
	Beside(c *config.Config) Beside
	// Listing returns the same queue for people; nil without one.
	Listing(c *config.Config, from Sources) Listing
	// Display says how lists show jobs.
	Display(c *config.Config) Display
	// Options are the options of prio that set attributes for the policy.
	Options() []Option
	// Rules are what jobs may ask for.
	Rules(c *config.Config) Rules
}

// Sources are the inputs of a policy with one queue besides the jobs. The functions are
// called only if the configuration makes use of them.
type Sources struct {
	// Slots calls do with the slots. If do looked at attributes that were not read, Slots calls it
	// once more, and the last call counts.
	Slots func(do func([]pool.Slot))
	// Summaries returns those of the slots; nil: Slots does.
	Summaries func() []pool.SlotSummary
	Claims    func() []pool.Claim
	Tallies   func() []accountant.Tally
	Now       time.Time
	// Delivered is when a cycle last wrote the tickets of jobs that ran (Delivered); zero:
	// never.
	Delivered time.Time
}

// Beside selects the jobs that a snapshot contains in addition to the idle ones.
type Beside struct {
	Running bool // those that have a claim
	Held    bool // those that are held or wait for others
}

// Summarized returns the summaries of the slots.
func (s Sources) Summarized() (list []pool.SlotSummary) {
	if s.Summaries != nil {
		return s.Summaries()
	}
	s.Slots(func(slots []pool.Slot) { list = pool.SummariesOf(slots) })
	return list
}

// Option is an option of prio that sets an attribute of jobs. All policies' options exist under
// every policy: an attribute that one policy ignores is kept for another.
type Option struct {
	Name, Arg, Help string
	// Set returns the setting for a value of the option.
	Set func(e Edit) (Setting, error)
}

// Edit is what an option of prio is asked to do.
type Edit struct {
	Value  string
	Now    time.Time
	Admin  bool           // whether an administrator asks
	Policy Policy         // in force
	Config *config.Config // that chose it
}

// Setting is a new value of an attribute.
type Setting struct {
	Attr string
	Expr *classad.Expr
	// Priority says that it is what users call the priority.
	Priority bool
	// Doubt is what may be meant otherwise; empty for nothing.
	Doubt string
}

// ValueError is why an option cannot have a value: the command line is wrong.
type ValueError struct{ Why error }

func (e *ValueError) Error() string { return e.Why.Error() }

func (e *ValueError) Unwrap() error { return e.Why }

// Common is the behaviour that policies with one queue share by default. Policies embed
// it.
type Common struct{}

// OneQueue reports that all jobs stand in one order.
func (Common) OneQueue() bool { return true }

// Table is nil: there are no settings.
func (Common) Table() *config.Table { return nil }

// Beside selects no jobs: the order is made of idle jobs only.
func (Common) Beside(*config.Config) Beside { return Beside{} }

// Display adds nothing to what lists show of all jobs.
func (Common) Display(*config.Config) Display { return Display{} }

// Options are empty: prio has only its own.
func (Common) Options() []Option { return nil }

// Rules are the rules of every policy.
func (Common) Rules(*config.Config) Rules {
	return Rules{Ahead: "-p sets the priority that a user gives"}
}

// CommonListing is the default of listings. Listings embed it.
type CommonListing struct{}

// Requests add nothing.
func (CommonListing) Requests(Job, string) Requests { return Requests{} }

// Own is empty: lists have the common form.
func (CommonListing) Own([]Row, bool) OwnForm { return OwnForm{} }

// Sheet has no lines.
func (CommonListing) Sheet(Job, iter.Seq[Job]) []Line { return nil }
