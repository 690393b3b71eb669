// Starter runs what was matched on this machine: one pass from cron, which
// leaves a supervisor with each job that it starts.
//
// # How the parts work together
//
// A pass (pass.go) first looks after the attempts whose supervisor is gone
// (lost.go, leftover.go), then starts a supervisor for each claim that is Matched
// (spawn.go). A supervisor (supervise.go) locks the claim's file (claimlock.go),
// commits Matched to Running, waits until the job's event log has the ends of
// earlier attempts, executes the job, and stays with it (watch.go) until it has
// ended, nothing that it started is left (lib/family) and that is committed, and in
// the event log (finish.go, epilogue.go; package joblog says how that survives a
// kill). For a job that transfers files it copies the inputs before and the output
// after that, and only then commits the end (transfer.go). A job with a time of its
// own is not executed before that (deferral.go). When a job has ended by itself the
// slot may go on with the next one of its submitter, under the same supervisor:
// that one's claim is made, locked and begun in the transaction that ends the first
// (tenure.go, heir.go).
//
// A job is made to end when its claim says so, which is Vacating then: it is held,
// removed, preempted or drained (order.go). What the job's own ad limits or wants the
// supervisor itself commits, in the same way, and then follows its claim like any other
// (policy.go, spent.go). A job that ends with its checkpoint code goes on in its slot, and
// one of the standard universe is dumped, where the machine can do that (checkpoint.go).
//
// While the job runs its supervisor tells the spool what it has used (update.go), and sets
// its nice value as the tickets of all jobs on the machine have it (renice*.go). What a job
// asks for is a limit where the configuration says so (limits.go, holding.go): a job that
// takes more is held. It may be bound to processors of its own (affinity.go).
//
// A supervisor that leaves its slot without a successor starts a cycle, and while it stays it sees
// to it, with all others, that there is one each NEGOTIATOR_INTERVAL and that no change is left
// behind (tenure.go, package onchange).
//
// With -watch a starter stays, and starts what is matched as soon as the journal says so
// (follow*.go); its passes, and the starting, are those of cron. With -drain it marks the
// machine as drained, and waits until its jobs have left (drain.go). Where systemd runs the
// machine a supervisor has a scope of its own (scope.go), lest it end with whoever called
// the pass.
//
// The claim's file, claims.d/CLUSTER.PROC.ATTEMPT in the spool, carries two
// locks that answer two questions:
//
//   - A record lock of fcntl(2): is anybody in charge of this attempt? It
//     belongs to the process that took it, its supervisor, and nobody inherits
//     it.
//   - The flock: is any process of this attempt alive? It belongs to the open
//     file, which the job's processes inherit from the supervisor.
//
// A job that may be dumped does not inherit it, for it could not be restored: what
// is left of that is known by its family alone, as what is left of others is besides.
//
// Who has the first may take the second or, when only what a dead supervisor
// left behind still holds it, kill that. Who has both may start the attempt, or
// end its claim and remove the file. Both locks are the kernel's and go with
// the processes that hold them, so that neither a crash nor a reboot leaves
// anything behind but the file and the scratch directory. The file is empty until the
// attempt ends; then it keeps the events of the end until the job's log has them. When
// it was last changed is its supervisor's last sign of life, by which an attempt is
// charged that ended with the machine.
//
// Both locks cover the attempt's scratch directory, too, which has the same name:
// who has them may remove it (scratch.go).
package main
