// Package pilot is a machine's end of the pipe to the spool's host: the process that carries the link for
// all supervisors there, and the desk of such a supervisor.
//
// A Pilot (pilot.go) does the work of `starter -pilot`. It greets the spool's end (serve -pilot) on a line (line.go),
// names the slots of the machine, and gets the claims on these (attempts.go). For each claim that is Matched it has a
// supervisor started, and serves it (supervisors.go). These are the supervisors of any machine (package supervise),
// with a Desk (desk.go) that asks the spool's end for the attempt's dealings with the queue, its job's log and the
// submitter's files.
//
// # Who talks to whom
//
//	supervisor --socket--> pilot --link--> serve --> spool
//
// A supervisor connects to the socket in the pilot's state folder, anew for each request; the pilot opens a stream of
// the link and carries bytes both ways, without reading them. One more connection stays: there the pilot tells the
// supervisor of changes of its claim. On the control stream, the first of a link, go the greeting, heartbeats and the
// claims.
//
// # Why nothing is lost or done twice
//
// A supervisor repeats a request until there is an answer, over however many links, pilots and processes of serve. So
// each request can be made twice: Begin is refused to any other instance than the one that began, reports are numbered,
// and a claim that has ended is gone.
//
// The instance is a random name in the state folder, under a lock that one process at a time has. The spool's end
// refuses another instance of the same machine while the first has claims and its lease runs. On the machine, a
// supervisor has the lock of its claim's file (package claimlock) from before it asks to begin until its end is
// recorded. So these files alone tell a pilot what to do. A file without a lock is left of a supervisor that died: the
// pilot ends the job's processes, and then the attempt. If a claim runs here by the spool's word, without a file, its
// supervisor never had the answer, and the pilot starts it again.
//
// # The lease
//
// A supervisor ends its job JOB_LEASE after the sending of the last heartbeat that was answered, by the clock of the
// time since the boot. The spool's end gives up the claim only when more than that has passed since it received the
// heartbeat. So no two attempts overlap, whatever becomes of the network, unless a machine is frozen for longer and
// wakes; its requests are refused then.
package pilot
