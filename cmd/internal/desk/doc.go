// Package desk is the desk of an attempt in a spool on the same machine: what the attempt has to do with the
// queue, the job's log and the submitter's files.
//
// A Desk (desk.go) commits Matched to Running, waits until the job's event log has the ends of earlier attempts,
// copies files, and commits the end and writes it to the event log (finish.go, epilogue.go; package joblog says
// how that survives a kill). When a job has ended by itself the slot may go on with the next one of its submitter:
// that one's claim is made, locked and begun in the transaction that ends the first. A claim that is Vacating
// says that its job has to leave, because it is held, removed, preempted or drained, or because its own policy or
// a limit wants that. The machine gets as values what it has to know of the queue (machine.go): the
// processors that are free, and whose tickets its nice values follow.
//
// The claim of an attempt whose supervisor is gone is ended by EndLost (lost.go), for a pass; what is left on the
// disk of those that have ended LeftBehind removes.
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
// lock, while no process of the attempt is alive, may remove it.
package desk
