package jobad

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// simpleParts are the parts of commands that set one attribute each, or none: each
// command is a part, so that one that varies does not take the others along.
var simpleParts = sync.OnceValue(func() []part {
	var out []part
	all := table()
	for i := range all {
		c := &all[i]
		switch {
		case ours[c.Name] && c.kind != elsewhere:
			out = append(out, orMacro(c.Name, c.work))
		case c.kind != elsewhere, c.Fate == Waiting:
			out = append(out, c.work)
		}
	}
	return out
})

// work says what is to be said of a command, and sets its attribute when no other
// part does.
func (c *Command) work(j *job) error {
	g, ok, err := j.command(c.Name)
	if !ok || err != nil {
		return err
	}
	if c.Fate == Waiting && !c.idle(g.Text) {
		j.caution(g, "%s", c.notice())
	}
	if c.kind == elsewhere {
		return nil
	}
	s, err := c.setting(j, g)
	if err != nil {
		return err
	}
	if c.Attr != "" {
		j.set(s)
	}
	return nil
}

// notice is what is said of a command on which nothing acts.
func (c *Command) notice() string {
	if c.Why == "" {
		return "kept in the ad, the pool does not act on it"
	}
	return "kept in the ad, the pool does not act on it: " + c.Why
}

// idle reports whether a value asks for nothing but what happens anyway.
func (c *Command) idle(value string) bool {
	yes, plain := truth(value)
	switch c.Name {
	case "keep_claim_idle", "next_job_start_delay":
		return value == "0"
	case "want_job_networking":
		return plain && yes
	case "use_scitokens":
		return plain && !yes || strings.EqualFold(value, "auto")
	}
	return plain && !yes
}

// setting is the attribute as a command gives it.
func (c *Command) setting(j *job, g given) (setting, error) {
	switch c.kind {
	case text:
		text := unquoted(g.Text)
		if n := len(text); c.Name == "batch_name" && n > 2 && text[0] == '\'' && text[n-1] == '\'' {
			text = text[1 : n-1] // HTCondor takes off these, too
		}
		return setting{c.Attr, text, true}, nil
	case list:
		return setting{c.Attr, strings.Join(words(unquoted(g.Text)), ","), true}, nil
	case file:
		dir, err := j.folder()
		return setting{c.Attr, absolute(dir.Text, unquoted(g.Text)), true}, err
	case truthful:
		yes, err := j.boolean(c.Name, false)
		return setting{c.Attr, strconv.FormatBool(yes), false}, err
	case whole, natural:
		n, err := j.integer(g, c.kind == natural)
		return setting{c.Attr, strconv.FormatInt(n, 10), false}, err
	case seconds:
		if n, ok := Span(g.Text); ok {
			return setting{c.Attr, strconv.FormatInt(n, 10), false}, nil
		}
		err := j.checkSeconds(g)
		if err != nil && strings.ContainsAny(g.Text[:1], "0123456789") {
			err = j.refuse(g, "%s: want a time, as 2:00:00, 90m, 2d or a number of seconds", submitfile.Shorten(g.Text))
		}
		return setting{c.Attr, g.Text, false}, err
	default:
		_, err := j.compile(g, g.Text)
		return setting{c.Attr, g.Text, false}, err
	}
}

// integer returns the whole number that a command is, as it stands or worked out
// without any ad.
func (j *job) integer(g given, positive bool) (int64, error) {
	e, err := j.compile(g, g.Text)
	if err != nil {
		return 0, err
	}
	n, isInt := e.Eval(&classad.Context{}, classad.New(), nil).Int()
	switch {
	case !isInt || BeyondInteger(g.Text):
		return 0, j.refuse(g, "%s: want a whole number", submitfile.Shorten(g.Text))
	case positive && n < 0:
		return 0, j.refuse(g, "%s: want a whole number from 0 up", submitfile.Shorten(g.Text))
	}
	return n, nil
}

// checkSeconds refuses what is no whole number of seconds from 0 up, and no
// expression for one. A bare name, such as a word by mistake, counts as an
// expression only when the description gives the job that attribute.
func (j *job) checkSeconds(g given) error {
	e, err := j.compile(g, g.Text)
	if err != nil {
		return err
	}
	v, constant := e.Constant()
	n, isInt := v.Int()
	bare := isAttributeName(g.Text) && !constant && !j.overrides[strings.ToLower(g.Text)]
	if constant && (!isInt || n < 0) || BeyondInteger(g.Text) || bare {
		return j.refuse(g, "%s: want seconds, a whole number from 0 up", submitfile.Shorten(g.Text))
	}
	return nil
}

// spans are the ways to write a span of time besides seconds: 2h, 1h30m, 2d; and 1:30:00 or
// 2-12:00:00, with days before the hyphen.
var spans = [...]*regexp.Regexp{
	regexp.MustCompile(`^(?:([0-9]{1,5})d)?(?:([0-9]{1,7})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,10})s)?$`),
	regexp.MustCompile(`^(?:([0-9]{1,5})-)?([0-9]{1,7}):([0-5][0-9]):([0-5][0-9])$`),
}

// Span returns the seconds of a span of time that is written as 2h, 90m, 1h30m, 2d, 1:30:00 or
// 2-12:00:00.
func Span(text string) (seconds int64, ok bool) {
	for _, way := range spans {
		m := way.FindStringSubmatch(text)
		if m == nil || text == "" {
			continue
		}
		for i, unit := range [...]int64{86400, 3600, 60, 1} {
			n, _ := strconv.ParseInt(m[1+i], 10, 64) // digits, or nothing
			seconds += n * unit
		}
		return seconds, true
	}
	return 0, false
}

// seconds sets an attribute to a number of seconds, if its command is given.
func (j *job) seconds(command, attr string) (found bool, err error) {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return false, err
	}
	if err := j.checkSeconds(g); err != nil {
		return false, err
	}
	j.setExpr(attr, g.Text)
	return true, nil
}

// meg are the words for units that old examples have: 28 Meg.
var meg = strings.NewReplacer("meg", "m", "gig", "g")

// imageSize sets ImageSize, in KB.
func (j *job) imageSize() error {
	g, ok, err := j.command("image_size")
	if !ok || err != nil {
		return err
	}
	n, ok := parseSize(meg.Replace(strings.ToLower(g.Text)), kilobyte)
	if !ok || n < 1 || n > math.MaxInt64/2 {
		return j.refuse(g, "%q: want a size in KB, or with K, M, G or T", submitfile.Shorten(g.Text))
	}
	j.setExpr("ImageSize", strconv.FormatInt(int64(n), 10))
	return nil
}

// ours are the commands that HTCondor does not know.
var ours = map[string]bool{
	"qos": true, "class": true, "account": true, "unix_group": true, "project": true, "department": true,
	"after_ok": true, "after_any": true, "wall_time": true, "deadline": true, "job_share": true, "override_tickets": true,
	"parallel_slots": true, "parallel_environment": true,
}

// orMacro is a part whose errors do not count where the command's name, which
// HTCondor does not know, serves the description as a macro of its own.
func orMacro(name string, work part) part {
	return func(j *job) error {
		err := work(j)
		var bad *submitfile.Error
		if errors.As(err, &bad) && j.refers(name) {
			return nil
		}
		return err
	}
}

// refers reports whether the description refers to a name.
func (j *job) refers(name string) bool {
	if j.uses == nil {
		uses := j.description.Uses()
		j.uses = &uses
	}
	return j.uses.Certainly(name)
}
