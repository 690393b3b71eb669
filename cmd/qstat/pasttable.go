package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

const (
	pastHeading = "job-ID      name       user         submitted           started             ended                     run time        waited how\n"
	// pastWidth is that of the columns before how.
	pastWidth = len(pastHeading) - len("how\n")
	pastRule  = 144
)

// pastTable writes a line for each job, as they come; nothing at all without a job.
// Without -w names are cut, and lines if so many characters are all that fit; 0: any.
func pastTable(c *cmdline.Call, width int, ads iter.Seq[*classad.Ad]) error {
	ctx, wide, head := &classad.Context{Now: c.Now}, c.Has("w"), false
	var b []byte
	for ad := range ads {
		b = b[:0]
		if !head {
			head = true
			b = append(b, pastHeading...)
			b = append(append(b, strings.Repeat("-", pastRule)...), '\n')
		}
		l := lifeOf(ctx, ad)
		name, user, how := printable(l.name), printable(l.user), printable(l.how)
		if !wide {
			name, user = string(appendText(nil, name, 10)), string(appendText(nil, user, 12))
		}
		if width > pastWidth && !wide {
			how, _ = within(how, width-pastWidth)
		}
		b = fmt.Appendf(b, "%-11v %-10s %-12s %-19s %-19s %-19s %14s %13s %s\n", l.id, name, user,
			moment(l.submitted), moment(l.started), moment(l.ended), dayTime(l.ran), dayTime(l.waited), how)
		if _, err := c.Stdout.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// moment writes a point in time that may not have come.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock(t)
}

// dayTime writes a length of time as D+HH:MM:SS.
func dayTime(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("%d+%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}
