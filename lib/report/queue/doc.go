// Package queue shows the jobs of a queue: a view of the spool, the jobs and options go in, and tables,
// XML and sheets of text come out.
//
// Jobs come as equal procs of a cluster. A reader looks up their attributes, for
// all procs at once unless one is an expression; rows are
// made from that (rows.go, extras.go), by all processors, then put into the order in which they
// would be served (order.go), and written as a table (table.go) or as XML
// (xml.go), with the columns of one table of all layouts (columns.go); in the brief layout with other cells
// (brief.go). So 100,000 jobs are a matter of a second.
//
// Where JOB_PRIORITY_POLICY puts all jobs into one queue, that is made of all jobs of the
// spool first (hierarchy.go): it says which place rows have. What else a policy shows, columns, numbers,
// lines of a sheet or a form of its own, it says itself (policy.Listing, policy.Display).
//
// A Listing by slot puts the rows below the slots (instances.go), and a Summary makes no rows and counts
// (summary.go). A sheet is for equal procs (details.go,
// detailsjob.go, pile.go); why a job waits it takes from the last cycle's report
// and from promises (cycle.go), and from how the job itself fits the
// slots. For jobs that have left the queue it shows the end (past.go), and jobs that are still to come have
// no ad yet, only a line (kept.go).
package queue
