// Package joblog tells the jobs' own event logs what a command did to them,
// once that is committed.
//
// It knows where a job's log is and how a command warns, and nothing of why
// the event came about.
package joblog

import (
	"path/filepath"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// Events are what is to be written, by log. The zero Events is empty.
type Events struct {
	paths []string // in order of first use
	of    map[string][]userlog.Event
}

// Add notes an event of a job for the log that its ad names, if any.
func (v *Events) Add(id pool.JobID, ad *classad.Ad, body userlog.Body) {
	v.add(Path(ad), id, body)
}

// reserve makes room for so many events of a log that has none yet.
func (v *Events) reserve(path string, n int) {
	if path == "" || v.of[path] != nil {
		return
	}
	if v.of == nil {
		v.of = map[string][]userlog.Event{}
	}
	v.paths = append(v.paths, path)
	v.of[path] = make([]userlog.Event, 0, n)
}

func (v *Events) add(path string, id pool.JobID, body userlog.Body) {
	if path == "" {
		return
	}
	if v.of == nil {
		v.of = map[string][]userlog.Event{}
	}
	if v.of[path] == nil {
		v.paths = append(v.paths, path)
	}
	v.of[path] = append(v.of[path], userlog.Event{Job: id, Body: body})
}

// Submitted notes that the procs of a cluster were submitted, on a host.
func (v *Events) Submitted(cluster int, c jobad.Cluster, host string) {
	common := Path(c.Ad)
	proc := c.First
	if len(c.Runs) > 0 && !c.Runs[0].Has(pool.AttrUserLog, pool.AttrIwd) { // nor the others, nearly always
		v.reserve(common, c.Jobs())
	}
	var body userlog.Body = userlog.Submitted{Host: host}
	for _, r := range c.Runs {
		path := common
		if r.Has(pool.AttrUserLog, pool.AttrIwd) {
			path = Path(r.Ad().Chain(c.Ad))
		}
		for range r.Count {
			v.add(path, pool.JobID{Cluster: cluster, Proc: proc}, body)
			proc++
		}
	}
}

// Path returns the path of a job's log, empty without one.
func Path(ad *classad.Ad) string {
	c := &classad.Context{}
	path, _ := ad.EvalString(c, pool.AttrUserLog)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	iwd, _ := ad.EvalString(c, pool.AttrIwd)
	return filepath.Join(iwd, path)
}

// Write appends the events to their logs, all of a log at once, dated with
// the command's time. What they tell of has happened already, so that a log
// that cannot be written is a warning.
func (v *Events) Write(c *cmdline.Call) {
	for _, path := range v.paths {
		for i := range v.of[path] {
			v.of[path][i].At = c.Now
		}
		if err := userlog.Append(path, v.of[path]...); err != nil {
			c.Warn("job log: %v; all else is done", err)
		}
	}
}
