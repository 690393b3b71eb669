// Package link carries requests between a pilot and the spool's end of its pipe.
//
// A Link is made of any pair of streams: the standard files of ssh, a socket. Both ends first write a
// greeting, one line of text that names the protocol and the program's version. Whatever stands before the greeting
// is skipped, since a shell may print something when it starts, and is quoted if no greeting follows.
// Behind it the pipe is a session of yamux: streams, each strictly ordered, with flow
// control, and pings by which either end finds that the other is gone.
//
// What is sent on a stream are messages (WriteMessage), four bytes that are the length and an object of JSON, or packets
// (WritePacket), which are messages behind a number. Files follow a message as a body (Body): chunks behind their lengths, a
// last one of length 0, or the reason why it breaks off. So what was cut is never taken for what is whole.
//
// A link resumes nothing by itself. A request without an answer may have been carried out or not, so every
// request is one that can be made again.
package link
