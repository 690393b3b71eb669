// Package pilot is a machine's end of the pipe to the spool's host: the process that carries the link for
// all supervisors there, and the desk of such a supervisor.
//
// A Pilot (pilot.go) is what `starter -pilot` does. It greets the spool's end (serve -pilot) on a line (line.go), says which slots
// the machine has, and is told of the claims on these (attempts.go). For each that is Matched it has a supervisor started, which it
// serves (supervisors.go). These are the
// supervisors of any machine (package supervise), with a Desk (desk.go) that asks the spool's end what an
// attempt has to do with the queue, its job's log and the submitter's files.
//
// # Who talks to whom
//
//	supervisor --socket--> pilot --link--> serve --> spool
//
// A supervisor connects to the socket in the pilot's state folder, anew for each request; the pilot opens a stream of the link and
// carries bytes both ways, which it does not read. One more connection stays, on which the pilot tells the supervisor
// of changes of its claim. On the control stream, the first of a link, go the greeting, heartbeats and the claims.
//
// # Why nothing is lost or done twice
//
// What a supervisor asks it asks again until there is an answer, over however many links, pilots and processes of serve. So each
// request is one that can be made twice: Begin is refused to any other instance than the one that
// began, reports are numbered, and a claim that has ended is gone.
//
// The instance is a random name in the state folder, under a lock that one process at a time has. The spool's end refuses another instance
// of the same machine while the first has claims and its lease runs. On the machine, a supervisor has the lock
// of its claim's file (package claimlock) from before it asks to begin until its end is recorded. So a
// pilot knows by these files alone what it has to see to: a file without a lock is that of a supervisor that died, whose job's
// processes are ended before the attempt is; a claim that runs here by the spool's word, without a file, is one
// whose supervisor never had the answer, and it is started again.
//
// # The lease
//
// A supervisor ends its job JOB_LEASE after the last heartbeat was sent that was answered, by the clock of the time since
// the boot. The spool's end waits longer than that since it received it before it gives up the claim. So no
// two attempts overlap, whatever becomes of the network, unless a machine is frozen for longer and
// wakes; what it says then is refused.
package pilot
