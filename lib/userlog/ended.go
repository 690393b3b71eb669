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
	// Of the last run, and of all runs; the local ones are those of what looks
	// after the job where it was submitted.
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

// atTable tells whether the table of resources comes next.
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
