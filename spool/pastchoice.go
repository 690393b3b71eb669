package spool

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// choice tells which ads of the history are chosen, from their lines where these
// say it, and reads them.
type choice struct {
	Left
	quoted map[string]bool // the owners as they are written
	ads    *classad.Builder
}

func newChoice(which Left) *choice {
	c := &choice{Left: which, ads: classad.NewBuilder(nil)}
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

// read returns the ad of a block, nil if it is not chosen; with an error how many
// of its lines are good.
func (c *choice) read(block []byte) (ad *classad.Ad, good int, err error) {
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
func (c *choice) parse(lines []byte) (ad *classad.Ad, good int, err error) {
	if len(lines) == 0 {
		return nil, 0, errors.New("a blank line where an ad is expected")
	}
	c.ads.Begin()
	for ; len(lines) > 0; good++ {
		line, rest, _ := bytes.Cut(lines, newline)
		if len(line) == 0 {
			return nil, good, errors.New("a blank line where an attribute is expected")
		}
		if err := setLine(c.ads, line); err != nil {
			return nil, good, err
		}
		lines = rest
	}
	return c.ads.Finish(), good, nil
}

func (c *choice) cluster(block []byte) chosen {
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

func (c *choice) owner(block []byte) chosen {
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

func (c *choice) time(block []byte) chosen {
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

// within tells whether a second lies between the bounds.
func (c *choice) within(n int64) bool {
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

// chooses tells whether an ad is chosen whose lines did not say it.
func (c *choice) chooses(ad *classad.Ad) bool {
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
