// Package launch turns a matched job into a process.
//
// A Job is a program to run, as plain values: Expand fills in the references of a job's ad to the ad of its slot,
// FromAd reads the result, and nothing later looks at an ad again. Start runs the job on this machine; the Process it
// returns can be signalled, killed and waited for, and ends as an Ended. A Launcher is the interface through which a
// supervisor uses a machine, this one or another, and a Running that of a job on it.
//
// # What a job finds
//
// Its working directory is the ad's Iwd, or its scratch directory when files are transferred. Standard input is In
// (/dev/null without one); Out and Err are made or truncated, or appended to if the ad says so, relative to Iwd, and
// are one open file when they name the same. They may not be the file that is read or executed. No signal is blocked.
// The environment is clean: PATH, HOME, USER and LOGNAME; TMPDIR, TMP and TEMP, which name the scratch directory; the
// number of processors of the slot in OMP_NUM_THREADS and its kin. The ad's Environment overrides these; in it, as in
// the arguments, $$(CondorScratchDir) is the scratch directory. The following override that:
//
//	_CONDOR_SLOT         the slot's name, without the machine
//	_CONDOR_JOB_IWD      the working directory
//	_CONDOR_SCRATCH_DIR  the scratch directory
//	_CONDOR_JOB_AD       a file in it with the job's ad
//	_CONDOR_MACHINE_AD   one with the ad of its slot
//	_CONDOR_AssignedX    which X the slot has; for GPUs CUDA_VISIBLE_DEVICES and
//	                     others say it, too
//	BATCH_SYSTEM         HTCondor: whose names all of these are
//	FAIRSPOOL_JOB        the job's id, for example 12.0
//
// The text of BatchScript, if the ad has one, is a file in the scratch directory, to which the
// arguments refer.
//
// It inherits the umask, and which signals are ignored, from the caller of Start. It leads a session and a process
// group of its own; signals go to the whole group, and when the job's own process has ended, the rest of the group is
// killed.
//
// # Whose rights a job has
//
// Root runs a job as its Account, with that user's groups and its limits by limits.conf(5). Root handles the job's
// files with that user's rights, on a thread that has them (lib/asuser): it looks for them, opens and copies them, and
// the files that it makes are the user's. So is the scratch directory, in a folder of root's that other users can pass
// but not list. All others run jobs as themselves.
//
// In a process that serves an account (asuser.Serve) threads with root's rights do root's part, and no job has the
// rights of root, of the account, or of other system accounts.
//
// The job has the limits, nice value and processors of the process and the thread that fork it, which take on the job's
// for that moment: see fork.
//
// # How files are transferred
//
// The Transfer of a job says which files to copy; a job without one works on the files in their places. Before the job
// starts, Place makes the scratch directory and, with a Transfer, copies the inputs there. When all its processes have
// gone, either Store copies the output to where it belongs, or Keep puts aside the content of the scratch directory for
// the next attempt, whose Place copies it over the inputs; and then RemoveTree removes the directory. Store recognizes
// new files by the marks that Place took: copies keep the time of their originals, so that files that the job has
// written have another.
//
// In the scratch directory copies give way to later ones and follow no link. In the
// user's directories each copy is written beside its place, brought to the disk, and
// renamed: a reader, even after a crash, finds the old file or the new one.
//
// # How files travel
//
// A job whose Place is Apart runs on a machine that does not see its submitter's files. It always has a Transfer,
// unless ShouldTransferFiles is NO: such a job still works in place. On its machine the job's executable, as
// condor_exec.exe, and its standard files, as _condor_stdin, _condor_stdout and _condor_stderr, are in its scratch
// directory.
//
//	submitter's files          machine
//	Send               ---->   Receive    in the place of Place
//	TakeBack           <----   SendBack   in the place of Store, Checkpoint and Keep
//
// Both ends read the ad. They exchange a tar archive, in which the first part of each name says what the entry is
// (archive.go). It ends with an entry of its own, so that a cut archive is never taken for a whole one. Each end reads
// and writes with the rights of the job's account there. Send looks for all that the job needs, as Start would, and
// makes or truncates its output files.
//
// Neither end trusts the other one. Entries are unpacked below one directory, whatever their names, and no link among
// them is followed; hard links, devices and sparse files are refused. TakeBack omits symbolic links that lead out of
// the output: if the output became an input, the machine would get the files that they lead to.
//
// Standard output and error are copied to their places each time that files are taken back. If the job appends to them,
// its text is appended once its output is stored. Until then the text is kept with the job's files, and its next
// attempt goes on with it: so no text is there twice.
//
// # How a job is told to leave
//
// KillSignal, VacateTime and Retiring read from the ads of a job and its slot which signal to send, how long after it
// SIGKILL, and how long to wait before it. The caller sends them, and kills processes outside the job's process group.
//
// # How a job goes on later
//
// Checkpoint keeps the job's own checkpoint, when it has ended in the way that CheckpointExit recognizes: beside the
// place where the next Place finds it, and then in that place as a whole. A Criu makes images of the processes of a job
// that does not cooperate, and restores the same processes from them, once.
//
// # Why no two attempts overlap
//
// The supervisor of a job has the pipe of its claim open for reading, and hands that to Start. The job inherits it as
// its file descriptor 3, and so does every process that it makes. While any of them has it open, the pipe can be opened
// for writing without waiting. So a process that cannot do that knows that no process of that attempt is alive, even if
// the supervisor is dead. This does not hold for processes that close descriptors they did not open (as daemons do),
// and for a job that is started without the pipe, to be dumped some day; lib/family finds them by other signs.
//
// A job does not outlive its supervisor by much: the kernel sends SIGKILL to its first process when the thread that
// started it dies (prctl(2), PR_SET_PDEATHSIG), which is why Start keeps that thread to itself. The signal does not
// reach processes that the first one has started; they still have the pipe open, and are found by it.
//
// The package knows ads, files and processes, but not spools, claims or policy. The only clock it reads is the
// machine's, for the time that a job took.
package launch
