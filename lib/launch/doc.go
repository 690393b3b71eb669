// Package launch turns a matched job into a process.
//
// A Job is what has to be run, as plain values: Expand puts in what a job's ad
// leaves to the ad of its slot, FromAd reads the result, and nothing that comes
// later looks at an ad again. Start runs the job on this machine; the Process it
// returns can be signalled, killed and waited for, and ends as an Ended. A Launcher is
// what a supervisor wants of a machine, this one or another, and a Running what it gets.
//
// # What a job finds
//
// Its working directory is the ad's Iwd, or its scratch directory when files are
// transferred. Standard input is In (/dev/null without one); Out and Err are made or
// truncated, or appended to where the ad says so, relative to Iwd, and are one open file
// when they name the same. They may not be the file that is read or executed. No signal
// is blocked. The environment is clean: PATH, HOME, USER and LOGNAME; TMPDIR, TMP and
// TEMP, which name the scratch directory; the number of processors of the slot in
// OMP_NUM_THREADS and its kin; over these what the ad's Environment says, in which, as in
// the arguments, $$(CondorScratchDir) is the scratch directory; and over that
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
// It inherits the umask, and which signals are ignored, from the caller of Start. It
// leads a session and a process group of its own; signals go to the whole group, and what
// is left of the group when the job's own process has ended is killed.
//
// # Whose rights a job has
//
// Root runs a job as its Account, with that user's groups, and with its limits by
// limits.conf(5); and does all that is done for the job with the files of that user with
// that user's rights to files, on a thread that has them (lib/asuser): it looks for them,
// opens and copies them, and what it makes is the user's. So is the scratch directory, in
// a folder of root's that others get through but do not see into. All others run jobs as
// themselves.
//
// In a process that serves an account (asuser.Serve) root's part falls to threads with root's
// rights, and no job has the rights of root, of the account, or of other system accounts.
//
// Limits, nice value and processors are those of the process and the thread that fork
// the job, and for that moment these have the job's: fork says how, and what that means.
//
// # How files are transferred
//
// The Transfer of a job says what it wants copied; a job without one works on the
// files in their places. Before the job starts, Place makes the scratch directory
// and, with a Transfer, copies the inputs there. When all its processes have gone, either Store
// copies the output to where it belongs, or Keep puts aside what is in the scratch
// directory for the next attempt, whose Place copies it over the inputs; and then
// RemoveTree removes the directory. Store tells what is new from the marks that
// Place took: copies keep the time of their originals, so that whatever the job
// writes to has another.
//
// In the scratch directory copies give way to later ones and follow no link. In the
// user's directories each copy is written beside its place, brought to the disk, and
// renamed: a reader, even after a crash, finds the old file or the new one.
//
// # How files travel
//
// A job whose Place is Apart runs on a machine that does not see its submitter's files. It always has a
// Transfer, unless ShouldTransferFiles is NO: such a job works in place all the same. There is the job as its
// machine runs it: its executable, as condor_exec.exe, and its standard files, as _condor_stdin, _condor_stdout and
// _condor_stderr, are in its scratch directory.
//
//	submitter's files          machine
//	Send               ---->   Receive    in the place of Place
//	TakeBack           <----   SendBack   in the place of Store, Checkpoint and Keep
//
// Both ends read the ad. What goes between them is a tar archive, of which the first part of each name says what it is
// of (archive.go). It ends with an entry of its own, so that an archive that was cut is never taken for a whole one. Each
// end reads and writes with the rights of the account that the job has there. Send looks for all that the job needs, as
// Start would, and makes or truncates its output files.
//
// Neither end believes the other one. What comes is unpacked below one directory, whatever its names say, and no link in
// it is followed; hard links, devices and sparse files are refused. TakeBack leaves symbolic links out of an
// output that lead out of it: when it is an input one day, the machine would get what they lead to.
//
// Standard output and error are copied to their places each time that files are taken back. If the job appends
// to them, what it wrote is appended once its output is stored. Until then it is kept with the job's files, and its next
// attempt goes on with it: so none of it is there twice.
//
// # How a job is told to leave
//
// KillSignal, VacateTime and Retiring say what the ads of a job and its slot want: which
// signal, how long after it SIGKILL, and how long to wait before it. Sending them, and
// killing what is not in the job's process group, is for the caller.
//
// # How a job goes on later
//
// Checkpoint keeps what the job itself calls its checkpoint, when it has ended in the way
// that CheckpointExit knows: beside the place where the next Place finds it, and then in
// that place as a whole. A Criu makes images of the processes of a job that knows nothing of
// it, and the same processes of them, once.
//
// # Why no two attempts overlap
//
// The supervisor of a job has the pipe of its claim open for reading, and hands that to
// Start. The job inherits it as its file descriptor 3, and so does every process that it
// makes. While any of them has it open, the pipe can be opened for writing without
// waiting. So the process that cannot do that knows that no process of that attempt is
// alive, whatever has become of the supervisor. A job that closes descriptors which it
// did not open (as daemons do) gives this up for the process that did so, and so does one
// that is started without it, to be dumped some day; lib/family knows them by other
// signs.
//
// A job does not outlive its supervisor by much: the kernel sends SIGKILL to
// its first process when the thread that started it dies (prctl(2),
// PR_SET_PDEATHSIG), which is why Start keeps that thread to itself. What that
// process has started is not reached by this; it still has the pipe open, and is
// found by it.
//
// The package knows ads, files and processes; of spools, claims and policy it
// knows nothing, and the only clock it reads is the machine's, for the time that
// a job took.
package launch
