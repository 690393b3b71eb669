// Package spool keeps the pool's nouns on disk: jobs, claims, submitters and
// slots, in one directory of plain text that many processes change at once.
//
// It promises what an embedded store promises. All that one Update changes is
// one transaction: after a crash at any instruction, a full disk or a kill -9
// the spool holds it whole or not at all. When Update has returned nil the
// change survives a power cut. Writers exclude each other by flock; readers
// take no lock and see the last complete transaction. Each transaction is a
// named operation with plain arguments and says who did it, with which
// program and when.
//
// # Files
//
//	VERSION          format number, UID_DOMAIN and id of this spool
//	lock             flocked by writers, never removed; who holds it and the
//	                 acknowledged end of the journal
//	negotiate.lock   flocked for a whole negotiation cycle
//	CURRENT          the generation in force: which journal counts
//	journal.N        transactions, append-only
//	slots.d/*.ads    slot ads written by hand, long form
//	claims.d/        one lock file for each claim with a supervisor
//	history/         ads of jobs that have left the queue, a file a month
//	cycle.json       the report of the last negotiation cycle
//
// # A transaction
//
//	T 42 2026-11-21T08:00:00.012Z 2026-11-21T08:00:00.012Z 1000 "alice" "prio" "set priority" "+5" "12"
//	A 12 0-4 JobPrio = 5
//	E 42 121 13 5407c828
//
// The T line has the transaction's number, machine time, policy time, the
// actor's uid and name, the program, the operation and its arguments. The
// lines that follow are what changed (see record.go). The E line has the
// number again, the length in bytes of all that stands before it, the next
// free cluster number, and the CRC-32C of everything from the T up to itself.
//
// # Writing, step by step
//
//  1. Take the flock on lock. It is the kernel's: it goes with its holder.
//  2. Read the acknowledged end of the journal from lock and look at what
//     stands there. Whole transactions behind it were written by somebody who
//     died before saying so: they count. Bytes behind these that do not check
//     are a torn tail and are cut off, with a warning.
//  3. Run the caller's function. Nothing is written but the ads of jobs that
//     leave, to history/: until step 5 is done they lie behind the end that the
//     journal has on record, count for nothing, and are cut off by whoever comes
//     next.
//  4. Sync the history, if jobs leave.
//  5. Append the transaction to the journal and sync it. Now it is committed.
//  6. Note the new end in lock. This need not reach the disk: step 2 finds
//     out. Release the flock.
//
// A writer that fails before the end of step 5 cuts the journal back to where
// it was.
//
// Bytes before the acknowledged end that do not check, or a bad transaction
// with a good one behind it, are damage: every command that reads so far stops,
// names file and line, and overwrites nothing. (A submit reads the end only.)
//
// The package knows nothing of policy: it decides neither who may do what nor
// what follows from a change.
package spool
