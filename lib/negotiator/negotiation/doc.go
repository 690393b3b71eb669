// Package negotiation runs a negotiation cycle: which job gets which slot now, and why do
// others get none?
//
// Cycle is a function. Its input is the pool's snapshot (all slots, all claims, the idle jobs,
// all submitters, also those that only run), the configuration and the time. Its output is the
// matches, the jobs that these preempt, matches to be given up, and for every unmatched job the
// reason. It opens no file, reads no clock, prints nothing, changes none of its input, and the
// order of its input never matters. So a dry run, a test and the real cycle are the same code.
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
// Pie slices are the weighted max-min fair division of the slot weight that is in use or
// can be used (see shares.Targets). They are inverse to the EUP; what a submitter does
// not want is divided among the others in the same way. 70 slots and EUPs of 5, 10 and 20
// give 40, 20 and 10 slots; if the first wants only 8, the others get 41 and 21: 41.33
// and 20.67, and the remaining slot goes to the submitter further below its share (method
// of largest remainders). A submitter that holds more than its slice keeps it unless it
// is preempted; the others share the rest.
//
// Not every slot suits every job. If only some submitters can use a slot, a trial of the fair
// division finds how much each can want (deal/forecast.go): two submitters that need the six
// machines with a GPU get three each, however many other slots the pool has. A submitter with
// jobs that run anywhere leaves these machines to the two, unless ranks say otherwise.
//
// Nice users are a separate tier: they share, by the same rules, the rest of all others, and get
// no slot that another user's job can use.
//
// A submitter never gets a slot that would take it beyond its ceiling. Submitters below
// their floors are served before shares count (deal/fill.go).
//
// deal/spins.go has HTCondor's own division, with its arithmetic.
//
// # One queue
//
// A policy may order the jobs of all submitters in one queue (negotiator.Config.Queue,
// jobprio.Queue). The cycle asks it once, about all jobs that want a slot and that no
// constraint excludes, and about running and held jobs. Then there are no shares: the
// first job in the queue that may still get a slot gets its best one, and jobs without a
// slot are passed over. EUPs are reported without effect: no pie slices, no floors, no
// preemption for a priority. The rest applies: the Rank of slots, ceilings, concurrency
// limits, quotas, reservations, and nice users behind all others. Each submitter's queue
// has the places of its jobs, so that matching is by autocluster as elsewhere; the next
// submitter is the one whose next job is first.
//
// Jobs that the policy blocks are separate queues, which get nothing. Its limits on
// running jobs count in two rounds: soft limits until no job gets a slot, then hard
// limits. They divide queues, not autoclusters. When a preempted job gives its holder or
// its group room again, the queue is served from its beginning: so no job gets a slot
// while an earlier job that could use it and may have it stays idle.
//
// Groups get their allocation from quotas and surplus, as without a queue; each uses it
// in the order of the whole queue, also the one slot that no longer fits wholly.
// Submitters that regroup are served without a group, behind all groups.
//
// # Accounting groups
//
// If groups have quotas, each is allocated a part of the pool, which its members share
// (deal/fill.go); all submitters without a bounding group share together. The accountant has the
// arithmetic of quotas and surplus; deal/groups.go counts their use during the cycle.
//
// # Preemption
//
// A slot that runs a job is a candidate like a free slot, but ranks behind it: for jobs that
// its Rank prefers, and for submitters with a better EUP where PREEMPTION_REQUIREMENTS is true
// (deal/preempt.go). Preemption for priority is bounded by the submitters' entitlements: the
// shares of the whole pool if it were dealt out anew (deal/shares.go). No holder falls below
// its entitlement, except by a part of a slot if the preemptor has nothing or hardly anything
// is due to the holder. So a preempted submitter does not preempt in turn.
//
// Running slots of one holder that no expression can tell apart are its tenants; tenants that
// weigh and are charged the same are an estate, which shares and quotas treat alike
// (deal/running.go). Prospects are the tenants that may have to go for the first job of a queue,
// the best of them first.
//
// # Slots of any size
//
// A partitionable slot is divided by the requests of jobs, as often as jobs fit (deal/class.go).
// Requirements and ranks see the rest of it. A job that is wider than the rest of any slot may
// have one reserved (deal/reserve.go).
//
// # Reasons
//
// After the deal, each autocluster with remaining jobs gets an Analysis: at which step how many
// slots drop out, which slot is the nearest, which submitters hold matching slots, and which
// wait for them. A Rejection names its Causes: with all of them removed, and nothing else, its
// first job runs in the next cycle.
//
// # Speed
//
// Slots and jobs are examined once for each of their shapes (package shapes). Jobs that rank
// alike share the order of the classes, and a heap gives the best class left. Runs of equal
// procs stay runs. The obstacles of jobs are found once for all shapes with the same nearest
// slot; shapes are never compared with each other. So the cost of a cycle follows the number of
// shapes and of matches, not the number of jobs times that of slots. Slots are classified and
// matched on all processors.
//
// # The phases
//
//   - package negotiator: the input (Pool, Config) and the output (Plan), as data and in words
//   - package shapes: the distinction of slots and jobs
//   - package shares: the division of a weight among claimants
//   - package concurrency: concurrency limits
//   - package deal: the entitlements, and the slot for each job
//   - package why: the reasons of jobs without a slot, without changing anything
//
// The laws are in the tests: laws_test.go and cause_test.go hold the promises on random pools.
package negotiation
