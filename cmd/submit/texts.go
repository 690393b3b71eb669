package main

import (
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobad"
)

// texts looks up attributes of a cluster's procs that are texts, most of which
// are the same for all of them.
type texts struct {
	cluster
	shared map[string]string // by name, of the cluster's ad
	run    jobad.Run
	own    []jobad.Attr // of the run
}

func newTexts(k cluster) *texts { return &texts{cluster: k, shared: map[string]string{}} }

// at goes to a run.
func (t *texts) at(r jobad.Run) {
	t.run = r
	t.own = r.Append(t.own[:0])
}

// differs tells whether the run has one of the attributes of its own.
func (t *texts) differs(names ...string) bool {
	for _, a := range t.own {
		for _, name := range names {
			if strings.EqualFold(a.Name, name) {
				return true
			}
		}
	}
	return false
}

// text returns the text that an attribute is for the procs of the run; empty for
// none.
func (t *texts) text(name string) string {
	for _, a := range t.own {
		if !strings.EqualFold(a.Name, name) {
			continue
		}
		if v, constant := a.Expr.Constant(); constant {
			text, _ := v.Text()
			return text
		}
		return textOf(t.adOf(t.run), name)
	}
	e, ok := t.Ad.Lookup(name)
	if !ok {
		return ""
	}
	if _, constant := e.Constant(); !constant {
		return textOf(t.adOf(t.run), name) // it may refer to what is the run's own
	}
	text, known := t.shared[name]
	if !known {
		text = textOf(t.Ad, name)
		t.shared[name] = text
	}
	return text
}

func textOf(ad *classad.Ad, name string) string {
	s, _ := ad.EvalString(&classad.Context{}, name)
	return s
}
