package main

import (
	"iter"
	"os"
	"path/filepath"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// each yields the jobs of the cluster with their ads, which lack the id.
func (k cluster) each() iter.Seq2[pool.JobID, *classad.Ad] {
	return func(yield func(pool.JobID, *classad.Ad) bool) {
		proc := 0
		for _, r := range k.Runs {
			ad := k.adOf(r)
			for range r.Count {
				if !yield(pool.JobID{Cluster: k.id, Proc: proc}, ad) {
					return
				}
				proc++
			}
		}
	}
}

// adOf returns what the procs of a run share.
func (k cluster) adOf(r jobad.Run) *classad.Ad {
	return r.Ad().Chain(k.Ad)
}

// logSubmitted writes event 000 of every job to its log, all events of a log
// at once. The jobs are in the queue by now, so what goes wrong is a warning.
func logSubmitted(c *cmdline.Call, k cluster) {
	if k.id == 0 {
		return
	}
	host, err := c.Hostname()
	if err != nil {
		c.Warn("%v", err)
		return
	}
	var paths []string
	events := map[string][]userlog.Event{}
	proc := 0
	for _, r := range k.Runs {
		first := proc
		proc += r.Count
		path := textOf(k.adOf(r), pool.AttrUserLog)
		if path == "" {
			continue
		}
		if events[path] == nil {
			paths = append(paths, path)
		}
		for n := first; n < proc; n++ {
			events[path] = append(events[path], userlog.Event{
				Job: pool.JobID{Cluster: k.id, Proc: n}, At: c.Now, Body: userlog.Submitted{Host: host},
			})
		}
	}
	for _, path := range paths {
		if err := userlog.Append(path, events[path]...); err != nil {
			c.Warn("log: %v", err)
		}
	}
}

// placeNames are the attributes that say where a job's files are.
var placeNames = []string{pool.AttrCmd, pool.AttrIwd, pool.AttrIn, pool.AttrOut, pool.AttrErr, pool.AttrUserLog}

// warnOfPlaces looks for what will keep the jobs from running: files and
// folders that are not there, an executable that is none. They may be made
// in time, so that is no error. Each place is told of once.
func warnOfPlaces(c *cmdline.Call, k cluster) {
	type place struct {
		path   string
		folder bool
	}
	seen := map[place]bool{}
	plain := false // a run without places of its own has been looked at
	for _, r := range k.Runs {
		own := r.Has(placeNames...)
		if !own && plain {
			continue
		}
		plain = plain || !own
		ad := k.adOf(r)
		if cmd := placeOf(ad, pool.AttrCmd); !seen[place{path: cmd}] {
			seen[place{path: cmd}] = true
			if st, err := os.Stat(cmd); err == nil && st.Mode()&0o111 == 0 {
				c.Warn("executable: %s: may not be executed: chmod +x it", cmd)
			}
		}
		for _, f := range [...]struct {
			command, attr string
			folder        bool // it is the file's folder that has to be there, and the file none
		}{
			{"input", pool.AttrIn, false}, {"output", pool.AttrOut, true},
			{"error", pool.AttrErr, true}, {"log", pool.AttrUserLog, true},
		} {
			path := placeOf(ad, f.attr)
			if path == "" {
				continue
			}
			look := place{path: path}
			if f.folder && exists(path, true) != nil {
				look = place{filepath.Dir(path), true}
			}
			if seen[look] {
				continue
			}
			seen[look] = true
			if err := exists(look.path, look.folder); err != nil {
				c.Warn("%s: %s: %v", f.command, look.path, err)
			}
		}
	}
}

// placeOf returns the path that an attribute names; a relative one is taken
// from the working directory.
func placeOf(ad *classad.Ad, name string) string {
	path := textOf(ad, name)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(textOf(ad, pool.AttrIwd), path)
}

func textOf(ad *classad.Ad, name string) string {
	s, _ := ad.EvalString(&classad.Context{}, name)
	return s
}
