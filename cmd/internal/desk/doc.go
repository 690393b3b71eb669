// Package desk is the desk of an attempt in a spool on the same machine: what the attempt has to do with the
// queue, the job's log and the submitter's files.
//
// A Desk (desk.go) commits Matched to Running, waits until the job's event log has the ends of earlier attempts,
// copies files, commits the end and writes it to the event log (finish.go, epilogue.go; package joblog says how
// that survives a kill). When a job has ended by itself, its submitter's next job may take the slot: its claim is
// made, locked and begun in the transaction that ends the first. Vacating marks the claim of a job that has to
// leave, because the job is held, removed, preempted or drained, or because its own policy or a limit wants that.
// The machine gets as values what it needs of the queue (machine.go): the free processors, and the submitter whose
// tickets its nice values follow.
//
// A pass ends the claims of attempts whose supervisor is gone by EndLost (lost.go), and removes what ended
// attempts left on the disk by LeftBehind.
//
// # The files of a claim
//
// Two files of a claim (claimlock.go), claims.d/CLUSTER.PROC.ATTEMPT in the spool and the same with .pipe,
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
// A job that may be dumped does not inherit the pipe, as it could not be restored then. Only its family (package
// family) tells what is left of it.
//
// The process that has the lock may open the pipe once no process has the pipe open; if only processes that a dead
// supervisor left behind have it open, it may kill them. Then it may start the attempt, or end its claim and
// remove the files. The kernel releases lock and open file with the processes that hold them, so that a crash or a
// reboot leaves only the files and the scratch directory. The first file is empty until the attempt ends; then it
// keeps the events of the end until the job's log has them. Its time of change is the supervisor's last sign of
// life: an attempt that ended with the machine is charged until then.
//
// Both also cover the attempt's scratch directory, which has the same name: the process that has the lock may
// remove it while no process of the attempt is alive.
package desk
