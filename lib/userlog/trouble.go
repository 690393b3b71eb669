package userlog

import (
	"fmt"
	"strings"
)

// ShadowException is event 007: what looks after the job where it was submitted
// gave up; the job is to run again.
type ShadowException struct {
	Message string
	Bytes   Bytes
}

// RemoteError is event 021: a program on the job's machine reports an error.
type RemoteError struct {
	Kind          string // Error, Warning or Message
	Daemon, Host  string // which program, and where
	Text          []string
	Code, Subcode int // 0 for none
}

// Disconnected is event 022: nobody knows how the job's machine is; it is asked.
type Disconnected struct {
	Reason, Slot, Address string
}

// Reconnected is event 023: the job's machine has answered, and the job goes on.
type Reconnected struct {
	Slot, Startd, Starter string
}

// ReconnectFailed is event 024: it has not; the job is to run again.
type ReconnectFailed struct {
	Reason, Slot string
}

func (ShadowException) number() int { return 7 }
func (RemoteError) number() int     { return 21 }
func (Disconnected) number() int    { return 22 }
func (Reconnected) number() int     { return 23 }
func (ReconnectFailed) number() int { return 24 }

func (s ShadowException) appendTo(b []byte) []byte {
	return s.Bytes.appendTo(appendText(b, "Shadow exception!\n\t", s.Message, ""), "Run")
}

func readShadowException(head string, l *lines) Body {
	if head != "Shadow exception!" {
		return nil
	}
	return ShadowException{l.reason(), l.bytes("Run")}
}

func (r RemoteError) appendTo(b []byte) []byte {
	b = appendText(b, "", r.Kind+" from "+r.Daemon+" on "+r.Host, ":")
	b = appendLines(b, "\t", r.Text)
	if r.Code == 0 {
		return b
	}
	return appendCodes(b, r.Code, r.Subcode)
}

func readRemoteError(head string, l *lines) Body {
	kind, rest, found := strings.Cut(head, " from ")
	daemon, rest, named := strings.Cut(rest, " on ")
	host, ok := strings.CutSuffix(rest, ":")
	if !ok || !found || !named {
		return nil
	}
	r := RemoteError{Kind: kind, Daemon: daemon, Host: host}
	codes := func(line string) bool { return scan(line, "Code %d Subcode %d", &r.Code, &r.Subcode) }
	r.Text = l.indented("\t", func(line string) bool { return !codes(line) })
	if r.Code != 0 || r.Subcode != 0 {
		l.skip()
	}
	return r
}

const tryingTo = "    Trying to reconnect to "

func (d Disconnected) appendTo(b []byte) []byte {
	b = appendText(b, "Job disconnected, attempting to reconnect\n    ", d.Reason, "")
	return appendText(b, tryingTo, d.Slot+" "+d.Address, "")
}

func readDisconnected(head string, l *lines) Body {
	if !strings.HasPrefix(head, "Job disconnected") {
		return nil
	}
	var d Disconnected
	if reason := l.indented(noteIndent, once()); reason != nil {
		d.Reason = reason[0]
	}
	to, _ := l.take(strings.TrimSpace(tryingTo)+" ", "")
	d.Slot, d.Address, _ = strings.Cut(to, " ")
	return d
}

// once passes one line.
func once() func(string) bool {
	n := 0
	return func(string) bool { n++; return n == 1 }
}

func (r Reconnected) appendTo(b []byte) []byte {
	b = appendText(b, "Job reconnected to ", r.Slot, "")
	b = appendText(b, "    startd address: ", r.Startd, "")
	return appendText(b, "    starter address: ", r.Starter, "")
}

func readReconnected(head string, l *lines) Body {
	slot, ok := strings.CutPrefix(head, "Job reconnected to ")
	if !ok {
		return nil
	}
	r := Reconnected{Slot: slot}
	r.Startd, _ = l.take("startd address: ", "")
	r.Starter, _ = l.take("starter address: ", "")
	return r
}

const cannotReach, rescheduling = "Can not reconnect to ", ", rescheduling job"

func (r ReconnectFailed) appendTo(b []byte) []byte {
	b = appendText(b, "Job reconnection failed\n    ", r.Reason, "")
	return fmt.Appendf(b, "    %s%s%s\n", cannotReach, oneLine(r.Slot), rescheduling)
}

func readReconnectFailed(head string, l *lines) Body {
	if !strings.HasPrefix(head, "Job reconnection failed") {
		return nil
	}
	var r ReconnectFailed
	if reason := l.indented(noteIndent, once()); reason != nil {
		r.Reason = reason[0]
	}
	r.Slot, _ = l.take(cannotReach, rescheduling)
	return r
}
