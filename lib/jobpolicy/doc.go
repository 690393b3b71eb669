// Package jobpolicy says what a job's own expressions want done with the job:
// that it is held, released, removed or run once more, and why.
//
// Periodic is asked now and then about any job of the queue, and Never tells about which
// jobs it need not be. OnExit is asked about a job whose process has ended, Stays
// about one that would leave the queue. Limits and Deferral are for whoever runs the
// job, Next for whoever puts a job with times in the manner of cron(8) into the
// queue, or back into it. Waits and After tell which clusters a job waits for. The answers
// are Verdicts; acting on them is the caller's.
//
// The source is HTCondor's manual ("condor_submit", "Time Scheduling for Job Execution",
// "Job ClassAd Attributes"), and where that is silent its condor_utils/user_job_policy.cpp.
// AfterOk, AfterAny and WallTimeLimit are our own.
//
// Expressions are the users', and may be anything: what is undefined or an error
// asks for nothing, reasons are one line and bounded, and the work of each evaluation is bounded
// by the Context's MaxSteps.
//
// The package is pure. It knows the attributes of job ads, and no queue.
package jobpolicy
