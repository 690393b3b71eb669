// Package replay runs a recorded workload through the operations of a pool: those of packages lifecycle and matchmaking, on a
// spool in memory. It has no rule of its own for who gets which slot. What it adds is the clock, and the times at which jobs
// are submitted and end.
//
// At one second, jobs end first, in the order of their numbers; then jobs are submitted; then there is a cycle, if it is time for
// one and jobs wait. A match is taken up at once. A job that has to leave its slot leaves when its retirement time is over,
// begins anew later, and then runs for as long as was recorded. Where CLAIM_WORKLIFE allows it, a slot goes on with its
// submitter's next job.
//
// The times of submission are those of the recording: what users would have done in a pool that served them otherwise is
// not known.
package replay
