package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	heading   = "job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID "
	ruleWidth = 113
)

// table writes Grid Engine's default table; nothing at all without a job.
func table(w io.Writer, rows []*row) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "%s\n%s\n", heading, strings.Repeat("-", ruleWidth)); err != nil {
		return err
	}
	for _, r := range rows {
		_, err := fmt.Fprintf(w, "%7d %7d %-10.10s %-12.12s %-5.5s %s %-30.30s %5d %s\n",
			r.cluster, r.prior, r.name, r.user, r.state, clock(r.at), r.slot, r.slots, tasks(r.ranges))
		if err != nil {
			return err
		}
	}
	return nil
}

// clock writes a point in local time as the table has it.
func clock(t time.Time) string { return t.Local().Format("01/02/2006 15:04:05") }

func unix(seconds int64) time.Time { return time.Unix(seconds, 0) }

// tasks writes procs as Grid Engine writes the tasks of an array: "3",
// "0-9:1", "0-4:1,7".
func tasks(ranges []span) string {
	texts := make([]string, len(ranges))
	for i, s := range ranges {
		texts[i] = fmt.Sprintf("%d-%d:1", s.first, s.last)
		if s.first == s.last {
			texts[i] = fmt.Sprint(s.first)
		}
	}
	return strings.Join(texts, ",")
}
