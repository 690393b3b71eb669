// Package supervise takes a job's attempt from its beginning to its end, without knowing the queue's place
// or the making of processes.
//
// Serve is the life of a supervisor: one attempt after the other in a slot. It has three partners, which
// do not know each other:
//
//	Desk      the queue, the job's log, the submitter's files: what to do, whether to go on,
//	          what was used, how it ended
//	Machine   the job's processes and its scratch directory, a launch.Launcher
//	Settings  times, the clock, signals to the supervisor, and who is told what
//
// An attempt goes through these steps:
//
//	Desk.Begin           it runs from now on; nobody else may start it
//	Desk.Inputs          the scratch directory and the input files (place)
//	Machine.Attach       the processes of an earlier attempt go on, or
//	Machine.Start        the program is executed (run)
//	Desk.Executing       the job's log has that
//	  Running.Wait       while the program runs (watch) the supervisor heeds the desk, signals to itself, the
//	                     job's limits and its policy, and reports what is used
//	  Running.Signal     when the job has to leave: an order (order.go), carried out as its ad asks for
//	Running.End          nothing is left of its processes
//	Desk.Checkpointed    if it has left a checkpoint, which Desk.Outputs keeps: then it is started again
//	Desk.Outputs         its output is where it belongs, or is kept for its next attempt
//	Machine.Close, Tidy  the machine has forgotten the attempt
//	Desk.Finish          how it ended is recorded, and which attempt the slot goes on with
//	Desk.Close
//
// Whatever makes a job leave is an order: a reason, a signal, how long to wait before it and how long after.
// Heed returns the queue's orders. Judge first commits the orders of the job's policy or of a limit, and the
// supervisor then heeds them like any other. Only signals to the supervisor itself are obeyed at once. An
// order may be replaced until the job knows of it.
package supervise
