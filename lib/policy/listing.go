package policy

import (
	"io"
	"iter"

	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// Listing is a policy's queue for people: where each job stands, and what its priority comes from.
// It is made for one list; many goroutines may ask it once List has returned.
type Listing interface {
	// Attributes are the names of the attributes of jobs that it is made from.
	Attributes() []string
	// List takes all jobs, and puts those that wait in order: the first to be served first, and
	// behind them those that the policy leaves out. It is called once, before all that follows.
	List(w jobprio.Waiting) []Listed
	// Show returns what lists with these options show of a job.
	Show(j Job, o Options) Shown
	// Requests returns what each line of a job's hard requests adds to its priority, and the
	// parallel environment with the slots that it wants there; empty for none.
	Requests(j Job, hard string) Requests
	// Sheet returns the lines of qstat -j about the source of the priority. Alike are all jobs of
	// the sheet, including j.
	Sheet(j Job, alike iter.Seq[Job]) []Line
	// Explain returns the numbers of a job for JSON, and the values that they are computed
	// from if there are more.
	Explain(j Job) (numbers, course any)
	// Own returns the policy's own form of a list of jobs; single: none share a line.
	Own(rows []Row, single bool) OwnForm
}

// Listed is procs that follow each other in the queue.
type Listed struct {
	jobprio.Part        // of Waiting.Idle
	Why          string // the policy leaves them out; empty: it does not
}

// Job is a job that a listing is asked about.
type Job struct {
	ID    pool.JobID
	Claim *pool.Claim // nil: none
	State string      // as qstat shows it, such as "qw"; "z" has left the queue
	Owner string
	QDate int64 // Unix seconds
	// Waits says that the job stands in the list, as task Task, from 0 on, of List's result Number.
	Waits        bool
	Number, Task int
	Place        int    // in the queue, from 1 on; 0: it has none
	Why          string // it has none
	// Run returns the job alone, with its ad and the charged submitter.
	Run func() jobprio.Run
}

// Shown is what lists show of a job.
type Shown struct {
	Prior int64 // as users know it
	Slots int64 // that it has or wants; 0: as its ad says
	Aside bool  // it waits and takes no part: it stands among the held ones
	// Behind orders jobs that have no place in the queue, the least first.
	Behind int64
	// Alike has to be equal for jobs to share a line, whatever the common columns show; it is
	// comparable.
	Alike any
	// Credentials are the job's names, which the policy may know if the ad does not say them.
	Credentials *Credentials
	// Cells are the values of the policy's columns.
	Cells any
}

// Credentials are the names, and the deadline, that a policy orders a job by.
type Credentials struct {
	Project, Department       string
	Deadline                  int64 // Unix seconds; 0: none
	JobShare, OverrideTickets float64
}

// Requests is a policy's information about a job's requests.
type Requests struct{ Adds, Environment, Wanted string }

// Line is a key of qstat -j with its values.
type Line struct {
	Key    string
	Values []string
}

// Row is jobs of one cluster that share a line.
type Row struct {
	Job  // the first
	Jobs pool.Procs
	Each iter.Seq[Job]
}

// OwnForm is a policy's own form of a list.
type OwnForm struct {
	Count  int
	Object func(i int) any         // for JSON
	Print  func(w io.Writer) error // nil: there is JSON only
}

// Display is how a policy's jobs are shown.
type Display struct {
	// Columns are additional columns of lists.
	Columns []Column
	// Without returns the headings of common columns that are left out.
	Without func(o Options) []string
	// Arrays says that jobs of a cluster that look alike share a line wherever they stand in the
	// queue, not only as neighbours.
	Arrays bool
	// PriorityKey is what JobPrio stands under in qstat -j; empty: "priority".
	PriorityKey string
	// Own returns the option that selects the policy's own form of a list, and the options that
	// make no sense with it; empty: the list is a common one.
	Own func(has func(option string) bool) (option string, refused []string)
	// ByTree says that usage counts by a share tree.
	ByTree bool
	// Rulers are the lengths of the rules below headings; nil: they are as long as the headings.
	Rulers *RuleLengths
}

// RuleLengths are how long the rules of a list are, and what options add to them.
type RuleLengths struct {
	List, Pri, Urg, Ext int
	SlotExt, BlockExt   int // of -f: above slots, and around headings
}

// Of returns the length of the rule below the headings of a list with these options.
func (r *RuleLengths) Of(o Options) int {
	length := r.List
	for _, more := range [...]struct {
		on bool
		by int
	}{{o.Pri, r.Pri}, {o.Urg, r.Urg}, {o.Ext, r.Ext}} {
		if more.on {
			length += more.by
		}
	}
	return length
}

// Options are the command line's options for a list's columns.
type Options struct{ Pri, Urg, Ext, Wide, XML bool }

// Column is one of a policy's columns of lists of jobs.
type Column struct {
	Head  string
	Width int
	Left  bool   // its cells are aligned to the left
	After string // the heading that precedes it; empty: the previous column's
	When  func(o Options) bool
	// Cell appends the text for Shown.Cells, and XML the element's text if that differs.
	Element string
	Cell    func(b []byte, cells any) []byte
	XML     func(b []byte, cells any) []byte
}
