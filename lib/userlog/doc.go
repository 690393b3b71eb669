// Package userlog writes the job event log: the file that a submit
// description names with "log", in which users and their tools follow what
// happens to their jobs.
//
// The format is HTCondor's, so that programs that read its logs read ours.
// An event is a header, a body and a line of three dots:
//
//	005 (012.003.000) 2026-11-20 10:00:00 Job terminated.
//		(1) Normal termination (return value 0)
//		...
//	...
//
// The header holds the kind of event, cluster, proc and a constant, and the
// local time. Several events, or one, are one write to a file opened for
// appending; so events of several processes never run into each other, and
// no lock is needed.
//
// The package opens the files it is told to and nothing else. It knows no
// spool and no clock: times come with the events.
package userlog
