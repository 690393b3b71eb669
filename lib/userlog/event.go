package userlog

import (
	"strconv"
	"time"

	"fairspool/lib/pool"
)

// Event is something that happened to a job.
type Event struct {
	Job pool.JobID // of events that concern no job HTCondor writes -1.-1
	// Subproc is 0, save in logs of programs that count nodes with it.
	Subproc int
	At      time.Time // written in the zone of its Location, as Stamp says
	Stamp   Stamp
	Body    Body
	// More are the lines behind the body, as they stand: a table of resources,
	// what other programs add.
	More []string
	// AsRead is nil, or the lines of an event that was read, from behind the
	// time on, where Body and More alone would not give them back: the words of
	// another version, blanks for tabs. AppendTo then writes these.
	AsRead []string
}

// Body is what happened: one of the types of this package.
type Body interface {
	number() int
	appendTo(b []byte) []byte
}

// Number returns the number of a kind of event, 5 for Terminated.
func Number(body Body) int { return body.number() }

// Stamp is how an event's time is written. The zero Stamp is the one of today:
// 2026-11-20 10:00:00.
type Stamp struct {
	Old    bool // 11/20 10:00:00: no year, as before release 8.8
	T      bool // a T between date and time, not a blank
	UTC    bool // universal time, with a Z behind it
	Digits int  // of the fraction of a second, 0 to 9
}

// AppendTo appends the complete event to b, with the line that ends it. Line
// breaks in texts become blanks, and no text can look like the end of its event.
func (e Event) AppendTo(b []byte) []byte {
	b = appendNumber(b, e.Body.number())
	b = appendNumber(append(b, " ("...), e.Job.Cluster)
	b = appendNumber(append(b, '.'), e.Job.Proc)
	b = appendNumber(append(b, '.'), e.Subproc)
	b = e.appendTime(append(b, ") "...))
	return append(e.appendLines(append(b, ' ')), "...\n"...)
}

// appendLines appends what stands behind the time.
func (e Event) appendLines(b []byte) []byte {
	if len(e.AsRead) > 0 {
		b = append(append(b, oneLine(e.AsRead[0])...), '\n')
		return appendLines(b, "", e.AsRead[1:])
	}
	return appendLines(e.Body.appendTo(b), "", e.More)
}

func (e Event) appendTime(b []byte) []byte {
	at := e.At
	if e.Stamp.UTC {
		at = at.UTC()
	}
	switch {
	case e.Stamp.Old:
		b = at.AppendFormat(b, "01/02 15:04:05")
	case e.Stamp.T:
		b = at.AppendFormat(b, "2006-01-02T15:04:05")
	default:
		b = at.AppendFormat(b, time.DateTime)
	}
	if n := min(e.Stamp.Digits, 9); n > 0 {
		nine := strconv.Itoa(1e9 + at.Nanosecond())[1:]
		b = append(append(b, '.'), nine[:n]...)
	}
	if e.Stamp.UTC {
		b = append(b, 'Z')
	}
	return b
}

// appendNumber appends a number in three places or more, the sign being one. A
// submit of very many procs writes as many events: package fmt takes several
// times as long.
func appendNumber(b []byte, n int) []byte {
	switch {
	case n > -10 && n < 0:
		return append(b, '-', '0', byte('0'-n))
	case n < 0 || n >= 1000:
		return strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}
