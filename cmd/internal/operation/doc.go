// Package operation holds the named operations of the pool: what matching,
// starting, ending and removing a job change in the spool, each as one
// function on a transaction. All commands change jobs by these functions, so that a
// job's life is the same for all of them, and each change of a claim is
// charged in the same transaction.
//
// A claim's life, and the charge for its slot:
//
//	Match    no claim -> Matched    begins
//	         no claim -> Promised   begins, for a slot that another claim has
//	         Running -> Vacating    ends, for that other claim; the supervisor ends the job
//	Begin    Matched -> Running     goes on
//	GiveUp   Matched, Promised -> no claim
//	                                is given back
//	Remove, Hold
//	         Matched, Promised -> no claim
//	                                is given back; the job leaves the queue, or is held
//	         Running -> Vacating    ends; the supervisor ends the job
//	Vacate   Running -> Vacating    ends; the job is to run again
//	Finish   Running, Vacating -> no claim
//	                                ends
//	         Promised -> Matched    goes on, for the claim that waits for the slot
//	Arrive   Promised -> Matched    goes on; the holder outside the pool has left the slot
//
// A job that has taken more than it may is vacated rather than held if its ad says what it asks for
// next: Finish makes it idle if that is more than before, and holds it if not.
//
// Release makes a held job idle, at once or when it has left its slot.
// Policies finds the measures that jobs' own expressions, or the ends of jobs that they wait for,
// require, and Follow takes them. Endings count how the jobs of watched clusters end, for jobs that
// wait for them and for mail.
//
// Match also keeps the reservations of partitionable slots, as a mark, for the next
// cycle's Snapshot, and in the jobs the facts of a policy with one queue: since when
// their queue time counts, and how often they were passed over. SourcesOf returns the slots and usage
// that such a policy reckons by.
//
// Transactions that charge or edit run inside Account, which keeps the pool's clock; FollowClock sets
// it while nothing is charged. Respell adopts the configuration's spelling of the names of groups. Prune
// drops irrelevant tallies.
//
// The package knows the spool, the accountant and, for rights, the members of Unix groups. It
// knows no flags, processes or clocks: times are given to it.
package operation
