// Package spool keeps the pool's nouns on disk: jobs, claims, submitters and slots, in one directory of plain text that many processes
// change at once.
//
// It promises what an embedded store promises. All that one Update changes is one transaction: after a crash at any instruction, a full
// disk or a kill -9 the spool holds it whole or not at all. When Update has returned nil the change survives a power cut. Writers exclude
// each other by flock; readers take no lock and see the last complete transaction. Each transaction is a named operation with plain
// arguments and says who did it, with which program and when. Every byte that was written is checked when it is read.
//
// # Files
//
//	VERSION          format number, UID_DOMAIN and id of this spool
//	lock             flocked by writers, never removed; who holds it and the
//	                 acknowledged end of the journal
//	negotiate.lock   flocked for a whole negotiation cycle
//	change.lock      flocked by the process that makes a cycle for a change; whether a change
//	                 waits for one: the commands' alone
//	fold.lock        flocked while the journal is folded
//	watch.HOST.lock  flocked while a process watches over that machine; modified when a
//	                 starter last did
//	heard/           when other machines were last heard of, a file each (package heard)
//	CURRENT          the generation in force
//	index.N          what generation N consists of: the files below
//	jobs/            segments: clusters with their procs, by ranges
//	slots/           segments: advertised slots, by name
//	extracts/        what cycles look at of segments; may be removed (KeepExtracts)
//	claims.N submitters.N backoffs.N tallies.N marks.N factories.N owners.N
//	endings.N reservations.N succession.N entitlement.N course.N pilots.N   small tables, whole
//	factories/       digests: what procs of a cluster are made from, a file each
//	journal.N        transactions since generation N, append-only
//	log/             who did what, of the transactions that were folded, a file a month
//	slots.d/*.ads    slot ads written by hand, long form
//	claims.d/        one lock file and one pipe for each claim with a supervisor; events that
//	                 the logs of jobs do not have yet, in these files and in such of commands
//	starter.root     says that root's starter runs the jobs of this account's spool
//	execute/         directories of jobs that transfer files; the starter's
//	history/         ads of jobs that have left the queue, a file a month
//	archive/         months of history and log that were moved away (Archive)
//	samples/         RUP, usage and demand over time, thinned with age
//	cycle.json       the report of the last negotiation cycle
//	reserve          room on the disk that is given up when it is full, see Tx.UseReserve
//	unfinished       while a spool is made from a dump: there is none yet
//
// A folder is synced when it is made, and then its name, as every file is: a file system without a journal loses the name of a folder that
// was not. A writer makes a folder that is missing anew.
//
// # A transaction
//
//	T 42 2026-11-21T08:00:00.012Z 2026-11-21T08:00:00.012Z 1000 "alice" "prio" "set priority" "+5" "12"
//	A 12 0-4 JobPrio = 5
//	E 42 121 41 13 b92f5e43
//
// The T line has the transaction's number, machine time, policy time, the actor's uid and name, the program, the operation and its
// arguments. The lines that follow are what changed (see record.go). The E line has the number again, the length in bytes of all that
// stands before it, the number of the last transaction that was known to be durable when it was written, the next free cluster number, and
// the CRC-32C of everything from the T up to itself.
//
// # Writing, step by step
//
//  1. Take the flock on lock. It is the kernel's: it goes with its holder. Signals of a terminal
//     that would stop or end the process wait until it is free again.
//  2. Read the acknowledged end of the journal from lock and look at what
//     stands there. Whole transactions behind it were written by processes that
//     wait for the disk, or died before they could say so: they count, and are
//     written once more. Bytes behind these that do not check are a torn tail and
//     are cut off, with a warning.
//  3. Run the caller's function. Nothing is written but the ads of jobs that
//     leave, to history/: until step 5 is done they lie behind the end that the
//     journal has on record, count for nothing, and the next writer cuts them
//     off. Nothing is added to a file that does not end with the recorded ad.
//  4. Sync the history, if jobs leave, and the digests of new factories.
//  5. Append the transaction to the journal, and release the flock, which goes with the open file.
//  6. Sync the journal, unless lock says that another process has done so since.
//     Now the transaction is committed, and so is all that stood before it.
//  7. Note the new end in lock. This need not reach the disk: step 2 finds out.
//     A failure is a warning.
//
// A transaction that wrote to other files too, or may use the reserve, is synced before the flock is released. A writer that fails before
// the end of step 6 cuts the journal back to where it was, if its transaction is the last; otherwise it writes it once more, with those
// behind it.
//
// A power cut may leave a transaction whose predecessor is gone, if both waited for the disk. It counts for nothing, unless its end line
// says that the predecessor was durable: that is damage.
//
// # A full disk
//
// The file reserve keeps room on the disk. A write that finds the disk full, or its owner's quota used up, in a transaction that called
// UseReserve or in a fold, cuts 256 KB off that file and is tried again, until there is room or the file is empty. Before the writers' lock
// is freed what was not used is taken back, and what is missing from the file is added as soon as a quarter of what the disk has left, with
// the file, is more than the file has. Nothing in the file counts, and it is never synced: what a power cut takes of it the next writer
// adds.
//
// # Folding, step by step
//
//  1. Take the flock on fold.lock, or give up. Take up the acknowledged end of
//     the journal under the writers' lock, and let go of that.
//  2. Read generation N and its journal up to there. Write the segments that
//     the journal speaks of anew, tables that changed, the log, and index.N+1,
//     and sync them. What did not change is named by both indexes. No process
//     knows of generation N+1 yet; a crash leaves files that the next fold
//     writes over or removes.
//  3. Copy to journal.N+1 what was committed since step 1, as long as it is
//     much, and sync it.
//  4. Under the writers' lock: copy the rest, sync, replace CURRENT, and note
//     the new end in lock. A crash in the middle leaves one generation or the
//     other; a writer that finds the switch unacknowledged makes it durable
//     before it commits anything. So lock never names a later generation than
//     CURRENT: if it does, CURRENT is damaged.
//  5. Remove the generations without readers, and digests to which no other
//     generation refers.
//
// A reader pins its generation by a shared flock on index.N, and step 5 asks for the other one without waiting: generations with readers
// are left to a later fold.
//
// # What is read
//
// Lines of the journal are looked through, and kept by the cluster or slot that they speak of. A cluster is made on demand, from its block
// in a segment and these lines. So a command pays for what it needs: one job is one block, a user's jobs are those that the segments'
// indexes name. A command that reads a few attributes of all clusters skips the other lines (View.Only); a command that needs whole ads of
// all, each once, reads them in pieces that are not kept (View.Pieces). A cycle looks at few attributes, and mostly at the same as the one
// before: it reads a part of each ad, from extracts where there are any, and notes what it looks up besides (View.Part). Totals read the
// summaries in the indexes of segments, and the beginning of claims' rows (Totals, SlotSummaries, ClaimSummaries); what the journal speaks
// of they read whole.
//
// # Archiving a month, step by step
//
//  1. Take the flock on fold.lock, for a fold adds to the log. Copy the month's files,
//     hold the copies to the recorded checksums, and sync them under their names.
//  2. Under the writers' lock: commit that nothing of the files is on record any
//     more, then remove them. A crash between the two leaves files that count for
//     nothing; the next Archive removes them, the next writer to the month cuts them
//     to what is recorded.
//
// # Damage
//
// Bytes before the acknowledged end that do not check, or a bad transaction with a good one behind it, are damage: a command that reads
// them stops, names file and line, and overwrites nothing. Check finds all of it, Salvage saves the rest.
//
// The package knows nothing of policy: it decides neither rights nor the consequences of a change.
package spool
