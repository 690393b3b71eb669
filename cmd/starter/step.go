package main

import "fairspool/lib/supervise"

// step is something that has just been done for an attempt by its supervisor or, where
// that is gone, by the pass that ends it.
type step = supervise.Step

// The steps of a desk in the spool, and of a pass.
const (
	stepLocked    step = "locked"    // it has the claim's lock
	stepBegun     step = "begun"     // it is recorded that the attempt runs
	stepKept      step = "kept"      // what the event log is to be told of the end is kept, until it is
	stepFinished  step = "finished"  // the end is recorded, and the slot's next attempt, if there is one
	stepConcluded step = "concluded" // the event log has the end
	stepUnlocked  step = "unlocked"  // the lock file, too
)

// reached is told of each step. It does nothing: tests have it end the process there.
var reached = func(step) {}
