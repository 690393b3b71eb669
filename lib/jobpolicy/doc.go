// Package jobpolicy says what a job's own expressions want done with the job:
// that it is held, released, removed or run once more, and why.
//
// Periodic is asked now and then about any job of the queue, OnExit about one
// whose process has ended, Limits and Deferral by whoever runs it. The answers
// are Verdicts; acting on them is the caller's.
//
// The package is pure. It knows the attributes of job ads, and no queue.
package jobpolicy
