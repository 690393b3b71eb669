// Package pilotdesk is the spool's end of a link to a pilot: serve -pilot.
//
// Serve greets the pilot, takes its machine's slots into the pool, sends it the claims on these from the journal, and
// carries out its supervisors' requests. One goroutine has the spool; files are copied concurrently. It has the lock of
// the machine's watch (spool.Watching), so that there is one process at most for a machine, and its actions are in
// order.
//
// A process leaves only the pilot's row and the machine's last sign of life (package heard) to the next one.
package pilotdesk
