package userlog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/pool"
)

// Event is something that happened to a job.
type Event struct {
	Job  pool.JobID
	At   time.Time // written in the zone of its Location, to the second
	Body Body
}

// Body is what happened: one of the types of this package.
type Body interface {
	number() int
	appendTo(b []byte) []byte
}

// AppendTo appends the complete event to b, with the line that ends it.
func (e Event) AppendTo(b []byte) []byte {
	b = appendNumber(b, e.Body.number())
	b = appendNumber(append(b, " ("...), e.Job.Cluster)
	b = appendNumber(append(b, '.'), e.Job.Proc)
	b = e.At.AppendFormat(append(b, ".000) "...), "2006-01-02 15:04:05 ")
	b = e.Body.appendTo(b)
	return append(b, "...\n"...)
}

// appendNumber appends a number of three digits or more. A submit of very many
// procs writes as many events: package fmt takes several times as long.
func appendNumber(b []byte, n int) []byte {
	if n < 0 || n >= 1000 {
		return strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

// Submitted is event 000: the job entered the queue.
type Submitted struct {
	Host  string   // where submit ran
	Notes []string // further lines, may be empty
}

// Executing is event 001: the job was started.
type Executing struct {
	Host string // where it runs
	Slot string // the slot's Name; empty when not known
}

// Evicted is event 004: the job was made to leave its slot before it had
// ended, and is to run again.
type Evicted struct {
	Run    Usage  // of the run that ended here
	Reason string // may be empty
}

// Terminated is event 005: the job ended by itself.
type Terminated struct {
	ReturnValue int    // of a normal end
	Signal      int    // that killed the job; 0 for a normal end
	Core        string // path of the core file, empty when there is none
	Run         Usage  // of the last run
	Total       Usage  // of all runs
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

// AttributeChanged is event 033: an attribute of the job's ad was changed by
// hand.
type AttributeChanged struct {
	Name     string
	From, To string // ClassAd text; From is empty when there was no value
}

// Usage is processor time, to the second.
type Usage struct {
	User, System time.Duration
}

func (Submitted) number() int        { return 0 }
func (Executing) number() int        { return 1 }
func (Evicted) number() int          { return 4 }
func (Terminated) number() int       { return 5 }
func (Aborted) number() int          { return 9 }
func (Held) number() int             { return 12 }
func (Released) number() int         { return 13 }
func (AttributeChanged) number() int { return 33 }

func (s Submitted) appendTo(b []byte) []byte {
	b = append(append(append(b, "Job submitted from host: <"...), oneLine(s.Host)...), ">\n"...)
	for _, note := range s.Notes {
		b = fmt.Appendf(b, "    %s\n", oneLine(note))
	}
	return b
}

func (x Executing) appendTo(b []byte) []byte {
	b = fmt.Appendf(b, "Job executing on host: <%s>\n", oneLine(x.Host))
	if x.Slot != "" {
		b = fmt.Appendf(b, "\tSlotName: %s\n", oneLine(x.Slot))
	}
	return b
}

func (v Evicted) appendTo(b []byte) []byte {
	b = append(b, "Job was evicted.\n\t(0) CPU times\n"...)
	b = v.Run.appendTo(b, "Run Remote")
	b = Usage{}.appendTo(b, "Run Local")
	b = appendBytes(b, "Run Bytes Sent", "Run Bytes Received")
	if v.Reason != "" {
		b = fmt.Appendf(b, "\tReason: %s\n", oneLine(v.Reason))
	}
	return b
}

func (t Terminated) appendTo(b []byte) []byte {
	b = append(b, "Job terminated.\n"...)
	switch {
	case t.Signal == 0:
		b = fmt.Appendf(b, "\t(1) Normal termination (return value %d)\n", t.ReturnValue)
	case t.Core == "":
		b = fmt.Appendf(b, "\t(0) Abnormal termination (signal %d)\n\t(0) No core file\n", t.Signal)
	default:
		b = fmt.Appendf(b, "\t(0) Abnormal termination (signal %d)\n\t(1) Corefile in: %s\n", t.Signal, oneLine(t.Core))
	}
	b = t.Run.appendTo(b, "Run Remote")
	b = Usage{}.appendTo(b, "Run Local")
	b = t.Total.appendTo(b, "Total Remote")
	b = Usage{}.appendTo(b, "Total Local")
	return appendBytes(b, "Run Bytes Sent", "Run Bytes Received", "Total Bytes Sent", "Total Bytes Received")
}

func (a Aborted) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job was aborted.\n"...), a.Reason)
}

func (h Held) appendTo(b []byte) []byte {
	reason := h.Reason
	if reason == "" {
		reason = "Reason unspecified"
	}
	b = appendReason(append(b, "Job was held.\n"...), reason)
	return fmt.Appendf(b, "\tCode %d Subcode %d\n", h.Code, h.Subcode)
}

func (r Released) appendTo(b []byte) []byte {
	return appendReason(append(b, "Job was released.\n"...), r.Reason)
}

func (c AttributeChanged) appendTo(b []byte) []byte {
	if c.From == "" {
		return fmt.Appendf(b, "Setting job attribute %s to %s\n", oneLine(c.Name), oneLine(c.To))
	}
	return fmt.Appendf(b, "Changing job attribute %s from %s to %s\n", oneLine(c.Name), oneLine(c.From), oneLine(c.To))
}

func appendReason(b []byte, reason string) []byte {
	if reason == "" {
		return b
	}
	return fmt.Appendf(b, "\t%s\n", oneLine(reason))
}

func (u Usage) appendTo(b []byte, of string) []byte {
	b = append(b, "\t\tUsr "...)
	b = appendDuration(b, u.User)
	b = append(b, ", Sys "...)
	b = appendDuration(b, u.System)
	return fmt.Appendf(b, "  -  %s Usage\n", of)
}

func appendDuration(b []byte, d time.Duration) []byte {
	s := int64(max(d, 0) / time.Second)
	return fmt.Appendf(b, "%d %02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}

// appendBytes writes the counts of a file transfer, which are always zero:
// jobs work on the files of their own file system.
func appendBytes(b []byte, what ...string) []byte {
	for _, w := range what {
		b = fmt.Appendf(b, "\t0  -  %s By Job\n", w)
	}
	return b
}

// oneLine keeps text from ending its line, and so from forging an event.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, text)
}
