// Package pilotdesk is the spool's end of a link to a pilot: what serve -pilot does.
//
// Serve greets the pilot, takes its machine's slots into the pool, tells it of the claims on these as the journal has them, and
// does what its supervisors ask. One goroutine has the spool; files are copied beside it. It has the lock of the machine's watch
// (spool.Watching), so that there is one process at most for a machine, and what it does is in order.
//
// Nothing of a link is kept from one process to the next but the pilot's row and the machine's last sign of life (package
// heard).
package pilotdesk
