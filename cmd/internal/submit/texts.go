package submit

import (
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
)

// texts looks up attributes of a cluster's procs that are texts, most of which
// are the same for all of them.
type texts struct {
	cluster
	shared map[string]string // by name, of the cluster's ad
	run    jobad.Run
}

func newTexts(k cluster) *texts { return &texts{cluster: k, shared: map[string]string{}} }

// at goes to a run.
func (t *texts) at(r jobad.Run) { t.run = r }

// text returns the text that an attribute is for the procs of the run; empty for
// none.
func (t *texts) text(name string) string {
	if text, plain := t.run.Text(name); plain {
		return text
	}
	if t.run.Has(name) {
		return textOf(t.adOf(t.run), name)
	}
	text, known := t.shared[name]
	if known {
		return text
	}
	if e, ok := t.Ad.Lookup(name); ok {
		if _, constant := e.Constant(); !constant {
			return textOf(t.adOf(t.run), name) // it may refer to what is the run's own
		}
		text = textOf(t.Ad, name)
	}
	t.shared[name] = text
	return text
}

func textOf(ad *classad.Ad, name string) string {
	s, _ := ad.EvalString(&classad.Context{}, name)
	return s
}
