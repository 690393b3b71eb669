// Package selection finds the jobs that a command line names, and tells which of
// them its caller may steer.
//
// Jobs are named by cluster (12, or 12-15), by cluster and proc (12.0, 12.0-9, or
// 12.0-9:2 for every second one), by user (alice), or all at once (-a); a
// constraint narrows that down to those for whose ads it is true. A Span is some of
// the equal procs of a run: what is done with jobs is done with spans, at the cost
// of one job.
//
// Names is what arguments mean, In the jobs that have them. The commands that
// change jobs read a Request, which is names, constraint and caller, and do what
// they do with what is Chosen; the names that could not be are Refused, each once.
//
// The package knows the queue and how arguments reach a command, and nothing of
// what is to be done with the jobs.
package selection
