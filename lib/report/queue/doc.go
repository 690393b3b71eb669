// Package queue shows the jobs of a queue: it turns a view of the spool, the jobs and options into tables,
// XML and sheets of text.
//
// Jobs come as equal procs of a cluster. A reader looks up their attributes, for all procs at once unless
// one is an expression. Rows are made from these (rows.go, extras.go), by all processors, then sorted by
// the order of service (order.go), and written as a table (table.go) or as XML (xml.go), with the columns
// of one table of all layouts (columns.go); the brief layout has other cells (brief.go). So 100,000 jobs
// take about a second.
//
// If JOB_PRIORITY_POLICY puts all jobs into one queue, that queue is made of all jobs of the spool first
// (hierarchy.go) and gives the rows their places. The policy itself provides what else it shows: columns,
// numbers, lines of a sheet or a form of its own (policy.Listing, policy.Display).
//
// A Listing by slot puts the rows below the slots (instances.go), and a Summary counts without making rows
// (summary.go). A sheet is for equal procs (details.go, detailsjob.go, pile.go); it explains why a job
// waits by the last cycle's report and by promises (cycle.go), and by how the job itself fits the slots.
// For jobs that have left the queue it shows the end (past.go). Jobs that are still to come have no ad yet,
// only a line (kept.go).
package queue
