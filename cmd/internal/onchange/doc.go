// Package onchange starts a cycle and a pass of starter after a change of the queue.
//
// A command that has committed a change leaves a driver: a detached `negotiate -on-change`,
// which makes one cycle, has `starter` make one pass, and ends. There is no daemon. At most one
// driver is at work on a spool; a second change waits for the cycle after that.
//
// # The file
//
// The file change.lock in the spool has two flags, one byte each:
//
//	w  a change waits for a cycle
//	m  a driver is making a cycle
//
// A minus sign replaces a flag that is not set. The driver has the flock on the file. A command
// that starts a driver takes the flock and passes its open file as descriptor 3, so that the lock
// is held without a gap, and by the driver alone when the command has ended. The file is never
// synced: a power cut leaves no process that waits for it.
//
// # Why no change is missed
//
// A changer, when its change is committed:
//
//  1. sets w;
//  2. tries to take the flock. If it cannot, another process has it, and looks at w after it
//     has let go of it (step 6). If it can, it sets m and starts a driver.
//
// A driver:
//
//  3. rests until NEGOTIATOR_MIN_INTERVAL has passed since the last cycle;
//  4. sets m, and clears w. A change whose flag this clears was committed before;
//  5. makes the cycle, which reads the spool as it is from here on, and has starter make a pass;
//  6. clears m, frees the flock, and only then looks at w: if it is set, it does as a changer
//     does in step 2, and so starts the next driver.
//
// If a driver is killed at any point, the kernel frees its lock, and a flag stays set: m from
// before its start to the end of the pass, and w if a change waits. A driver with a failing cycle
// leaves m set, too. A process that finds a flag set and the lock free starts a driver: each
// command of the spool's owner, when it ends; a supervisor and `starter -watch` at once if only w
// is set, and after NEGOTIATOR_INTERVAL if m is set, so that a failing cycle is not repeated
// without end.
//
// # Who does not start a driver
//
// A process of a job only sets w, as a driver that it started would end with the job. With a time
// of the user's own, with CYCLE_ON_CHANGE = false, or if the sibling programs negotiate and starter
// are not found, nothing is done at all.
package onchange
