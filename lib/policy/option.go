package policy

import (
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
)

// Option is an option of prio that sets an attribute of jobs. All policies' options are there under
// every policy: what a policy does not look at is kept for another.
type Option struct {
	Name, Arg, Help string
	// Set returns what a value of the option sets.
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
