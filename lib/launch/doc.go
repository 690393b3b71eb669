// Package launch turns a matched job into a process.
//
// A Job is what has to be run, as plain values: Expand puts in what a job's ad
// leaves to the ad of its slot, FromAd reads the result, and nothing that comes
// later looks at an ad again. Start runs the job on this machine; the Process it
// returns can be signalled, killed and waited for, and ends as an Ended. Other
// ways to run a job need only bring a Start and these four methods of their own.
//
// # What a job finds
//
// Its working directory is the ad's Iwd, or its scratch directory. Standard input
// is In (/dev/null without one); Out and Err are made or truncated, relative to
// Iwd, and are one open file when they name the same. They may not be the file
// that is read or executed. No signal is blocked. The environment is clean: PATH,
// HOME, USER and LOGNAME, over these what the ad's Environment says, and over that
//
//	_CONDOR_SLOT      the slot's name, without the machine
//	_CONDOR_JOB_IWD   the working directory
//	FAIRSPOOL_JOB     the job's id, for example 12.0
//
// With a scratch directory TMPDIR, TMP and TEMP name that, unless the ad's
// Environment says otherwise, and _CONDOR_SCRATCH_DIR does in any case.
//
// It inherits the umask, and which signals are ignored, from whoever calls
// Start. It leads a session and a process group of its own; signals go to the
// whole group, and what is left of the group when the job's own process has
// ended is killed.
//
// # How files are transferred
//
// The Transfer of a job says what it wants copied; a job without one works on the
// files in their places. Before the job starts, Place makes the scratch directory
// and copies the inputs there. When all its processes have gone, either Store
// copies the output to where it belongs, or Keep puts aside what is in the scratch
// directory for the next attempt, whose Place copies it over the inputs; and then
// RemoveTree removes the directory. Store tells what is new from the marks that
// Place took: copies keep the time of their originals, so that whatever the job
// writes to has another.
//
// In the scratch directory copies give way to later ones and follow no link. In
// the user's directories each copy is written beside its place, brought to the
// disk, and renamed: whoever looks, even after a crash, finds the old file or the
// new one.
//
// # Why no two attempts overlap
//
// Whoever supervises a job holds the flock on the claim's file, and hands the
// open file to Start. The job inherits it as its file descriptor 3, and so does
// every process that it makes. An flock belongs to the open file and not to a
// process: it is free only when the last of them has gone. So who can take the
// lock knows that no process of that attempt is alive, whatever has become of
// the supervisor. A job that closes descriptors which it did not open (as
// daemons do) gives this up for the process that did so.
//
// A job does not outlive its supervisor by much: the kernel sends SIGKILL to
// its first process when the thread that started it dies (prctl(2),
// PR_SET_PDEATHSIG), which is why Start keeps that thread to itself. What that
// process has started is not reached by this; it still holds the lock, and is
// found by it.
//
// The package knows ads, files and processes; of spools, claims and policy it
// knows nothing, and the only clock it reads is the machine's, for the time that
// a job took.
package launch
