package main

// step is something that has just been done for an attempt by its supervisor or, where
// that is gone, by the pass that ends it.
type step string

const (
	stepLocked       step = "locked"       // it has the claim's lock
	stepBegun        step = "begun"        // it is recorded that the attempt runs
	stepPlacing      step = "placing"      // the scratch directory and the inputs come next
	stepPlaced       step = "placed"       // they are there
	stepExecuted     step = "executed"     // the program was started, at first or after a checkpoint
	stepLogged       step = "logged"       // the event log has that
	stepTold         step = "told"         // the job was told to leave
	stepKilled       step = "killed"       // it was sent SIGKILL, since it did not
	stepEnded        step = "ended"        // the program has ended
	stepAlone        step = "alone"        // nothing that it started is left
	stepStored       step = "stored"       // the output is where it belongs, or kept
	stepCheckpointed step = "checkpointed" // a checkpoint is kept
	stepResuming     step = "resuming"     // and recorded
	stepTidied       step = "tidied"       // the scratch directory is gone
	stepKept         step = "kept"         // what the event log is to be told of the end is kept, until it is
	stepFinished     step = "finished"     // the end is recorded, and the slot's next attempt, if there is one
	stepConcluded    step = "concluded"    // the event log has the end
	stepUnlocked     step = "unlocked"     // the lock file, too
)

// reached is told of each step. It does nothing: tests have it end the process there.
var reached = func(step) {}
