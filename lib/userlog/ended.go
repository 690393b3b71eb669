package userlog

import (
	"fmt"
	"slices"
	"strings"
)

// Exit is how a job's process ended.
type Exit struct {
	ReturnValue int // of a normal end
	// Signal killed the job; 0 for a normal end, -1 where a log does not tell
	// which one.
	Signal int
	Core   string // path of the core file, empty when there is none
}

// Evicted is event 004: the job left its slot before its time, or with no good
// end, and is to run again.
type Evicted struct {
	Code, Subcode int   // of Reason, VacateReasonCode; 0 for none
	Checkpointed  bool  // it left a checkpoint
	Requeued      *Exit // it ended by itself and runs once more; else nil
	Run, RunLocal Usage // of the run that ended here
	Bytes         Bytes
	Reason        string // may be empty
}

// Checkpointed is event 003: the job left a checkpoint, and goes on where it is.
type Checkpointed struct {
	Run, RunLocal Usage // of the run until then
	Sent          int64 // bytes of the checkpoint, 0 where that is not told
}

// Terminated is event 005: the job ended by itself.
type Terminated struct {
	ReturnValue int    // of a normal end
	Signal      int    // as in Exit
	Core        string // path of the core file, empty when there is none
	// Of the last run, and of all runs; the local ones are usage by the processes that
	// handle the job on the submitting machine.
	Run, RunLocal     Usage
	Total, TotalLocal Usage
	Bytes, TotalBytes Bytes
}

// Exit returns how the job ended.
func (t Terminated) Exit() Exit { return Exit{t.ReturnValue, t.Signal, t.Core} }

func (Checkpointed) number() int { return 3 }
func (Evicted) number() int      { return 4 }
func (Terminated) number() int   { return 5 }

func (x Exit) appendTo(b []byte) []byte {
	if x.Signal == 0 {
		return append(appendCount(b, "\t(1) Normal termination (return value ", int64(x.ReturnValue)), ")\n"...)
	}
	b = fmt.Appendf(b, "\t(0) Abnormal termination (signal %d)\n", x.Signal)
	if x.Core == "" {
		return append(b, "\t(0) No core file\n"...)
	}
	return appendText(b, "\t(1) Corefile in: ", x.Core, "")
}

// exit takes the lines that say how a job ended.
func (l *lines) exit() (x Exit, ok bool) {
	if l.scan("(1) Normal termination (return value %d)", &x.ReturnValue) {
		return x, true
	}
	if !l.scan("(0) Abnormal termination (signal %d)", &x.Signal) {
		return x, false
	}
	if x.Signal == 0 {
		x.Signal = -1
	}
	if x.Core, ok = l.take("(1) Corefile in: ", ""); !ok {
		l.take("(0) No core file", "")
	}
	return x, true
}

const checkpointed, forCheckpoint = "Job was checkpointed.", "Run Bytes Sent By Job For Checkpoint"

func (k Checkpointed) appendTo(b []byte) []byte {
	b = append(b, checkpointed+"\n"...)
	first := len(b)
	b = k.Run.appendTo(b, "Run Remote")
	b = slices.Delete(b, first, first+1) // HTCondor has this line one tab to the left
	b = k.RunLocal.appendTo(b, "Run Local")
	if k.Sent == 0 {
		return b
	}
	return append(appendCount(b, "\t", k.Sent), "  -  "+forCheckpoint+"\n"...)
}

func readCheckpointed(head string, l *lines) Body {
	if head != checkpointed {
		return nil
	}
	var k Checkpointed
	k.Run, _ = l.usage("Run Remote")
	k.RunLocal, _ = l.usage("Run Local")
	k.Sent, _ = l.counted(forCheckpoint, "")
	return k
}

const evicted = "Job was evicted."

func (v Evicted) appendTo(b []byte) []byte {
	b = append(b, evicted...)
	if v.Code != 0 || v.Subcode != 0 {
		b = fmt.Appendf(b, " Code %d Subcode %d", v.Code, v.Subcode)
	}
	switch {
	case v.Requeued != nil:
		b = append(b, "\n\t(0) Job terminated and was requeued\n"...)
	case v.Checkpointed:
		b = append(b, "\n\t(1) Job was checkpointed.\n"...)
	default:
		b = append(b, "\n\t(0) CPU times\n"...)
	}
	b = v.Run.appendTo(b, "Run Remote")
	b = v.RunLocal.appendTo(b, "Run Local")
	b = v.Bytes.appendTo(b, "Run")
	if v.Requeued != nil {
		return appendReason(v.Requeued.appendTo(b), v.Reason)
	}
	if v.Reason != "" {
		b = appendText(b, "\tReason: ", v.Reason, "")
	}
	return b
}

func readEvicted(head string, l *lines) Body {
	codes, ok := strings.CutPrefix(head, evicted)
	if !ok {
		return nil
	}
	var v Evicted
	scan(codes, " Code %d Subcode %d", &v.Code, &v.Subcode)
	how, _ := l.next()
	requeued := strings.HasPrefix(how, "(0) Job terminated and was requeued")
	v.Checkpointed = strings.HasPrefix(how, "(1)")
	if requeued || v.Checkpointed || strings.HasPrefix(how, "(0)") {
		l.skip()
	}
	v.Run, _ = l.usage("Run Remote")
	v.RunLocal, _ = l.usage("Run Local")
	v.Bytes = l.bytes("Run")
	if x, ok := l.exit(); ok && requeued {
		v.Requeued = &x
	}
	if v.Reason, ok = l.take("Reason: ", ""); !ok && v.Requeued != nil && !l.atTable() {
		v.Reason = l.reason()
	}
	return v
}

// atTable reports whether the table of resources comes next.
func (l *lines) atTable() bool {
	line, ok := l.next()
	return ok && strings.HasPrefix(line, "Partitionable Resources")
}

func (t Terminated) appendTo(b []byte) []byte {
	b = t.Exit().appendTo(append(b, "Job terminated.\n"...))
	b = t.Run.appendTo(b, "Run Remote")
	b = t.RunLocal.appendTo(b, "Run Local")
	b = t.Total.appendTo(b, "Total Remote")
	b = t.TotalLocal.appendTo(b, "Total Local")
	return t.TotalBytes.appendTo(t.Bytes.appendTo(b, "Run"), "Total")
}

func readTerminated(head string, l *lines) Body {
	if !strings.HasPrefix(head, "Job terminated") {
		return nil
	}
	x, ok := l.exit()
	if !ok {
		return nil
	}
	t := Terminated{ReturnValue: x.ReturnValue, Signal: x.Signal, Core: x.Core}
	t.Run, _ = l.usage("Run Remote")
	t.RunLocal, _ = l.usage("Run Local")
	t.Total, _ = l.usage("Total Remote")
	t.TotalLocal, _ = l.usage("Total Local")
	t.Bytes, t.TotalBytes = l.bytes("Run"), l.bytes("Total")
	return t
}

// Aborted is event 009: the job was removed from the queue.
type Aborted struct {
	Reason string // may be empty
}

// Held is event 012: the job was put on hold.
type Held struct {
	Reason        string // may be empty
	Code, Subcode int    // HoldReasonCode, HoldReasonSubCode
}

// Released is event 013: the job was released from hold.
type Released struct {
	Reason string // may be empty
}

// FactoryPaused is event 037: no more jobs of a cluster appear for some time.
type FactoryPaused struct {
	Reason              string // may be empty
	PauseCode, HoldCode int    // 0 for none
}

// FactoryResumed is event 038: jobs of the cluster appear again.
type FactoryResumed struct {
	Reason string // may be empty
}

func (Aborted) number() int        { return 9 }
func (Held) number() int           { return 12 }
func (Released) number() int       { return 13 }
func (FactoryPaused) number() int  { return 37 }
func (FactoryResumed) number() int { return 38 }

func (a Aborted) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job was aborted.\n"...), a.Reason)
}

// readAborted takes the old words too: "Job was aborted by the user."
func readAborted(head string, l *lines) Body {
	if !strings.HasPrefix(head, "Job was aborted") {
		return nil
	}
	return Aborted{l.reason()}
}

// unspecified stands for a reason that is empty.
const unspecified = "Reason unspecified"

func (h Held) appendTo(b []byte) []byte {
	reason := h.Reason
	if reason == "" {
		reason = unspecified
	}
	b = appendReason(append(b, "Job was held.\n"...), reason)
	return appendCodes(b, h.Code, h.Subcode)
}

func readHeld(head string, l *lines) Body {
	if head != "Job was held." {
		return nil
	}
	var h Held
	const codes = "Code %d Subcode %d"
	if len(l.rest) == 1 && l.scan(codes, &h.Code, &h.Subcode) {
		return h
	}
	if h.Reason = l.reason(); h.Reason == unspecified {
		h.Reason = ""
	}
	l.scan(codes, &h.Code, &h.Subcode)
	return h
}

func (r Released) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job was released.\n"...), r.Reason)
}

func readReleased(head string, l *lines) Body {
	if head != "Job was released." {
		return nil
	}
	return Released{l.reason()}
}

func (p FactoryPaused) appendTo(b []byte) []byte {
	b = append(b, "Job Materialization Paused\n"...)
	if p.Reason != "" || p.PauseCode != 0 {
		b = appendText(b, "\t", p.Reason, "")
	}
	b = appendCode(b, "\tPauseCode ", p.PauseCode)
	return appendCode(b, "\tHoldCode ", p.HoldCode)
}

func appendCode(b []byte, before string, code int) []byte {
	if code == 0 {
		return b
	}
	return fmt.Appendf(b, "%s%d\n", before, code)
}

func readFactoryPaused(head string, l *lines) Body {
	if !strings.Contains(strings.ToLower(head), "pause") {
		return nil
	}
	var p FactoryPaused
	if line, _ := l.next(); !strings.HasPrefix(line, "HoldCode ") {
		p.Reason = l.reason()
	}
	l.scan("PauseCode %d", &p.PauseCode)
	l.scan("HoldCode %d", &p.HoldCode)
	return p
}

func (r FactoryResumed) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job Materialization Resumed\n"...), r.Reason)
}

func readFactoryResumed(head string, l *lines) Body {
	if !strings.Contains(strings.ToLower(head), "resume") {
		return nil
	}
	return FactoryResumed{l.reason()}
}

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

// Disconnected is event 022: the state of the job's machine is unknown; it is being
// asked.
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
	return fmt.Appendf(b, "    %s%s%s\n", cannotReach, OneLine(r.Slot), rescheduling)
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
