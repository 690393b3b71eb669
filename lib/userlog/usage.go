package userlog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Usage is processor time, to the second.
type Usage struct {
	User, System time.Duration
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

// usage takes a line of processor time.
func (l *lines) usage(of string) (u Usage, ok bool) {
	line, ok := l.next()
	if !ok {
		return u, false
	}
	var d, h, m, s, sd, sh, sm, ss int
	if !scan(line, "Usr %d %d:%d:%d, Sys %d %d:%d:%d  -  "+of+" Usage", &d, &h, &m, &s, &sd, &sh, &sm, &ss) {
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

// Bytes is what was transferred for a job over the network. Jobs of fairspool
// work on the files of their own file system, and count nothing here.
type Bytes struct {
	Sent, Received int64
}

func (y Bytes) appendTo(b []byte, of string) []byte {
	return fmt.Appendf(b, "\t%d  -  %s Bytes Sent By Job\n\t%d  -  %[2]s Bytes Received By Job\n", y.Sent, of, y.Received)
}

// bytes takes the two lines of a transfer, or one that is alone.
func (l *lines) bytes(of string) (y Bytes) {
	y.Sent = l.count("  -  " + of + " Bytes Sent By Job")
	y.Received = l.count("  -  " + of + " Bytes Received By Job")
	return y
}

// count takes a line that is a number and a text, 0 if the next is another.
func (l *lines) count(text string) int64 {
	n, _ := l.counted(text)
	return n
}

func (l *lines) counted(text string) (int64, bool) {
	line, ok := l.next()
	if !ok || !strings.HasSuffix(line, text) {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(line, text), 10, 64)
	if err != nil {
		return 0, false
	}
	l.skip()
	return n, true
}
