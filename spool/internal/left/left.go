// Package left chooses among the ads of jobs that have left the queue, by the lines of the history.
package left

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Jobs chooses among the jobs that have left the queue. The zero Jobs is all of
// them.
type Jobs struct {
	// Clusters are those that the jobs are of; nil: any.
	Clusters map[int]bool
	// Owners are users, each an Owner or a User; nil: any.
	Owners map[string]bool
	// Since and Before bound when a job entered its last state, to the second: Since
	// counts, and Before does not; zero: no bound. A job that does not say when
	// (EnteredCurrentStatus) is chosen only without bounds.
	Since, Before time.Time
}

// Reader tells which ads of the history are chosen, from their lines where these
// say it, and reads them.
type Reader struct {
	Jobs
	quoted map[string]bool // the owners as they are written
	ads    *classad.Builder
	set    func(*classad.Builder, []byte) error
}

// NewReader returns a reader of those ads. set sets the attribute that a line of the history has.
func NewReader(which Jobs, set func(*classad.Builder, []byte) error) *Reader {
	c := &Reader{Jobs: which, ads: classad.NewBuilder(nil), set: set}
	if which.Owners != nil {
		c.quoted = map[string]bool{}
		for name := range which.Owners {
			c.quoted[string(classad.Literal(classad.String(name)).AppendTo(nil, classad.StyleSpool))] = which.Owners[name]
		}
	}
	return c
}

// chosen is whether an ad is chosen, as far as its lines can tell.
type chosen int

const (
	no chosen = iota
	perhaps
	yes
)

func sure(is bool) chosen {
	if is {
		return yes
	}
	return no
}

// Read returns the ad of a block, nil if it is not chosen; with an error how many
// of its lines are good.
func (c *Reader) Read(block []byte) (ad *classad.Ad, good int, err error) {
	what := min(c.cluster(block), c.owner(block), c.time(block))
	if what == no {
		return nil, 0, nil
	}
	ad, good, err = c.parse(block[1:])
	if err != nil || what == perhaps && !c.chooses(ad) {
		return nil, good, err
	}
	return ad, good, nil
}

// parse reads the lines of an ad; with an error how many of them are good.
func (c *Reader) parse(lines []byte) (ad *classad.Ad, good int, err error) {
	if len(lines) == 0 {
		return nil, 0, errors.New("a blank line where an ad is expected")
	}
	c.ads.Begin()
	for ; len(lines) > 0; good++ {
		line, rest, _ := bytes.Cut(lines, []byte("\n"))
		if len(line) == 0 {
			return nil, good, errors.New("a blank line where an attribute is expected")
		}
		if err := c.set(c.ads, line); err != nil {
			return nil, good, err
		}
		lines = rest
	}
	return c.ads.Finish(), good, nil
}

func (c *Reader) cluster(block []byte) chosen {
	if c.Clusters == nil {
		return yes
	}
	text := written(block, "\n"+pool.AttrClusterID+" = ")
	if text == nil {
		return no
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return perhaps
	}
	return sure(c.Clusters[n])
}

func (c *Reader) owner(block []byte) chosen {
	if c.quoted == nil {
		return yes
	}
	what := no
	for _, line := range [...]string{"\n" + pool.AttrOwner + " = ", "\n" + pool.AttrUser + " = "} {
		text := written(block, line)
		switch {
		case text == nil:
		case c.quoted[string(text)]:
			return yes
		case len(text) < 2 || text[0] != '"' || bytes.IndexByte(text[1:], '"') != len(text)-2:
			what = perhaps // no plain text
		}
	}
	return what
}

func (c *Reader) time(block []byte) chosen {
	if c.Since.IsZero() && c.Before.IsZero() {
		return yes
	}
	text := written(block, "\n"+pool.AttrEnteredStatus+" = ")
	if text == nil {
		return no
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return perhaps
	}
	return sure(c.within(n))
}

// within reports whether a second lies between the bounds.
func (c *Reader) within(n int64) bool {
	after := c.Since.IsZero() || n >= c.Since.Unix()
	return after && (c.Before.IsZero() || time.Unix(n, 0).Before(c.Before))
}

// written returns what stands in the block behind the beginning of a line, which is
// a newline and "Name = ", however the name is spelled; nil if there is no such line.
func written(block []byte, line string) []byte {
	i := bytes.Index(block, []byte(line))
	for at := 0; i < 0; at += 1 + lineEnd(block[at+1:]) {
		if at+len(line) > len(block) {
			return nil
		}
		if bytes.EqualFold(block[at:at+len(line)], []byte(line)) {
			i = at
		}
	}
	text := block[i+len(line):]
	return text[:lineEnd(text):lineEnd(text)]
}

// chooses reports whether an ad is chosen whose lines did not say it.
func (c *Reader) chooses(ad *classad.Ad) bool {
	none := &classad.Context{}
	if c.Clusters != nil {
		if n, ok := ad.EvalInt(none, pool.AttrClusterID); !ok || !c.Clusters[int(n)] {
			return false
		}
	}
	if c.Owners != nil {
		owner, is := ad.EvalString(none, pool.AttrOwner)
		user, has := ad.EvalString(none, pool.AttrUser)
		if !(is && c.Owners[owner]) && !(has && c.Owners[user]) {
			return false
		}
	}
	if c.Since.IsZero() && c.Before.IsZero() {
		return true
	}
	n, ok := ad.EvalInt(none, pool.AttrEnteredStatus)
	return ok && c.within(n)
}

func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i
	}
	return len(b)
}
