// Package qstat is the command that shows the queue, to people in brief and to programs in the layout of Grid Engine.
//
// The flags are read once, into options (options.go), where one table refuses what does not go together.
// A display is the jobs of the queue that they ask for (display.go), or those that have left it (past.go,
// ended.go): it chooses the jobs, has fairspool/lib/report/queue write them, and prints ads itself
// (parallel.go). It is shown once, or again and again on the same opened spool (watch.go). -start has
// cycles played forward (start.go, package trial). -wait follows an event log and needs no spool (wait.go).
package qstat
