package submit

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/machine"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// cluster is a description's jobs, in the queue or on the way to it: those that
// are there from the beginning.
type cluster struct {
	id  int // 0: there were no jobs to submit
	all int // jobs, with those that appear later
	jobad.Cluster
}

// put makes the description's jobs a cluster of the queue.
func (s *submission) put(d *jobad.Jobs) (cluster, error) {
	sp, err := s.Spool()
	if err != nil {
		return cluster{}, err
	}
	if s.inPlaceOf != "" {
		if user, own := strings.CutSuffix(s.inPlaceOf, "@"+sp.Domain()); own {
			return cluster{}, cmdline.Usagef("-owner %s: the domain is this pool's: leave it out, as in -owner %s", s.inPlaceOf, user)
		}
		if err := s.mayActForOthers(s.Call); err != nil {
			return cluster{}, err
		}
	}
	if d == nil {
		d, err = s.receive(sp)
		if s.looked != nil {
			defer s.looked() // a question is over before serve takes its next caller
		}
	} else {
		d.SetDomain(sp.Domain())
	}
	if err != nil {
		return cluster{}, err
	}
	k, err := s.expand(d, sp)
	if err != nil {
		return k, err
	}
	rights, err := s.permit(d, k.Cluster)
	if err != nil {
		return k, err
	}
	doomed, err := s.doubt(d, k, sp)
	if err == nil {
		err = s.strict()
	}
	if err != nil {
		return k, err
	}
	err = sp.Update(func(tx *spool.Tx) (err error) {
		tx.Op("submit", s.operation()...)
		if err := s.lookForKey(tx); err != nil {
			return err
		}
		if k.id, k.Cluster, err = lifecycle.Submit(tx, d, rights); err != nil {
			return err
		}
		return s.hold(tx, k, doomed)
	})
	return k, err
}

// serve makes this machine a slot for the first jobs of a pool that was never given one.
// Later jobs do not look for slots, which would read the spool: a cycle does that.
func (s *submission) serve(k cluster) {
	if k.id != 1 {
		return
	}
	sp, err := s.Spool()
	if err == nil {
		err = machine.Serve(s.Call, sp)
	}
	if err == nil {
		err = s.warnOfNoSlots(sp)
	}
	if err != nil {
		s.Warn("warning: the jobs are in the queue, but this machine could not be made a slot: %v", err)
	}
}

// warnOfNoSlots tells an administrator that the machine's own pool has no slots yet, which
// Serve does not change.
func (s *submission) warnOfNoSlots(sp *spool.Spool) error {
	if who, err := s.Caller(); err != nil || !who.Admin || s.OwnTime() || s.Private(sp.Dir()) {
		return err
	}
	return sp.View(func(v *spool.View) error {
		if !lifecycle.EverGiven(v) {
			s.Warn("warning: the pool has no slots, so no job starts: slots detect -partitionable makes this machine one")
		}
		return nil
	})
}

// expand makes the jobs with the number that they will have, unless another process submits
// before them. To make them and to look at their files takes its time, which the spool is not
// locked for.
func (s *submission) expand(d *jobad.Jobs, sp *spool.Spool) (cluster, error) {
	p := s.Progress("making jobs")
	defer p.End()
	d.Progress = p.Step
	k := cluster{all: d.Count()}
	number, err := sp.NextCluster()
	if err == nil {
		k.Cluster, err = d.First(number)
	}
	return k, err
}

// doubt warns of doubtful places of jobs. Doomed jobs are an error, or with -force returned.
func (s *submission) doubt(d *jobad.Jobs, k cluster, sp *spool.Spool) ([]trouble, error) {
	var doomed []trouble
	var err error
	if s.looked != nil {
		found, err := s.looked()
		if err != nil {
			return nil, err
		}
		doomed = troubles(found, k.Jobs())
	} else {
		doomed, err = s.look(d, k)
	}
	if err == nil {
		var more []trouble
		more, err = s.lookAtSlots(d, k, sp)
		doomed = append(more, doomed...)
	}
	if why := d.Doomed(); why != nil {
		doomed = append([]trouble{{0, k.Jobs(), why.Error(), lifecycle.HeldAtSubmit, 0}}, doomed...)
	}
	if err != nil {
		err = &forcible{err}
	}
	return doomed, err
}

// forcible is a refusal that -force turns into a hold.
type forcible struct{ error }

func (f *forcible) Error() string { return f.error.Error() + " (-force submits it on hold)" }

func (f *forcible) Unwrap() error { return f.error }

// heldProcs are the procs of a run that -force has put on hold.
type heldProcs struct {
	first int
	run   jobad.Run
	why   pool.Reason
}

// hold holds procs of a new cluster. Of several troubles of a proc the first is the reason.
func (s *submission) hold(tx *spool.Tx, k cluster, doomed []trouble) error {
	if !s.force || len(doomed) == 0 {
		return nil
	}
	params := s.Config.Params
	first := 0 // proc of the run
	for _, r := range k.Runs {
		for _, t := range doomed {
			if first < t.first || first >= t.first+t.count {
				continue
			}
			why := pool.Reason{Text: t.why, Code: t.code, Subcode: t.subcode}
			if _, err := lifecycle.Hold(tx, pool.Procs{Cluster: k.id, First: first, Last: first + r.Count - 1}, why, s.Now, params); err != nil {
				return err
			}
			s.held = append(s.held, heldProcs{first, r, why})
			break
		}
		first += r.Count
	}
	return nil
}

// operation returns the words of the command line for the journal.
func (s *submission) operation() []string {
	var words []string
	for _, flag := range [...][2]string{{"-owner", s.inPlaceOf}, {"-unique", s.unique}, {"-file", s.file}} {
		if flag[1] != "" {
			words = append(words, flag[:]...)
		}
	}
	words = append(words, s.Args...)
	if s.CommandLine != nil {
		words = append(words, s.CommandLine[0])
	}
	return words
}

// logSubmitted writes event 000 of every job to its log, and event 012 of those on hold, all events of a log
// at once. The jobs are in the queue by now, so what goes wrong is a warning.
func (s *submission) logSubmitted(k cluster) {
	if k.id == 0 {
		return
	}
	host, err := s.Hostname()
	if err != nil {
		s.warn("%v", err)
		return
	}
	log := joblog.For(s.Call)
	log.Submitted(k.id, k.Cluster, host)
	for _, h := range s.held {
		ad := k.adOf(h.run)
		for p := range h.run.Count {
			log.Add(nil, pool.JobID{Cluster: k.id, Proc: h.first + p}, ad, userlog.Held{Reason: h.why.Text, Code: h.why.Code, Subcode: h.why.Subcode})
		}
	}
	log.Write(s.Call)
}

// attrSubmitKey is the key of -unique, in the ad of a cluster.
const attrSubmitKey = "SubmitKey"

// maxKey is how many bytes a key may have.
const maxKey = 256

func checkKey(key string) error {
	switch {
	case strings.TrimSpace(key) == "":
		return cmdline.Usagef("-unique: the key is empty")
	case len(key) > maxKey:
		return cmdline.Usagef("-unique %s: %d bytes, at most %d", submitfile.Shorten(key), len(key), maxKey)
	case strings.ContainsFunc(key, unicode.IsControl):
		return cmdline.Usagef("-unique %q: has control characters", submitfile.Shorten(key))
	}
	return nil
}

// keyLine is the line that puts the key into the ads.
func keyLine(key string) string {
	return "MY." + attrSubmitKey + " = " + strings.ReplaceAll(classad.Quoted(key), "$", "$(DOLLAR)")
}

// existsError says that a job of the key is in the queue.
type existsError struct {
	key        string
	pool.Procs      // in the queue, or still to come
	coming     bool // none is in the queue
	since      time.Time
}

func (e *existsError) Error() string {
	where, since := "in the queue", ""
	if e.coming {
		where = "still to come,"
	}
	if !e.since.IsZero() {
		since = " since " + e.since.Format("2006-01-02 15:04:05")
	}
	return fmt.Sprintf("-unique %s: job %v is %s%s: nothing is submitted",
		submitfile.Shorten(e.key), e.FirstJob(), where, since)
}

// lookForKey is an error when a job that the owner submitted with the key of
// -unique has not left the queue, or is still to appear. It is part of the
// transaction that submits: of two that look at once the second one sees the
// first one's jobs.
func (s *submission) lookForKey(tx *spool.Tx) error {
	key := s.unique
	if key == "" {
		return nil
	}
	queued := map[int]bool{}
	for _, c := range tx.Belonging([]string{s.owner}) {
		queued[c.ID] = true
		if s.holds(c.Ad, key) {
			return existsError{key: key, Procs: pool.Procs{Cluster: c.ID, First: c.Runs[0].First, Last: c.Runs[len(c.Runs)-1].Last}}.of(c.Ad, s)
		}
	}
	for _, f := range tx.Factories() {
		_, held := lifecycle.HeldBack(f)
		if queued[f.Cluster] || f.Owner != s.owner || f.Paused != "" && !held {
			continue // of one that is paused nothing is to come, unless it is released
		}
		ad, err := nextOf(tx, f, s.Now)
		if err != nil && !lifecycle.ForNow(err) {
			continue // the next cycle will pause it
		}
		if err != nil {
			return fmt.Errorf("-unique %s: the key of cluster %d: %w", submitfile.Shorten(key), f.Cluster, err)
		}
		if s.holds(ad, key) {
			return existsError{key: key, Procs: f.Coming(), coming: true}.of(ad, s)
		}
	}
	return nil
}

// holds reports whether an ad is the owner's and has the key.
func (s *submission) holds(ad *classad.Ad, key string) bool {
	return constant(ad, attrSubmitKey) == key && constant(ad, pool.AttrOwner) == s.owner
}

// of adds when the job with this ad was submitted.
func (e existsError) of(ad *classad.Ad, s *submission) error {
	if at, ok := ad.EvalInt(&classad.Context{}, pool.AttrQDate); ok {
		e.since = time.Unix(at, 0).In(s.Now.Location())
	}
	return &e
}

// nextOf returns the ad that the next job of a factory will have, which says what
// its cluster's ad does while none of its jobs is in the queue.
func nextOf(tx *spool.Tx, f spool.Factory, now time.Time) (*classad.Ad, error) {
	digest, err := tx.Digest(f.Cluster)
	if err != nil {
		return nil, err
	}
	defer digest.Close()
	c, _, err := jobad.Materialize(digest, "", f.Cluster, f.Next, 1, f.Offset, now)
	if err != nil || len(c.Runs) == 0 {
		return c.Ad, err
	}
	return c.Runs[0].Ad().Chain(c.Ad), nil
}

// constant returns the text that an attribute is, without evaluating anything.
func constant(ad *classad.Ad, name string) string {
	e, ok := ad.Lookup(name)
	if !ok {
		return ""
	}
	v, _ := e.Constant()
	text, _ := v.Text()
	return text
}
