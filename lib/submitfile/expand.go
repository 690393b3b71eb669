package submitfile

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
)

// maxJobs bounds the jobs of one description.
const maxJobs = 1_000_000

// Expand returns the ads of the description's jobs as the cluster of the
// given number: ad has the attributes that all procs share, each run what
// its procs have besides. The runs cover the procs from 0 on. No queue
// statement that asks for a job: ad has no attributes and there are no runs.
//
// The ads lack ClusterId and ProcId, which are the spool's to set. A
// Description must not be expanded by two goroutines at once.
func (d *Description) Expand(cluster int) (ad *classad.Ad, runs []Run, err error) {
	x := expansion{scope: scope{Description: d, vars: map[string]variable{}, cluster: cluster}}
	if err := x.follow(x.queue); err != nil {
		return nil, nil, err
	}
	return x.ads()
}

// try works out the first job of every queue statement, for the errors and
// warnings that this finds.
func (d *Description) try() ([]Warning, error) {
	x := expansion{scope: scope{Description: d, vars: map[string]variable{}, cluster: 1}}
	seen := map[Warning]bool{}
	var out []Warning
	x.warn = func(w Warning) {
		if !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	total := 0
	err := x.follow(func(count, line int) error {
		total += count
		if count == 0 {
			return nil
		}
		j := x.job(line)
		for _, p := range parts {
			if err := p(j); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && total == 0 {
		out = append(out, Warning{d.file, 0, "all queue statements ask for 0 jobs"})
	}
	return out, err
}

// expansion is the work of Expand.
type expansion struct {
	scope
	batches []batch
}

// batch is what one queue statement asks for.
type batch struct {
	shared map[string]setting // by name in lower case: what all its procs have
	runs   []rawRun
}

// rawRun is count procs in a row with equal settings, besides the shared.
type rawRun struct {
	count    int
	settings []setting
}

// follow walks through the statements and calls queue for each that asks for
// jobs, with the values then in force.
func (x *expansion) follow(queue func(count, line int) error) error {
	for _, s := range x.steps {
		if !s.queue {
			x.vars[strings.ToLower(s.name)] = variable{s.name, s.text, s.line}
			continue
		}
		count, err := x.count(s)
		if err != nil {
			return err
		}
		if x.proc+count > maxJobs {
			return x.errorf(s.line, "%s: more than %d jobs in one cluster", s.statement(), maxJobs)
		}
		first := x.proc
		if err := queue(count, s.line); err != nil {
			return err
		}
		x.proc = first + count
	}
	return nil
}

// count returns how many jobs a queue statement asks for.
func (x *expansion) count(s step) (int, error) {
	text, err := x.value(s.text, s.line)
	if err != nil {
		return 0, err
	}
	if text = strings.TrimSpace(text); text == "" {
		return 1, nil
	}
	if beyondInteger(text) && text[0] != '-' {
		return maxJobs + 1, nil
	}
	e, err := x.exprs.Expr(text)
	if err != nil {
		return 0, x.errorf(s.line, "queue %s: want a number of jobs", shorten(text))
	}
	n, ok := e.Eval(&classad.Context{}, classad.New(), nil).Int()
	switch {
	case !ok:
		return 0, x.errorf(s.line, "queue %s: want a number of jobs", shorten(text))
	case n < 0, beyondInteger(text):
		return 0, x.errorf(s.line, "queue %s: a negative number of jobs", shorten(text))
	}
	return int(min(n, maxJobs+1)), nil
}

// statement returns a queue statement as written.
func (s step) statement() string { return strings.TrimSpace("queue " + shorten(s.text)) }

// beyondInteger tells whether text is a number too large for a ClassAd
// integer. The language takes such a one for 0, which nobody means.
func beyondInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return errors.Is(err, strconv.ErrRange)
}

func (x *expansion) job(line int) *job {
	j := &job{scope: &x.scope, at: line, overrides: map[string]bool{}}
	for _, key := range x.customKeys() {
		j.overrides[key[len(customPrefix):]] = true
	}
	return j
}

// queue works out the jobs of one queue statement. Parts that do not ask for
// $(Process) are worked out once.
func (x *expansion) queue(count, line int) error {
	if count == 0 {
		return nil
	}
	j := x.job(line)
	var varying []part
	var first []setting // of the varying parts, for the first proc
	for _, p := range parts {
		x.touched = false
		before := len(j.settings)
		if err := p(j); err != nil {
			return err
		}
		if x.touched {
			varying = append(varying, p)
			first = append(first, j.settings[before:]...)
			j.settings = j.settings[:before]
		}
	}
	b := batch{shared: map[string]setting{}}
	for _, s := range j.settings {
		b.shared[strings.ToLower(s.name)] = s
	}
	if len(varying) == 0 {
		b.runs = []rawRun{{count: count}}
		x.batches = append(x.batches, b)
		return nil
	}
	b.runs = []rawRun{{1, first}}
	for n := 1; n < count; n++ {
		x.proc++
		j.settings = nil
		for _, p := range varying {
			if err := p(j); err != nil {
				return err
			}
		}
		if last := &b.runs[len(b.runs)-1]; slices.Equal(last.settings, j.settings) {
			last.count++
		} else {
			b.runs = append(b.runs, rawRun{1, j.settings})
		}
	}
	b.factor()
	x.batches = append(x.batches, b)
	return nil
}

// factor moves what all runs have in common to shared.
func (b *batch) factor() {
	common := map[string]setting{}
	for _, s := range b.runs[0].settings {
		common[strings.ToLower(s.name)] = s
	}
	for _, r := range b.runs[1:] {
		keepEqual(common, r.settings)
	}
	for i := range b.runs {
		b.runs[i].settings = slices.DeleteFunc(b.runs[i].settings, func(s setting) bool {
			_, shared := common[strings.ToLower(s.name)]
			return shared
		})
	}
	maps.Copy(b.shared, common)
}

// keepEqual deletes from common what settings does not say likewise.
func keepEqual(common map[string]setting, settings []setting) {
	here := make(map[string]setting, len(settings))
	for _, s := range settings {
		here[strings.ToLower(s.name)] = s
	}
	for key, s := range common {
		if !s.equal(here[key]) {
			delete(common, key)
		}
	}
}

func (s setting) equal(o setting) bool {
	return s.name == o.name && s.text == o.text && s.isText == o.isText
}

// ads makes the ads of what the queue statements gave.
func (x *expansion) ads() (*classad.Ad, []Run, error) {
	if len(x.batches) == 0 {
		return classad.New(), nil, nil
	}
	common := maps.Clone(x.batches[0].shared)
	for _, b := range x.batches[1:] {
		keepEqual(common, slices.Collect(maps.Values(b.shared)))
	}
	ad, err := x.adOf(sorted(common))
	if err != nil {
		return nil, nil, err
	}
	var runs []Run
	var last []setting
	for _, b := range x.batches {
		maps.DeleteFunc(b.shared, func(key string, _ setting) bool { _, in := common[key]; return in })
		own := sorted(b.shared)
		for _, r := range b.runs {
			settings := slices.Concat(own, r.settings)
			if len(runs) > 0 && slices.EqualFunc(last, settings, setting.equal) {
				runs[len(runs)-1].Count += r.count
				continue
			}
			runAd, err := x.adOf(settings)
			if err != nil {
				return nil, nil, err
			}
			runs = append(runs, Run{r.count, runAd})
			last = settings
		}
	}
	return ad, runs, nil
}

func sorted(settings map[string]setting) []setting {
	out := make([]setting, 0, len(settings))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		out = append(out, settings[key])
	}
	return out
}
