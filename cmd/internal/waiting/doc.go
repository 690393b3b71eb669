// Package waiting is what commands share that wait for jobs to end: looking again
// and again with a line of progress, telling of jobs that were put on hold
// meanwhile, and the exit status that stands for how the jobs ended.
//
// It knows outcomes and a way to look, and nothing of where they are looked up: in
// an event log, or in the spool.
package waiting
