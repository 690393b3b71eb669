// Starter runs what was matched on this machine: one pass from cron, which
// leaves a supervisor with each job that it starts.
//
// # How the parts work together
//
// A pass (pass.go) first looks after the attempts whose supervisor is gone
// (there, too), then starts a supervisor for each claim that is Matched
// (spawn.go). A supervisor (tenure.go) locks the claim's file (claimlock.go). What it does then is
// package supervise; here are its partners:
//
//   - The desk in the spool (spooldesk.go) commits Matched to Running, waits until the job's event log
//     has the ends of earlier attempts, copies files, and commits the end and writes it to the event log
//     (finish.go; package joblog says how that survives a kill). When a job has ended by itself the slot
//     may go on with the next one of its submitter: that one's claim is made, locked and begun in the
//     transaction that ends the first. A claim that is Vacating says that its job has to leave, because it
//     is held, removed, preempted or drained, or because its own policy or a limit wants that.
//   - The machine for an attempt (lib/launch/local) makes and ends the job's processes, dumps
//     those of the standard universe, where it can do that, and keeps their limits: what a job
//     asks for is one where the configuration says so, and a job that takes more is held. A job may be
//     bound to processors of its own, and its nice value is set as the tickets of all jobs
//     on the machine have it; both take a look at the queue (here.go).
//
// A supervisor that leaves its slot without a successor starts a cycle, and while it stays it sees
// to it, with all others, that there is one each NEGOTIATOR_INTERVAL and that no change is left
// behind (spooldesk.go, package onchange).
//
// With -watch a starter stays, and starts what is matched as soon as the journal says so
// (follow.go); its passes, and the starting, are those of cron. With -drain it marks the
// machine as drained, and waits until its jobs have left (drain.go). Where systemd runs the
// machine a supervisor has a scope of its own (spawn.go), lest it end with whoever called
// the pass.
//
// Two files of a claim, claims.d/CLUSTER.PROC.ATTEMPT in the spool and the same with .pipe,
// answer two questions:
//
//   - The record lock of fcntl(2) on the first: is anybody in charge of this attempt? It
//     belongs to the process that took it, its supervisor, and nobody inherits it.
//   - The second is a named pipe: is any process of this attempt alive? The supervisor has it
//     open for reading, and the job's processes inherit that as file descriptor 3. As long as
//     one of them has it open, the pipe can be opened for writing without waiting, and
//     otherwise it cannot.
//
// A lock on an open file that a job inherits would not do: any process of the job could free it for
// all. By the pipe a process can do nothing but close it, which counts for that process alone.
//
// A job that may be dumped does not inherit it, for it could not be restored: what
// is left of that is known by its family alone, as what is left of others is besides.
//
// A process that has the lock may open the pipe if it can be told that no process has it open;
// when only what a dead supervisor left behind has, it may kill that. Then it may start the attempt, or
// end its claim and remove the files. Lock and open file are the kernel's and go with
// the processes that hold them, so that neither a crash nor a reboot leaves
// anything behind but the files and the scratch directory. The first file is empty until the
// attempt ends; then it keeps the events of the end until the job's log has them. When
// it was last changed is its supervisor's last sign of life, by which an attempt is
// charged that ended with the machine.
//
// Both cover the attempt's scratch directory, too, which has the same name: the process that has the
// lock, while no process of the attempt is alive, may remove it (leftbehind.go).
//
// # Root, and the account of a spool
//
// Root's starter serves the account that the spool belongs to (account.go, package asuser): all of
// it, supervisors too, runs with the account's effective ids, so that whatever it does in the spool
// it does as the account. Threads of their own have root's rights for a job's process and
// cgroup, what /proc says of it, its signals, and for giving it its scratch directory; and the
// owner's rights for the owner's files. Cycles are started as the account alone. What processes
// of the account owe to the logs of jobs root's starter delivers (package joblog).
package main
