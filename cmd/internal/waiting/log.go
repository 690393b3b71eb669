package waiting

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// Wanted are the jobs that the arguments name: clusters and jobs. None are all
// that the log tells of.
type Wanted struct {
	clusters map[int]bool
	jobs     map[pool.JobID]bool
}

// Jobs reads such arguments.
func Jobs(args []string) (Wanted, error) {
	w := Wanted{map[int]bool{}, map[pool.JobID]bool{}}
	for _, a := range args {
		if !strings.Contains(a, ".") {
			n, err := pool.ParseCluster(a)
			if err != nil {
				return w, err
			}
			w.clusters[n] = true
			continue
		}
		id, err := pool.ParseJobID(a)
		if err != nil {
			return w, err
		}
		w.jobs[id] = true
	}
	return w, nil
}

func (w Wanted) all() bool { return len(w.clusters) == 0 && len(w.jobs) == 0 }

// has reports whether a job is wanted.
func (w Wanted) has(id pool.JobID) bool { return w.all() || w.clusters[id.Cluster] || w.jobs[id] }

// Log is the waiting for the jobs of an event log.
type Log struct {
	path   string
	log    *userlog.Follower
	wanted Wanted

	known    map[pool.JobID]bool // wanted, and in the log
	clusters map[int]bool        // of these
	ended    map[pool.JobID]Outcome
	held     map[pool.JobID]string // and why
	late     map[int]bool          // clusters with jobs still to come

	holds   Holds
	steered bool // jobs were held or released since holds was last asked
	absent  bool // the log is not there, and that was told
	strange bool // an event cannot be read, and that was told
	events  bool // there was one
	foreign bool // the file does not look like a log, and that was told
}

// ForLog returns the waiting for some jobs of a log. Times without a year are of this one.
func ForLog(path string, w Wanted, year int) *Log {
	return &Log{
		path: path, wanted: w, log: userlog.Follow(path, userlog.Options{Year: year, Zone: time.Local}),
		known: map[pool.JobID]bool{}, ended: map[pool.JobID]Outcome{}, held: map[pool.JobID]string{},
		late: map[int]bool{}, clusters: map[int]bool{},
	}
}

// Look reads the new part of the log. Without one that costs next to nothing, however
// many jobs there are.
func (v *Log) Look() (Far, error) {
	var news []string
	err := v.log.Read(func(e userlog.Event, err error) {
		v.events = true
		switch {
		case err == nil:
			v.see(e)
		case !v.strange:
			v.strange = true
			news = append(news, fmt.Sprintf("%s: %v; skipped, as are others of its kind", v.path, err))
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		if !v.absent {
			v.absent = true
			news = append(news, v.path+": there is no such file yet; waiting for it")
		}
		err = nil
	}
	if line := v.otherwise(); line != "" {
		v.foreign = true
		news = append(news, fmt.Sprintf("%s: does not look like an event log, as it begins with %q; waiting for events", v.path, line))
	}
	if v.steered {
		v.steered = false
		news = append(news, v.holds.News(v.held)...)
	}
	return Far{Ended: len(v.ended), All: len(v.known), Done: v.done(), News: news}, err
}

// beginning is how an event begins.
var beginning = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{3} \(-?\d+\.-?\d+\.-?\d+\) `)
})

// otherwise returns the beginning of a file that has had no event and begins with a line
// of no event; empty for any other, and if that was already reported.
func (v *Log) otherwise() string {
	if v.events || v.foreign {
		return ""
	}
	f, err := os.Open(v.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text := make([]byte, 80)
	n, _ := io.ReadFull(f, text)
	line, _, whole := bytes.Cut(text[:n], []byte("\n"))
	if !whole && n < len(text) || beginning().Match(line) {
		return ""
	}
	return string(line)
}

// Close lets go of the log.
func (v *Log) Close() { v.log.Close() }

// Known returns how many jobs are waited for, or were.
func (v *Log) Known() int { return len(v.known) }

// see takes in an event. A job ends once; one that is submitted again, into a log
// that was not removed with the spool, is another.
func (v *Log) see(e userlog.Event) {
	id := e.Job
	if !v.wanted.has(id) {
		return
	}
	switch b := e.Body.(type) {
	case userlog.ClusterSubmitted:
		v.late[id.Cluster] = true
	case userlog.ClusterRemoved:
		delete(v.late, id.Cluster)
	case userlog.Submitted:
		v.alive(id)
		delete(v.ended, id)
		v.free(id)
	case userlog.Held:
		v.alive(id)
		v.held[id], v.steered = b.Reason, true
	case userlog.Released, userlog.Executing, userlog.Evicted:
		v.alive(id)
		v.free(id)
	case userlog.Terminated:
		v.end(Outcome{Job: id, ReturnValue: b.ReturnValue, Signal: b.Signal})
	case userlog.Aborted:
		v.end(Outcome{Job: id, Removed: true, Reason: b.Reason})
	case userlog.Unknown:
		if n := b.Number; n == userlog.Number(userlog.Terminated{}) || n == userlog.Number(userlog.Aborted{}) {
			v.end(Outcome{Job: id, Lost: true})
		}
	}
}

// alive notes that there is a job. It has to end even where the log does not say that it
// was submitted, as when that stands in one that was put away.
func (v *Log) alive(id pool.JobID) { v.known[id], v.clusters[id.Cluster] = true, true }

// free notes that a job is not held.
func (v *Log) free(id pool.JobID) {
	if _, held := v.held[id]; held {
		delete(v.held, id)
		v.steered = true
	}
}

// end notes how a job ended. The first of several ends counts.
func (v *Log) end(o Outcome) {
	v.alive(o.Job)
	v.free(o.Job)
	if _, before := v.ended[o.Job]; !before {
		v.ended[o.Job] = o
	}
}

// done reports whether all that was waited for has ended: of a cluster one job has
// to be known at least, and none may be still to come.
func (v *Log) done() bool {
	if len(v.known) == 0 || len(v.ended) < len(v.known) || len(v.late) > 0 {
		return false
	}
	for c := range v.wanted.clusters {
		if !v.clusters[c] {
			return false
		}
	}
	for id := range v.wanted.jobs {
		if !v.known[id] {
			return false
		}
	}
	return true
}

// Outcomes returns how jobs have ended so far, by job.
func (v *Log) Outcomes() []Outcome {
	return slices.SortedFunc(maps.Values(v.ended), func(a, b Outcome) int { return a.Job.Compare(b.Job) })
}

// Missing says what did not come in time.
func (v *Log) Missing() string {
	if len(v.known) == 0 {
		return fmt.Sprintf("%s has no such job", v.path)
	}
	var open []pool.JobID
	for id := range v.known {
		if _, ok := v.ended[id]; !ok {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return "not all jobs that are waited for have been submitted"
	}
	first := slices.MinFunc(open, pool.JobID.Compare)
	if len(open) == 1 {
		return fmt.Sprintf("%v has not ended", first)
	}
	return fmt.Sprintf("%v and %d more have not ended", first, len(open)-1)
}
