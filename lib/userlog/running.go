package userlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/elapsed"
)

// FileTransfer is event 040: a step of moving the job's files.
type FileTransfer struct {
	Step   TransferStep
	Queued int    // so many seconds it waited for its turn; below 0 if that is not told
	Host   string // to which; may be empty
}

// TransferStep is what was reached.
type TransferStep int

// The steps, in the order in which a job takes them.
const (
	InputQueued TransferStep = iota
	InputStarted
	InputFinished
	OutputQueued
	OutputStarted
	OutputFinished
)

var steps = [...]string{
	"Entered queue to transfer input files",
	"Started transferring input files",
	"Finished transferring input files",
	"Entered queue to transfer output files",
	"Started transferring output files",
	"Finished transferring output files",
}

// String returns the words for it in an event.
func (s TransferStep) String() string { return steps[min(max(s, 0), OutputFinished)] }

func (FileTransfer) number() int { return 40 }

func (f FileTransfer) appendTo(b []byte) []byte {
	b = appendText(b, "", f.Step.String(), "")
	if f.Queued >= 0 {
		b = fmt.Appendf(b, "\tSeconds spent in queue: %d\n", f.Queued)
	}
	if f.Host != "" {
		b = appendText(b, "\tTransferring to host: ", f.Host, "")
	}
	return b
}

func readFileTransfer(head string, l *lines) Body {
	step := slices.Index(steps[:], head)
	if step < 0 {
		return nil
	}
	f := FileTransfer{Step: TransferStep(step), Queued: -1}
	l.scan("Seconds spent in queue: %d", &f.Queued)
	f.Host, _ = l.take("Transferring to host: ", "")
	return f
}

// AdInformation is event 028: attributes of the job, to go with the event before
// it.
type AdInformation struct {
	Ad []string // "Proc = 0" each
}

// AttributeChanged is event 033: an attribute of the job's ad was changed by
// hand.
type AttributeChanged struct {
	Name     string
	From, To string // ClassAd text; From is empty when there was no value
}

func (AdInformation) number() int    { return 28 }
func (AttributeChanged) number() int { return 33 }

const adInformation = "Job ad information event triggered."

func (a AdInformation) appendTo(b []byte) []byte {
	return appendLines(append(b, adInformation+"\n"...), "", a.Ad)
}

func readAdInformation(head string, l *lines) Body {
	if head != adInformation {
		return nil
	}
	return AdInformation{l.indented("", nil)}
}

func (c AttributeChanged) appendTo(b []byte) []byte {
	if c.From == "" {
		return appendText(b, "Setting job attribute ", c.Name+" to "+c.To, "")
	}
	return appendText(b, "Changing job attribute ", c.Name+" from "+c.From+" to "+c.To, "")
}

func readAttributeChanged(head string, _ *lines) Body {
	if rest, ok := strings.CutPrefix(head, "Setting job attribute "); ok {
		name, to, ok := strings.Cut(rest, " to ")
		if !ok {
			return nil
		}
		return AttributeChanged{Name: name, To: to}
	}
	rest, ok := strings.CutPrefix(head, "Changing job attribute ")
	name, values, named := strings.Cut(rest, " from ")
	from, to, parted := cutValues(values)
	if !ok || !named || !parted {
		return nil
	}
	return AttributeChanged{name, from, to}
}

// cutValues parts two ClassAd texts at the first " to " that is not in a string.
func cutValues(text string) (from, to string, ok bool) {
	const between = " to "
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], between):
			return text[:i], text[i+len(between):], true
		}
	}
	return strings.Cut(text, between)
}

// Usage is processor time, to the second.
type Usage struct {
	User, System time.Duration
}

func (u Usage) appendTo(b []byte, of string) []byte {
	b = elapsed.AppendDays(append(b, "\t\tUsr "...), whole(u.User), ' ')
	b = elapsed.AppendDays(append(b, ", Sys "...), whole(u.System), ' ')
	return append(append(append(b, "  -  "...), of...), " Usage\n"...)
}

// whole returns the whole seconds of a duration, 0 for a negative one.
func whole(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }

// usage takes a line of processor time.
func (l *lines) usage(of string) (u Usage, ok bool) {
	line, ok := l.next()
	if !ok {
		return u, false
	}
	times, ok := strings.CutSuffix(line, " Usage")
	if !ok {
		return u, false
	}
	if times, ok = strings.CutSuffix(times, of); !ok {
		return u, false
	}
	var d, h, m, s, sd, sh, sm, ss int
	if !scan(times, "Usr %d %d:%d:%d, Sys %d %d:%d:%d  -  ", &d, &h, &m, &s, &sd, &sh, &sm, &ss) {
		return u, false
	}
	l.skip()
	return Usage{duration(d, h, m, s), duration(sd, sh, sm, ss)}, true
}

// maxDays keeps a time within what a Duration holds.
const maxDays = 100_000

func duration(d, h, m, s int) time.Duration {
	for _, n := range [...]int{d, h, m, s} {
		if n < 0 || n > maxDays {
			return 0
		}
	}
	return time.Duration(d*86400+h*3600+m*60+s) * time.Second
}

// Bytes is what was copied for a job: output is sent, input received. The files of a
// job that works on those of its own file system count for nothing.
type Bytes struct {
	Sent, Received int64
}

const sentBytes, receivedBytes = " Bytes Sent By Job", " Bytes Received By Job"

func (y Bytes) appendTo(b []byte, of string) []byte {
	b = appendCount(b, "\t", y.Sent)
	b = append(append(append(b, "  -  "...), of...), sentBytes+"\n"...)
	b = appendCount(b, "\t", y.Received)
	return append(append(append(b, "  -  "...), of...), receivedBytes+"\n"...)
}

// bytes takes the two lines of a transfer, or one that is alone.
func (l *lines) bytes(of string) (y Bytes) {
	y.Sent, _ = l.counted(of, sentBytes)
	y.Received, _ = l.counted(of, receivedBytes)
	return y
}

// counted takes a line that is a number and a text in two parts, false if the next
// is another.
func (l *lines) counted(of, text string) (int64, bool) {
	line, _ := l.next()
	line, ok := strings.CutSuffix(line, text)
	if !ok {
		return 0, false
	}
	if line, ok = strings.CutSuffix(line, of); !ok {
		return 0, false
	}
	if line, ok = strings.CutSuffix(line, "  -  "); !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, false
	}
	l.skip()
	return n, true
}
