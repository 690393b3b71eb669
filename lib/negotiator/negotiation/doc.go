// Package negotiation runs a negotiation cycle: who gets which slot now, and
// why not those who got none?
//
// Cycle is a function. The pool's snapshot (all slots, all claims, the idle
// jobs, all submitters, also those that only run), the configuration and the
// time go in; matches, whom they preempt, matches to be given up, and for
// everything that was not matched the reason come out. It opens no file, reads no
// clock and prints nothing, changes nothing that it was given, and the order of
// its input never matters. So a dry run, a test and the real thing are the same
// code.
//
// # The cycle
//
// It follows the ordered list in HTCondor's manual, section "Negotiation":
// all slots whatever their state; all submitters, sorted by effective user
// priority (EUP); then each submitter in turn takes slots up to its pie slice,
// job by job in job-priority order, each job the best of the slots that match
// it and that it matches. The best is the one with the highest
// NEGOTIATOR_PRE_JOB_RANK, then the highest Rank of the job, then the highest
// NEGOTIATOR_POST_JOB_RANK, then the one least in demand (deal/order.go), then
// the first by name; with NEGOTIATOR_DEPTH_FIRST, one that was begun comes first.
//
// # Shares
//
// Pie slices are the weighted max-min fair division of the slot weight that
// is in use or can be put to use (see shares.Targets): inverse to the EUP, and what
// somebody does not want is divided among the others in the same way. 70
// slots and EUPs of 5, 10 and 20 make 40, 20 and 10 slots; if the first wants
// only 8, the others get 41 and 21: 41.33 and 20.67, and the slot that is left
// over goes to the one further below. Such remainders are made whole by the
// method of largest remainders. Who holds more than their slice keeps
// it, unless it is preempted, and the others share the rest.
//
// Not every slot is good for everybody. Where some can only be used by the
// jobs of some, how much a submitter can want is found by playing the fair
// division through first (deal/forecast.go): two who both need the six machines
// with a GPU get three each, however many others there are in the pool. One
// who could run anywhere leaves them to those two, unless ranks say otherwise.
//
// Nice users are a tier of their own: they share, by the same rules, what the
// others leave, and get nothing that somebody else can use.
//
// A submitter with a ceiling never gets a slot that would take it beyond that;
// those who use less than their floors are served before shares count (deal/fill.go).
//
// HTCondor's own division is there, too (deal/spins.go), with its arithmetic.
//
// # One queue
//
// A policy may put the jobs of all submitters into one order (negotiator.Config.Queue, jobprio.Queue). It
// is asked once, about all jobs that want a slot and that no constraint bars, and about those
// that run or are held. Then there are no shares: always the first job in the whole queue that
// may still get something has the best slot for it, and those for which nothing is found are
// passed over. EUPs stand in the report and decide nothing: no pie slices, no floors, no
// preemption for a priority. The rest stays: the Rank of slots, ceilings, concurrency limits,
// quotas, reservations, and that nice users come behind all others. Places are dealt to the
// queues of submitters, so that matching is by autocluster as elsewhere; who is next is the one
// whose next job stands first.
//
// Jobs that the policy blocks are queues of their own, which get nothing. Its limits on what
// runs at a time count in two rounds: soft ones until nobody gets anything more, then hard
// ones. They tell queues apart, not autoclusters: it is no other match. Where a running job
// that is preempted leaves its holder or its group room again, the queue is asked from its
// beginning: so nobody gets a slot while a job before it, that could use the slot and may have
// it, stays idle.
//
// Groups are allocated what quotas and surplus give them for what they want, as without a
// queue; each has it by the order of the whole queue, also the one slot that no longer fits
// wholly. Who regroups comes with nobody's group, behind all groups.
//
// # Accounting groups
//
// Where groups have quotas, each is allocated a part of the pool, and its members share
// that (deal/fill.go): they are a party of sharers, as all others are together where no
// group bounds them. The arithmetic of quotas and surplus is the accountant's; what is
// used of them as the cycle goes is in deal/groups.go.
//
// # Preemption
//
// A slot that runs a job is a candidate like a free one, but ranks behind it: for jobs
// that its Rank prefers, and for submitters with a better EUP where PREEMPTION_REQUIREMENTS
// is true (deal/preempt.go). What somebody may have for priority is bound by what everybody is
// entitled to of the whole pool, as if it was dealt out anew (deal/shares.go). So nobody
// is taken below that, but by a part of a slot for one who has nothing or where hardly anything
// is due to the holder, and who was preempted does not preempt in turn.
//
// Running slots of one holder that no expression can tell apart are its tenants; those of
// its tenants that weigh and are charged the same are an estate, all of which shares and
// quotas treat alike (deal/running.go). Prospects are the tenants of whom one may have to go for
// the first job of a queue, the best of them first.
//
// # Slots of any size
//
// A partitionable slot is divided by what jobs request, as often as jobs fit
// (deal/class.go). Requirements and ranks see what is left. A job that is wider
// than what is left of any slot may have one reserved (deal/reserve.go).
//
// # Reasons
//
// When all is dealt out, each autocluster of which jobs are left gets an Analysis:
// at which step how many slots drop out, which slot is the nearest, who holds what
// matches and who waits for it. A Rejection names its Causes: with all of them
// removed, and nothing else, its first job runs in the next cycle.
//
// # Speed
//
// Slots and jobs are looked at once for each of their shapes (package shapes). Jobs
// that rank alike share the order of the classes, and the best class left is taken off
// a heap. Runs of equal procs stay runs. What is in the way of jobs is found once for all
// shapes that have the same nearest slot; shapes are never compared with each other. So the
// cost of a cycle follows the number of shapes and of matches, not the number of jobs times
// that of slots. Slots are classified and matched on all processors.
//
// # The phases
//
//   - package negotiator: what goes in (Pool, Config) and what comes out (Plan), as data and in words
//   - package shapes: slots and jobs told apart
//   - package shares: a weight divided among those who claim it
//   - package concurrency: concurrency limits
//   - package deal: who is entitled to what, and who gets which slot
//   - package why: why the others got none, which changes nothing
//
// The laws are in the tests: laws_test.go and cause_test.go hold the promises on random pools.
package negotiation
