package jobad

import (
	"maps"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// Expand returns the ads of the description's jobs as the cluster of the
// given number: ad has the attributes that all procs share, each run what
// its procs have besides. The runs cover the procs from 0 on. No queue line
// that asks for a job: ad has no attributes and there are no runs.
//
// The ads lack ClusterId and ProcId, which are the spool's to set. Jobs must
// not be expanded by two goroutines at once.
func (j *Jobs) Expand(cluster int) (ad *classad.Ad, runs []Run, err error) {
	x := expansion{Jobs: j}
	if err := j.description.Walk(cluster, nil, x.queue); err != nil {
		return nil, nil, err
	}
	return x.ads()
}

// expansion is the work of Expand.
type expansion struct {
	*Jobs
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

// queue works out the jobs of one queue statement. Parts that do not ask for
// $(Process) are worked out once.
func (x *expansion) queue(p *submitfile.Job) error {
	j := x.job(p, nil)
	var varying []part
	var first []setting // of the varying parts, for the first proc
	for _, work := range parts {
		j.Varies()
		before := len(j.settings)
		if err := work(j); err != nil {
			return err
		}
		if j.Varies() {
			varying = append(varying, work)
			first = append(first, j.settings[before:]...)
			j.settings = j.settings[:before]
		}
	}
	b := batch{shared: map[string]setting{}}
	for _, s := range j.settings {
		b.shared[strings.ToLower(s.name)] = s
	}
	if len(varying) == 0 {
		b.runs = []rawRun{{count: p.Count()}}
		x.batches = append(x.batches, b)
		return nil
	}
	b.runs = []rawRun{{1, first}}
	for p.Next() {
		j.settings = make([]setting, 0, len(first))
		for _, work := range varying {
			if err := work(j); err != nil {
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

// expr compiles a setting. Its text was checked when it was set.
func (j *Jobs) expr(s setting) (*classad.Expr, error) {
	if s.isText {
		return classad.Literal(classad.String(s.text)), nil
	}
	return j.exprs.Expr(s.text)
}

// adOf makes an ad of settings.
func (j *Jobs) adOf(settings []setting) (*classad.Ad, error) {
	ad := classad.New()
	for _, s := range settings {
		e, err := j.expr(s)
		if err != nil {
			return nil, err
		}
		ad.Set(s.name, e)
	}
	return ad, nil
}
