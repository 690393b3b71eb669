package summarytext

import (
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// The summary of a cluster is what totals need of its jobs, behind its line in the index of a segment:
//
//	I 12 0 3010 5407c828 1000 "alice" "alice@example.org" [ Owner = "alice"; JobStatus = 1 ] [ Owner = "alice"; JobStatus = 2 ] 0 989 990 1 999 10
//
// These are the different ads of its jobs, of the attributes pool.Totalled, and three numbers for each stretch of
// procs that have the same one: which, counted from 0, the last proc, and how many there are. A line without a
// summary says that one of the attributes is no constant, or that the summary would be long.

// mostJobs is how long the summary of a cluster may be, and least how long the numbers of a stretch are.
const (
	mostJobs = 4 << 10
	least    = 6
)

var totalled = func() (names []*classad.Name) {
	for _, n := range pool.Totalled {
		names = append(names, classad.NewName(n))
	}
	return names
}()

// Jobs is the summary of a cluster: ads, and which procs have which.
type Jobs struct {
	Ads       []*classad.Ad
	Stretches []Stretch

	texts []string
	last  values
	bad   bool
}

// Stretch is procs that follow each other and have the same ad.
type Stretch struct{ Ad, Last, Jobs int }

// Add adds procs behind those that were added.
func (s *Jobs) Add(ad *classad.Ad, procs pool.Procs) {
	if s.bad {
		return
	}
	var found values
	for i, name := range totalled {
		v, e, ok := ad.Get(name)
		s.bad = s.bad || e != nil || v.Kind() == classad.KindError || v.Kind() > classad.KindString
		found[i] = value{v, ok}
	}
	n := len(s.Stretches)
	if n == 0 || found != s.last { // equal texts may stand in two places, and then the values differ
		s.last = found
		text := found.text()
		which := slices.Index(s.texts, text)
		if which < 0 {
			which = len(s.texts)
			s.texts = append(s.texts, text)
		}
		if n == 0 || which != s.Stretches[n-1].Ad {
			s.Stretches = append(s.Stretches, Stretch{which, procs.Last, procs.Count()})
			s.bad = s.bad || n >= mostJobs/least
			return
		}
	}
	s.Stretches[n-1].Last, s.Stretches[n-1].Jobs = procs.Last, s.Stretches[n-1].Jobs+procs.Count()
}

// values are those of pool.Totalled in an ad.
type values [len(pool.Totalled)]value

type value struct {
	of    classad.Value
	there bool
}

// text returns them as an ad.
func (list *values) text() string {
	b := []byte("[")
	for i, v := range list {
		if !v.there {
			continue
		}
		if len(b) > 1 {
			b = append(b, ';')
		}
		b = append(append(append(b, ' '), pool.Totalled[i]...), " = "...)
		b = classad.Literal(v.of).AppendTo(b, classad.StyleSpool)
	}
	return string(append(b, " ]"...))
}

// Text returns the summary, empty if there is none.
func (s *Jobs) Text() string {
	if s.bad {
		return ""
	}
	b := []byte(strings.Join(s.texts, " "))
	for _, t := range s.Stretches {
		for _, n := range [...]int{t.Ad, t.Last, t.Jobs} {
			b = strconv.AppendInt(append(b, ' '), int64(n), 10)
		}
	}
	if len(b) > mostJobs {
		return ""
	}
	return string(b)
}

// ReadJobs reads the summary of a cluster, and reports whether it is one.
func ReadJobs(text string) (*Jobs, bool) {
	s := new(Jobs)
	for strings.HasPrefix(text, "[") {
		end := adEnd(text)
		ad, err := classad.ParseAd(text[:end])
		if err != nil {
			return nil, false
		}
		s.Ads, text = append(s.Ads, ad), strings.TrimPrefix(text[end:], " ")
	}
	var numbers []int
	for word := range strings.SplitSeq(text, " ") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 {
			return nil, false
		}
		if numbers = append(numbers, n); len(numbers) < 3 {
			continue
		}
		t := Stretch{numbers[0], numbers[1], numbers[2]}
		if n := len(s.Stretches); t.Ad >= len(s.Ads) || t.Jobs == 0 || n > 0 && t.Last <= s.Stretches[n-1].Last {
			return nil, false
		}
		s.Stretches, numbers = append(s.Stretches, t), numbers[:0]
	}
	return s, len(numbers) == 0
}

// adEnd returns where the ad ends with which a text begins.
func adEnd(text string) int {
	for i, within := 0, false; i < len(text); i++ {
		switch c := text[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case !within && c == ']':
			return i + 1
		}
	}
	return len(text)
}

// Of returns the index of a proc's ad; -1 if the cluster lacks the proc.
func (s *Jobs) Of(proc int) int {
	i, _ := slices.BinarySearchFunc(s.Stretches, proc, func(t Stretch, proc int) int { return t.Last - proc })
	if i == len(s.Stretches) {
		return -1
	}
	return s.Stretches[i].Ad
}

// Claim reads what totals need of a claim from the beginning of its line in a table, and reports whether that is
// possible: the spool writes these attributes first.
func Claim(c *pool.ClaimSummary, line string) bool {
	ok := true
	next := func(lead string) (s string) {
		if !ok {
			return ""
		}
		if line, ok = strings.CutPrefix(line, lead); ok {
			s, line, ok = Plain(line)
		}
		return s
	}
	job, state := next("K [ Job = "), next("; State = ")
	c.Slot, c.Machine = next("; Slot = "), next("; Machine = ")
	matched, behind, found := strings.Cut(strings.TrimPrefix(line, "; MatchedAt = "), ";")
	if ok = ok && found && strings.HasPrefix(line, "; MatchedAt = "); ok {
		line = line[len(line)-len(behind)-1:]
	}
	if ok && strings.HasPrefix(line, "; Of = ") {
		c.Piece = pool.Piece{Of: next("; Of = "), Takes: pool.Resources(next("; Takes = "))}
	}
	if !ok {
		return false
	}
	var bad, wrong error
	c.Job, bad = pool.ParseJobID(job)
	c.State, wrong = pool.ParseClaimState(state)
	if c.State == pool.Matched && bad == nil {
		c.MatchedAt, bad = strconv.ParseInt(matched, 10, 64)
	}
	return bad == nil && wrong == nil
}

// Plain reads a quoted text without escapes, and returns what follows it.
func Plain(text string) (s, rest string, ok bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", "", false
	}
	end := 1 + strings.IndexByte(text[1:], '"')
	if end == 0 || strings.IndexByte(text[1:end], '\\') >= 0 {
		return "", "", false
	}
	return text[1:end], text[end+1:], true
}
