package submit

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/steer"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

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
	return "MY." + attrSubmitKey + " = " + strings.ReplaceAll(quoted(key), "$", "$(DOLLAR)")
}

// quoted returns a text as a string of the language of ads.
func quoted(text string) string {
	return classad.Literal(classad.String(text)).Format(classad.StyleSpool)
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
	if !s.Has("unique") {
		return nil
	}
	key := s.Value("unique")
	queued := map[int]bool{}
	for _, c := range tx.Belonging([]string{s.owner}) {
		queued[c.ID] = true
		if s.holds(c.Ad, key) {
			return existsError{key: key, Procs: pool.Procs{Cluster: c.ID, First: c.Runs[0].First, Last: c.Runs[len(c.Runs)-1].Last}}.of(c.Ad, s)
		}
	}
	for _, f := range tx.Factories() {
		_, held := steer.HeldBack(f)
		if queued[f.Cluster] || f.Owner != s.owner || f.Paused != "" && !held {
			continue // of one that is paused nothing is to come, unless it is released
		}
		ad, err := nextOf(tx, f, s.Now)
		if err != nil && !operation.ForNow(err) {
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
