// Package door lets a process of one account run a command of another: the protocol between a caller's
// command and serve, over a Unix socket in the spool.
//
// The caller's command connects and sends one Request: the command's name, its arguments and the
// properties of the caller's terminal. serve runs the same command in its own process, for the user
// that the kernel names as the socket's peer (SO_PEERCRED, SO_PEERGROUPS), and sends back the output
// and the exit status. Files that the command line names are the caller's: serve asks for their
// contents, and for files to be written, and the caller's command answers only for names on its own
// command line. A command may ask a question of its own kind (Session.Ask), as submit does for the
// jobs. If it is certain which question serve asks first (Request.First), the caller answers it at
// once.
//
// # Frames
//
// A frame is a letter, the length of its payload as four bytes, most significant first, and the
// payload, of at most MaxFrame bytes. Longer content is several frames; an empty one of the same
// letter ends them. From the caller:
//
//	q	Request, JSON: the first frame, and only the first
//	d	contents of a file that serve asked for; an empty one ends it
//	f	why such a file cannot be read or written: text
//	y	a file was written: its size as a decimal number
//	a	the answer to a question; the first one is that to Request.First, if there is one
//	p	nothing: the caller is at work on what it was asked for, or is about to be
//	i	a signal for the command, SIGINT or SIGTERM: its number as a decimal number
//
// From serve:
//
//	o e	standard output and error
//	r	name of a file that it wants to read
//	w	a file to be written: mode as an octal number, a blank and its name; its contents follow as d
//	?	a question, JSON
//	x	the exit status as a decimal number: the last frame
//
// # Limits
//
// serve trusts no caller: a frame of another letter or too long, a second Request, and an answer that
// it did not ask for end the connection. It gives up a caller that takes or says nothing for Patience,
// and ends as soon as the caller has gone. The command's output is queued (at most maxQueued bytes),
// so that the command never waits for the caller while it has a lock.
package door
