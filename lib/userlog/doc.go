// Package userlog reads and writes the job event log: the file that a submit
// description names with "log", in which users and their tools follow what
// happens to their jobs.
//
// The format is HTCondor's, so that programs that read its logs read ours, and
// this package reads theirs; userlog(5) has it in full. An event is a header, a
// body and a line of three dots:
//
//	005 (012.003.000) 2026-11-20 10:00:00 Job terminated.
//		(1) Normal termination (return value 0)
//		...
//	...
//
// The header holds the kind of event, cluster, proc and subproc, and the local
// time. A kind that the package knows is a type of its own, the others are
// Unknown; whatever a reader does not understand it keeps, and an event that was
// read and is written again has the same bytes, but for carriage returns.
//
// Reader reads a stream, Follower a file that grows. Append writes: all events
// of a call in one write behind what the file holds, under a lock among
// ourselves, so that events of several processes never run into each other, nor
// into the half of an event that somebody else left.
//
// The package opens the files it is told to and nothing else. It knows no
// spool; times come with the events.
package userlog
