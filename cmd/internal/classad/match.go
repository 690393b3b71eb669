package classad

import (
	"fmt"
	"math"
	"strconv"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
)

// pairing is what came of one slot and the job.
type pairing struct {
	Name              string // the slot's, or where its ad begins
	Match             bool
	JobRank, SlotRank rank      // what each gives the other; 0 without a match
	Refusals          []refusal `json:",omitempty"`

	slot *classad.Ad
}

// match tells which slots a job matches.
func match(c *cmdline.Call, files []string) error {
	form, err := matchForm(c)
	if err != nil {
		return err
	}
	if len(files) < 2 {
		return cmdline.Usagef("match: want the file of a job ad and files of slot ads")
	}
	m, err := newMatching(c, files[0])
	if err != nil {
		return err
	}
	switch {
	case form == "long" || form == "af":
		err = adprint.Print(c, form, m.matched(files[1:]))
	case c.Has("summary"):
		err = m.summary(files[1:])
	case form == "json":
		all := []pairing{}
		m.each(files[1:], func(p pairing) bool { all = append(all, p); return true })
		if m.err == nil {
			err = c.JSON(struct{ Results []pairing }{all})
		}
	default:
		err = m.show(files[1:])
	}
	switch {
	case m.err != nil:
		return m.err
	case err == nil && m.count == 0:
		return cmdline.ErrReported
	}
	return err
}

// matchForm returns which of -long, -json and -af was given.
func matchForm(c *cmdline.Call) (string, error) {
	form, err := c.One("long", "json", "af")
	if err != nil {
		return "", err
	}
	why, err := c.One("explain", "summary")
	if err != nil {
		return "", err
	}
	if why != "" && form != "" && form != "json" {
		return "", cmdline.Usagef("-%s and -%s: only one of them at a time", why, form)
	}
	return form, nil
}

// matching goes through slots for one job.
type matching struct {
	*cmdline.Call
	in      *input
	world   *classad.Context
	job     *classad.Ad
	matcher *classad.Matcher
	explain *explainer // nil: reasons are not wanted
	slots   int        // how many there were, and how many matched
	count   int
	err     error // what ended it
}

func newMatching(c *cmdline.Call, job string) (*matching, error) {
	m := &matching{Call: c}
	var err error
	if m.in, err = newInput(c); err != nil {
		return nil, err
	}
	if m.world, err = world(c); err != nil {
		return nil, err
	}
	if m.job, err = m.in.only(c, job); err != nil {
		return nil, err
	}
	m.matcher = classad.NewMatcher(m.world, m.job)
	if c.Has("explain") || c.Has("summary") {
		m.explain = newExplainer(m.world, m.job)
	}
	return m, nil
}

// each hands the pairings with all slots to f, until f returns false. It tells
// of bad ads and passes over them.
func (m *matching) each(files []string, f func(pairing) bool) {
	for _, file := range files {
		err := m.in.each(file, func(x found) error {
			if x.bad != nil {
				m.Warn("%v", x.bad)
				return nil
			}
			if !f(m.pair(x)) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			m.err = err
		}
		if err != nil {
			return
		}
	}
}

func (m *matching) pair(x found) pairing {
	p := pairing{Name: x.where, slot: x.ad}
	if name, ok := x.ad.EvalString(m.world, "Name"); ok && name != "" {
		p.Name = name
	}
	ok, ofJob, ofSlot := m.matcher.MatchRanks(x.ad)
	p.Match, p.JobRank, p.SlotRank = ok, rank(ofJob), rank(ofSlot)
	m.slots++
	if ok {
		m.count++
	} else if m.explain != nil {
		p.Refusals = m.explain.refusals(x.ad)
	}
	return p
}

// matched goes through the ads of the slots that match.
func (m *matching) matched(files []string) func(func(*classad.Ad) bool) {
	return func(yield func(*classad.Ad) bool) {
		m.each(files, func(p pairing) bool { return !p.Match || yield(p.slot) })
	}
}

var columns = []cmdline.Column{{Head: "Slot"}, {Head: "Match"}, {Head: "Job Rank", Right: true}, {Head: "Slot Rank", Right: true}}

// show writes the table for people and, with -explain, why slots do not match.
func (m *matching) show(files []string) error {
	var rows [][]string
	var not []pairing
	var why reasons
	m.each(files, func(p pairing) bool {
		row := []string{visible(p.Name), "no", "", ""}
		if p.Match {
			row = []string{visible(p.Name), "yes", p.JobRank.String(), p.SlotRank.String()}
		} else if p.slot = nil; m.explain != nil {
			not = append(not, p)
			why.add(p.Refusals)
		}
		rows = append(rows, row)
		return true
	})
	if m.err != nil {
		return m.err
	}
	if err := m.Table(columns, rows); err != nil {
		return err
	}
	lead, ranks := "", ""
	if len(rows) > 0 {
		lead = "\n"
	}
	if m.count > 0 {
		ranks = " Higher ranks are better."
	}
	if _, err := fmt.Fprintf(m.Stdout, "%s%s%s\n", lead, m.total(), ranks); err != nil {
		return err
	}
	if err := showRefusals(m.Stdout, not); err != nil || len(not) < 2 {
		return err
	}
	return why.show(m.Stdout)
}

func (m *matching) total() string {
	return fmt.Sprintf("%d of %s.", m.count, plural.Pick(m.slots, "1 slot matches", "%d slots match"))
}

// summary is what -summary prints with -json.
type summary struct {
	Slots, Matches int
	Reasons        []*reason
}

// summary writes how many slots match, and what keeps the others from it.
func (m *matching) summary(files []string) error {
	var why reasons
	m.each(files, func(p pairing) bool {
		if !p.Match {
			why.add(p.Refusals)
		}
		return true
	})
	if m.err != nil {
		return m.err
	}
	if m.Has("json") {
		return m.JSON(summary{m.slots, m.count, why.sorted()})
	}
	if _, err := fmt.Fprintln(m.Stdout, m.total()); err != nil {
		return err
	}
	return why.show(m.Stdout)
}

// rank is how much one side wants the other.
type rank float64

// String writes a rank, with an exponent only where it would be very long.
func (r rank) String() string {
	const long = 1e15
	if math.Abs(float64(r)) < long {
		return strconv.FormatFloat(float64(r), 'f', -1, 64)
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64)
}

// MarshalJSON writes a rank that is no JSON number as ads in JSON have it.
func (r rank) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(r)) || math.IsInf(float64(r), 0) {
		return asJSON(classad.Real(float64(r))), nil
	}
	return []byte(r.String()), nil
}
