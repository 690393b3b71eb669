package jobad

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/submitfile"
)

// Late is how far jobs are kept back that appear as others finish: at most so
// many of them are in the queue, and so many of these idle or held; 0 is no bound.
type Late struct{ MaxMaterialize, MaxIdle int }

// Room returns how many more jobs may appear if so many are in the queue and so many of
// these wait, idle or held.
func (l Late) Room(queued, waiting int) int {
	room := math.MaxInt32
	if l.MaxMaterialize > 0 {
		room = min(room, l.MaxMaterialize-queued)
	}
	if l.MaxIdle > 0 {
		room = min(room, l.MaxIdle-waiting)
	}
	return max(room, 0)
}

// Late reports whether the description keeps jobs back (max_materialize, max_idle),
// and how far.
func (j *Jobs) Late() (l Late, late bool) { return j.late, j.late != Late{} }

// lateness reads max_materialize and max_idle. They hold for all jobs of a
// description, which has one queue line then.
func (j *job) lateness() error {
	j.Varies()
	for _, c := range [...]struct {
		command, attr string
		to            *int
	}{
		{"max_materialize", "JobMaterializeLimit", &j.late.MaxMaterialize},
		{"max_idle", "JobMaterializeMaxIdle", &j.late.MaxIdle},
	} {
		g, ok, err := j.command(c.command)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		n, err := strconv.Atoi(g.Text)
		switch lines, _ := j.description.Queues(); {
		case err != nil || n < 1 || n > math.MaxInt32:
			return j.refuse(g, "%q: want a whole number of jobs from 1 up", submitfile.Shorten(g.Text))
		case lines > 1:
			return j.refuse(g, "a description with max_materialize or max_idle has one queue line, this one has %d", lines)
		case j.Varies():
			return j.refuse(g, "%s: has to be the same for all jobs", submitfile.Shorten(g.Text))
		}
		*c.to = n
		j.setExpr(c.attr, strconv.Itoa(n))
	}
	if j.late == (Late{}) {
		return nil
	}
	return j.settled()
}

// settled refuses to keep jobs back that differ in one of Options.Settled.
func (j *job) settled() error {
	for _, attr := range j.options.Settled {
		j.Varies()
		g, ok, err := j.origin(attr)
		switch {
		case err != nil:
			return err
		case ok && j.Varies():
			return j.refuse(g, "has to be the same for all jobs with max_materialize or max_idle: leave these out")
		}
	}
	return nil
}

// frozenOptions is a digest's record of the surroundings. Dir and Environ replace the
// fields of Options, which need not be UTF-8.
type frozenOptions struct {
	Options
	Dir         submitfile.Exact
	Environ     []submitfile.Exact
	Late        Late
	Deadlines   map[string]int64 `json:",omitempty"`
	Description json.RawMessage
}

// Digest returns the jobs as a text from which Materialize makes some of them, any time later, and ReadDigest
// all of them. The text includes all that they need of the surroundings, also the environment if they ask for
// it. Materialize wants jobs of one queue line. With sources, messages show the description's lines. first is
// where the item of proc 0 begins.
func (j *Jobs) Digest(sources bool) (digest []byte, first int64, err error) {
	head, items, err := j.description.Freeze(j.options.Environ, sources)
	if err != nil {
		return nil, 0, err
	}
	f := frozenOptions{Options: j.options, Dir: submitfile.Exact(j.options.Dir), Late: j.late, Deadlines: j.deadlines, Description: head}
	if j.options.Getenv || slices.ContainsFunc(namesOf("getenv"), j.description.Sets) {
		f.Environ = submitfile.Exactly(j.options.Environ)
	}
	if digest, err = json.Marshal(f); err != nil {
		return nil, 0, err
	}
	if len(digest) >= maxHead {
		return nil, 0, &submitfile.Error{
			Place: submitfile.Place{File: j.description.File()},
			Msg:   fmt.Sprintf("%d bytes of macros and environment: more than %d cannot be kept with max_materialize or max_idle", len(digest), maxHead-1),
		}
	}
	digest = append(digest, '\n')
	first = int64(len(digest))
	for _, item := range items {
		digest = append(append(digest, item...), '\n')
	}
	return digest, first, nil
}

// maxHead bounds the first line of a digest.
const maxHead = 64 << 20

// Materialize makes the procs from first to first+n-1 of a digest, as procs of a cluster
// that appear at the time at. The item of proc first begins at offset; next is the offset
// of the item behind them. The domain is the pool's as of now.
func Materialize(digest io.ReadSeeker, domain string, cluster, first, n int, offset int64, at time.Time) (c Cluster, next int64, err error) {
	in := bufio.NewReaderSize(io.LimitReader(digest, maxHead), 1<<16)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return Cluster{}, 0, fmt.Errorf("the digest's first line: %w", err)
	}
	var f frozenOptions
	if err := json.Unmarshal(line, &f); err != nil {
		return Cluster{}, 0, fmt.Errorf("the digest's first line: %w", err)
	}
	if _, err := digest.Seek(offset, io.SeekStart); err != nil {
		return Cluster{}, 0, err
	}
	d, passed, err := submitfile.Thaw(f.Description, digest, first, n)
	if err != nil {
		return Cluster{}, 0, err
	}
	f.Options.Dir, f.Options.Domain = string(f.Dir), domain
	f.Options.Environ = submitfile.Texts(f.Environ)
	jobs := newJobs(d, f.Options)
	jobs.late, jobs.deadlines, jobs.appears = f.Late, f.Deadlines, at
	c, err = jobs.expand(cluster, first, n)
	return c, offset + passed, err
}

// ReadDigest returns the jobs of a digest that another process has made, checked as New
// checks a description. Of the surroundings only the folder, the environment, the command
// line and the name of kept output are the digest's; all else is in o.
func ReadDigest(digest []byte, o Options) (*Jobs, error) {
	head, items, _ := bytes.Cut(digest, []byte("\n"))
	if len(head) >= maxHead {
		return nil, fmt.Errorf("the digest's first line: %d bytes, at most %d", len(head), maxHead-1)
	}
	var f frozenOptions
	if err := json.Unmarshal(head, &f); err != nil {
		return nil, fmt.Errorf("the digest's first line: %w", err)
	}
	if o.Dir = string(f.Dir); !path.IsAbs(o.Dir) || strings.ContainsRune(o.Dir, 0) {
		return nil, fmt.Errorf("the jobs' folder: %q: want an absolute path", submitfile.Shorten(o.Dir))
	}
	d, err := submitfile.ThawAll(f.Description, bytes.NewReader(items))
	if err != nil {
		return nil, err
	}
	o.Environ, o.Command, o.Getenv, o.KeepOutput = submitfile.Texts(f.Environ), f.Options.Command, f.Options.Getenv, f.Options.KeepOutput
	jobs, _, err := New(d, o)
	return jobs, err
}

// errLate says that a description has no jobs to keep back.
var errLate = errors.New("no jobs are kept back")

// First makes the procs that exist from the beginning, for a caller that inspects them:
// those of Begin, or of Expand if none are kept back.
func (j *Jobs) First(cluster int) (Cluster, error) {
	late, ok := j.Late()
	if _, all := j.description.Queues(); ok && late.Room(0, 0) < all {
		return j.expand(cluster, 0, late.Room(0, 0))
	}
	return j.Expand(cluster)
}

// Begin makes the procs that are there from the beginning, and what makes the
// others: the digest, and where in it the item of the next proc begins. No digest:
// all procs are there.
func (j *Jobs) Begin(cluster int) (c Cluster, digest []byte, offset int64, err error) {
	late, ok := j.Late()
	if !ok {
		return Cluster{}, nil, 0, errLate
	}
	_, all := j.description.Queues()
	n := late.Room(0, 0)
	if n >= all {
		c, err = j.Expand(cluster)
		return c, nil, 0, err
	}
	if digest, offset, err = j.Digest(false); err != nil {
		return Cluster{}, nil, 0, err
	}
	if c, err = j.expand(cluster, 0, n); err != nil {
		return Cluster{}, nil, 0, err
	}
	for range j.description.ItemsBefore(n) {
		offset += int64(bytes.IndexByte(digest[offset:], '\n') + 1)
	}
	return c, digest, offset, nil
}
