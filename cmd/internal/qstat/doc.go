// Package qstat is the command that shows the queue, to people in brief and to programs in the layout of Grid Engine.
//
// # How the parts work together
//
// A command line is a display (display.go): which jobs it names, which of these it
// wants (filter.go, state.go), and with which columns (columns.go: one
// table has those of all layouts). It is shown once, or again and again on the same opened
// spool (watch.go).
//
// Jobs come as equal procs of a cluster. A reader looks up their attributes, for
// all procs at once unless one is an expression; rows are
// made from that (rows.go, extras.go), by all processors, then put into the order in which they
// would be served (order.go), and written as a table (table.go) or as XML
// (xml.go); in the brief layout with other cells (brief.go). So 100,000 jobs are a matter of a second.
//
// Where JOB_PRIORITY_POLICY puts all jobs into one queue, that is made of all jobs of the
// spool first (hierarchy.go): it says which place rows have. What else a policy shows, columns, numbers,
// lines of -j or a form of its own, it says itself (policy.Listing, policy.Display).
//
// The other forms leave out what they do not need: -f puts the rows below the slots
// (instances.go), -g c makes no rows and counts (summary.go), and -long, -json and
// -af print ads (parallel.go). -j is a sheet for equal procs (details.go,
// detailsjob.go, pile.go); why a job waits it takes from the last cycle's report
// and from promises (cycle.go), and from how the job itself fits the
// slots. For jobs that have left the queue it shows the end, and jobs that are still to come have no
// ad yet, only a line (ended.go).
//
// -history reads the jobs that have left the queue, the last first (past.go). -start has
// cycles played forward (start.go, package trial). -wait follows an event log and needs no spool (wait.go).
package qstat
