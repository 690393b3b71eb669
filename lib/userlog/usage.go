package userlog

import (
	"strconv"
	"strings"
	"time"
)

// Usage is processor time, to the second.
type Usage struct {
	User, System time.Duration
}

func (u Usage) appendTo(b []byte, of string) []byte {
	b = appendDuration(append(b, "\t\tUsr "...), u.User)
	b = appendDuration(append(b, ", Sys "...), u.System)
	return append(append(append(b, "  -  "...), of...), " Usage\n"...)
}

func appendDuration(b []byte, d time.Duration) []byte {
	s := int64(max(d, 0) / time.Second)
	b = strconv.AppendInt(b, s/86400, 10)
	b = appendTwo(append(b, ' '), s/3600%24)
	b = appendTwo(append(b, ':'), s/60%60)
	return appendTwo(append(b, ':'), s%60)
}

// appendTwo appends a number of two digits.
func appendTwo(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

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
