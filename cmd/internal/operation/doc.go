// Package operation holds the named operations of the pool: what matching,
// starting, ending and removing a job change in the spool, each as one
// function on a transaction. Commands call these and nothing else, so that a
// job's life is the same whoever moves it on, and each change of a claim is
// charged in the same transaction.
//
// A claim's life, and who is charged for its slot:
//
//	Match    no claim -> Matched    the submitter, from now on
//	         no claim -> Promised   the same, of a slot that somebody else has
//	         Running -> Vacating    that one no more; the supervisor ends the job
//	Begin    Matched -> Running     as before
//	GiveUp   Matched, Promised -> no claim
//	                                nobody, and what was charged is given back
//	Remove, Hold
//	         Matched, Promised -> no claim
//	                                the same; the job leaves the queue, or is held
//	         Running -> Vacating    nobody from now on; the supervisor ends the job
//	Vacate   Running -> Vacating    the same; the job is to run again
//	Finish   Running, Vacating -> no claim
//	         and of who waits for that, Promised -> Matched
//	Arrive   Promised -> Matched    as before; whoever held the slot from outside left it
//
// A job that took more than it may, and says what it asks for after that, is vacated where
// it would be held; Finish makes it idle if that is more, and holds it if not.
//
// Release makes a held job idle, or if it is still leaving its slot, one that
// will be. Policies finds out which of these the jobs want by their own expressions,
// or because of others that they wait for, and Follow does it. Endings count how the jobs of
// watched clusters end: for those that wait for them, and for who is to be told.
//
// Match also keeps the reservations of partitionable slots, as a mark, for the next
// cycle's Snapshot, and in the jobs what a policy with one queue wants kept: since when
// their queue time counts, and how often they were passed over. SourcesOf has what such a policy reckons with of the spool's slots and usage.
//
// Transactions that charge or edit run inside Account, which first tells all past
// events by the machine's clock as it is now if that was set since the last of
// them; Submitters and Snapshot.By do so for who only looks. Respell follows a
// configuration that spells the names of groups otherwise, Prune drops tallies
// that count for nothing any more.
//
// The package knows the spool and the accountant, and for rights who belongs to which Unix
// group; it knows no flags and no processes, and times are given to it.
package operation
