package policy

import (
	"iter"

	"fairspool/lib/config"
)

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
