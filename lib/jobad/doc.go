// Package jobad makes job ads of submit descriptions: what do the values of
// submit commands mean?
//
// The language, with its macros, conditions and item lists, is package
// submitfile's; this package knows the commands. New checks a description as
// far as that goes without the cluster's number, Expand makes the ads of a
// cluster: one ad with what all its procs share, and runs of procs that differ
// from it. Only what depends on the proc is worked out for each of them, so that
// `queue 100000` of equal jobs costs what `queue` costs.
//
// Each group of commands has a file named for its subject. Commands, in commands.go
// and the tables beside it, returns all of them with their other names and with what
// becomes of each: most act, some only become attributes of the job, which is said
// where anybody could miss something, and what would make jobs misbehave silently is
// refused.
//
// Two questions are about jobs in the queue: CheckEdit, what may somebody set in an ad, and
// Evicted, what does a job ask for after it had to leave since it took too much? ReadDeadline
// reads a time for both kinds of jobs, and Refuse puts what somebody else has against a job
// at its place in the description.
//
// The source is HTCondor's manual, "Submit Description File Commands", and
// "Job ClassAd Attributes" for the names of attributes.
//
// The package is pure: environment, time, user and even the question whether
// a file exists come in through Options.
package jobad
