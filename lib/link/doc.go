// Package link carries requests between a pilot and the spool's end of its pipe.
//
// A Link is made of any pair of streams: the standard files of ssh, a socket. Both ends first write a greeting, one
// line of text that names the protocol and the program's version. Text before the greeting is skipped, since a shell
// may print something when it starts, and is quoted if no greeting follows. After it the pipe is a session of yamux:
// streams, each strictly ordered, with flow control, and pings by which either end finds that the other is gone.
//
// Streams carry messages (WriteMessage), a length of four bytes and an object of JSON, or packets (WritePacket), which
// are messages behind a number. Files follow a message as a body (Body): chunks behind their lengths, a last one of
// length 0, or the reason why it breaks off. So a cut body is never taken for a whole one.
//
// A link resumes nothing by itself. A request without an answer may have been carried out or not, so every request can
// be repeated.
package link
