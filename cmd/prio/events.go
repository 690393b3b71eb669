package main

import (
	"path/filepath"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// events are the changes that go into the jobs' own logs, once they are
// committed.
type events struct {
	paths []string // in order of first use
	of    map[string][]userlog.Event
}

// add notes that the jobs of a span changed from one priority to another. The
// path of the log may differ from proc to proc.
func (v *events) add(span selection.Span, from, to string) {
	if !span.Run.Proc(span.First).Has(pool.AttrUserLog) {
		return
	}
	for p := span.First; p <= span.Last; p++ {
		path := logOf(span.Run.Proc(p))
		if path == "" {
			continue
		}
		if v.of == nil {
			v.of = map[string][]userlog.Event{}
		}
		if v.of[path] == nil {
			v.paths = append(v.paths, path)
		}
		v.of[path] = append(v.of[path], userlog.Event{
			Job:  pool.JobID{Cluster: span.Cluster, Proc: p},
			Body: userlog.AttributeChanged{Name: pool.AttrJobPrio, From: from, To: to},
		})
	}
}

// logOf returns the path of a job's log, empty without one.
func logOf(ad *classad.Ad) string {
	c := &classad.Context{}
	path, _ := ad.EvalString(c, pool.AttrUserLog)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	iwd, _ := ad.EvalString(c, pool.AttrIwd)
	return filepath.Join(iwd, path)
}

// write appends the events to the logs. The priorities are changed already,
// so that a log that cannot be written is worth a warning and no more.
func (v *events) write(c *cmdline.Call) {
	for _, path := range v.paths {
		for i := range v.of[path] {
			v.of[path][i].At = c.Now
		}
		if err := userlog.Append(path, v.of[path]...); err != nil {
			c.Warn("job log: %v; the priorities were changed", err)
		}
	}
}
