// Package lifecycle holds the named operations of the pool: what matching,
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
// A job that has taken more than it may is vacated instead of held if its ad says what it will request next:
// Finish makes it idle if that is more than before, and holds it if not.
//
// Release makes a held job idle, at once or when it has left its slot. Policies finds the measures that jobs'
// own expressions, or the ends of jobs that they wait for, require, and Follow takes them. Endings count how
// the jobs of watched clusters end, for mail and for jobs that wait for them.
//
// Ask, Greet, Leave and Bye are the life of a pilot, which runs jobs on another machine: Asked, Live, Leaving,
// Gone; Void, if it is given up. Only the machine of a Live pilot takes new matches. Unheard finds the
// attempts on machines that have been silent for longer than their lease, and GiveUpMachine gives up a machine
// that is known to be gone.
//
// Match also keeps the reservations of partitionable slots for the next cycle's Snapshot, and in the jobs the
// facts of a policy with one queue: since when their queue time counts, and how often they were passed over.
// SourcesOf returns the slots and the usage that such a policy computes with.
//
// Transactions that charge or edit run inside Account, which keeps the pool's clock; FollowClock sets
// it while nothing is charged. Respell adopts the configuration's spelling of the names of groups. Prune
// drops irrelevant tallies.
//
// # What each event makes of each state
//
//	qdel
//	    idle, held  leaves the queue; one that stays in it by LeaveJobInQueue leaves it, too
//	    Promised    leaves the queue; the charge since the match is given back; who has the
//	                slot leaves it all the same
//	    Matched     leaves the queue; the charge since the match is given back
//	    Running     marked removed; the claim turns Vacating, which ends the charge; its
//	                supervisor ends the job, which then leaves the queue
//	    Vacating    of a preempted or held job: marked removed, leaves the queue when it has
//	                ended; of a removed one: nothing more
//	qhold
//	    idle        held; held: nothing
//	    Promised    held; the charge is given back; who has the slot leaves it all the same
//	    Matched     held; the charge is given back
//	    Running     held; the claim turns Vacating, which ends the charge; the job stays held
//	                when its supervisor has ended it
//	    Vacating    of a preempted job: held, also when it has ended; of a removed one: refused
//	qrls
//	    held        idle
//	    Vacating    of a held job: as if it had been preempted, idle when it has ended
//	    else        nothing
//	prio, prio -set
//	    idle, held  from the next cycle on
//	    Running     limits of the attempt and periodic expressions at once, what decides at
//	                the end then; all else is kept for a later attempt
//	    else        kept for a later attempt: no effect on this match
//	policy or a limit wants it held, removed, vacated
//	    all         as qhold, qdel; vacated: as if it were preempted, for nobody
//	a cycle preempts it
//	    Running     the claim turns Vacating, which ends the charge; a new claim on the same
//	                slot is Promised and charged from now
//	    else        never
//	its machine is drained
//	    Promised    given up, and so is the charge; who has the slot leaves it all the same
//	    Matched     given up, and so is the charge
//	    Running     as if it were preempted, for nobody
//	    Vacating    if it was preempted, or leaves for a drain: leaves as fast as this one wants
//	the job exits with its checkpoint code
//	    Running     is started again in the slot; what it took is committed
//	    Vacating    as when it ends as it was told; what it took is committed, unless removed
//	the job ends by itself
//	    Running     completed, leaves the queue; or, as OnExitHold and OnExitRemove say, held or
//	                idle again; the slot may go on with the submitter's next job
//	    Vacating    as it was marked: removed; if it was preempted or held and had not been told
//	                yet: as if it ran
//	the job ends as it was told
//	    Vacating    as it was marked: removed or held; if it was preempted: idle again
//	its machine's pilot leaves
//	    Promised, Matched
//	                given up, and so is the charge
//	    Running     as if it were preempted, for nobody; it has no more time than the pilot
//	    Vacating    goes on to leave, with no more time than the pilot
//	the supervisor dies, or the lease of its machine is over
//	    Matched     given up after REQUEST_CLAIM_TIMEOUT
//	    Running     idle again
//	    Vacating    as it was marked: removed, held, or idle again
//	the job cannot be executed
//	    Running     held with the reason
//	    Vacating    as it was marked: removed or held; if it was preempted: held
//	the claim on its slot ends
//	    Promised    turns Matched
//
// Jobs that are still to come have no state, and go with their whole cluster: qhold stops their creation, qrls
// resumes it, qdel gives them up.
//
// Account also ensures that no operation evaluates expressions of users while it holds the writers' lock; see
// Answers. Update does the same for transactions that charge no submitter.
//
// The package knows the spool, the accountant and, for rights, the members of Unix groups. It
// knows no flags, processes or clocks: times are given to it.
package lifecycle
