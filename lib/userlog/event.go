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
// The header holds the kind of event, cluster, proc and subproc, and the local time. A
// known kind is a type of its own, the others are Unknown. A reader keeps all that it
// does not understand, and an event that is read and written again has the same bytes,
// except for carriage returns.
//
// Reader reads a stream, Follower a file that grows. Append writes all events of a call
// in one write at the end of the file, under a lock among ourselves, so that events of
// several processes never run into each other, nor into an incomplete event of another
// process.
//
// The package opens only the files it is told to. It knows no spool; times come with the
// events.
package userlog

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/pool"
)

// Event is something that happened to a job.
type Event struct {
	Job pool.JobID // of events that concern no job HTCondor writes -1.-1
	// Subproc is 0, except in logs of programs that count nodes with it.
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
		b = append(append(b, OneLine(e.AsRead[0])...), '\n')
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

// header is the first line of an event.
type header struct {
	number  int
	job     pool.JobID
	subproc int
	date    date
	head    string // what stands behind the time
}

// date is a moment as it is written; year is 0 in the old form.
type date struct {
	year, month, day, hour, minute, second, nano int
	stamp                                        Stamp
}

var (
	errHeader = errors.New("no event begins here: want a line like 000 (012.003.000) 2026-11-20 10:00:00")
	errDate   = errors.New("no date: want one like 2026-11-20 10:00:00 or 11/20 10:00:00")
)

// isHeader reports whether a line begins an event.
func isHeader[T string | []byte](line T) bool {
	if len(line) < 5 || line[3] != ' ' || line[4] != '(' {
		return false
	}
	_, err := parseHeader(string(line))
	return err == nil
}

func parseHeader(line string) (h header, err error) {
	number, rest, ok := strings.Cut(line, " (")
	ids, when, closed := strings.Cut(rest, ") ")
	if !ok || !closed || len(number) != 3 || digits(number) != 3 || number[0] == '-' {
		return h, errHeader
	}
	h.number, _ = strconv.Atoi(number)
	if !scan(ids, "%d.%d.%d", &h.job.Cluster, &h.job.Proc, &h.subproc) {
		return h, errHeader
	}
	h.date, h.head, ok = cutDate(when)
	if !ok {
		return h, errDate
	}
	return h, nil
}

// cutDate reads a moment and returns what stands behind it.
func cutDate(text string) (d date, rest string, ok bool) {
	p := places{text: text, ok: true}
	if len(text) > 2 && text[2] == '/' {
		d.stamp.Old = true
		d.month, _, d.day = p.number(2), p.expect("/"), p.number(2)
	} else {
		d.year, _, d.month, _, d.day = p.number(4), p.expect("-"), p.number(2), p.expect("-"), p.number(2)
	}
	if d.stamp.T = !d.stamp.Old && strings.HasPrefix(p.text, "T"); !d.stamp.T {
		p.expect(" ")
	} else {
		p.expect("T")
	}
	d.hour, _, d.minute, _, d.second = p.number(2), p.expect(":"), p.number(2), p.expect(":"), p.number(2)
	if strings.HasPrefix(p.text, ".") {
		p.expect(".")
		n := min(digits("0"+p.text)-1, 9)
		d.stamp.Digits, d.nano = n, p.number(n)
		for range 9 - n {
			d.nano *= 10
		}
		p.ok = p.ok && n > 0
	}
	if d.stamp.UTC = strings.HasPrefix(p.text, "Z"); d.stamp.UTC {
		p.expect("Z")
	}
	if p.text != "" {
		p.expect(" ")
	}
	return d, p.text, p.ok && d.month >= 1 && d.month <= 12 && d.day >= 1 && (d.day <= 28 || d.day <= daysIn(d.month, d.year, d.stamp.Old)) &&
		d.hour < 24 && d.minute < 60 && d.second < 60
}

// places are the places of a date that are still to be read.
type places struct {
	text string
	ok   bool
}

// number reads exactly n digits.
func (p *places) number(n int) int {
	v := 0
	for i := range n {
		if i == len(p.text) || p.text[i] < '0' || p.text[i] > '9' {
			p.ok = false
			return 0
		}
		v = 10*v + int(p.text[i]-'0')
	}
	p.text = p.text[n:]
	return v
}

func (p *places) expect(text string) bool {
	rest, ok := strings.CutPrefix(p.text, text)
	p.text, p.ok = rest, p.ok && ok
	return ok
}

// leapYear is any.
const leapYear = 2024

func daysIn(month, year int, old bool) int {
	if old {
		year = leapYear
	}
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// in returns the moment, of a year where the date has none.
func (d date) in(year int, zone *time.Location) time.Time {
	if !d.stamp.Old {
		year = d.year
	}
	for d.stamp.Old && d.day > daysIn(d.month, year, false) {
		year-- // the 29th of February: of the last leap year
	}
	if d.stamp.UTC {
		zone = time.UTC
	}
	return time.Date(year, time.Month(d.month), d.day, d.hour, d.minute, d.second, d.nano, zone)
}

// Generic is event 008: a text of some program, the job itself perhaps.
type Generic struct {
	Text string
}

// Unknown is an event of an unknown kind, or one with other words than its kind's.
type Unknown struct {
	Number int
	Lines  []string // the first is what stands behind the time
}

func (Generic) number() int   { return 8 }
func (u Unknown) number() int { return u.Number }

func (g Generic) appendTo(b []byte) []byte { return appendText(b, "", g.Text, "") }

func readGeneric(head string, _ *lines) Body { return Generic{head} }

func (u Unknown) appendTo(b []byte) []byte {
	if len(u.Lines) == 0 {
		return append(b, '\n')
	}
	return appendLines(appendText(b, "", u.Lines[0], ""), "", u.Lines[1:])
}

// kinds read the bodies of the events that the package knows, by their number,
// from the text behind the time and the lines after that. They return nil when
// that is nothing of the kind.
var kinds = map[int]func(head string, l *lines) Body{
	0: readSubmitted, 1: readExecuting, 2: readExecutableError, 3: readCheckpointed,
	4: readEvicted, 5: readTerminated, 6: readImageSize, 7: readShadowException, 8: readGeneric,
	9: readAborted, 10: readSuspended, 11: readUnsuspended, 12: readHeld,
	13: readReleased, 21: readRemoteError, 22: readDisconnected,
	23: readReconnected, 24: readReconnectFailed, 28: readAdInformation,
	33: readAttributeChanged, 35: readClusterSubmitted, 36: readClusterRemoved,
	37: readFactoryPaused, 38: readFactoryResumed, 40: readFileTransfer,
}

// readBody returns the body of an event and the lines that are no part of it.
func readBody(number int, head string, rest []string) (Body, []string) {
	l := &lines{rest}
	if read := kinds[number]; read != nil {
		if body := read(head, l); body != nil {
			return body, l.rest
		}
	}
	return Unknown{number, append([]string{head}, rest...)}, nil
}
