package jobad

import (
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// customPrefix begins the names, in lower case, under which scope keeps what
// +Name and MY.Name give.
const customPrefix = "my."

// customKeys returns the names of the custom attributes in force that may be
// set, sorted.
func (j *job) customKeys() []string {
	var keys []string
	for _, key := range j.Names() {
		if attr, ok := strings.CutPrefix(key, customPrefix); ok && !isProtected(attr) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// customAttributes sets what +Name and MY.Name give, over whatever commands
// have set. An empty value is undefined.
func (j *job) customAttributes() error {
	j.custom = true
	defer func() { j.custom = false }()
	for _, key := range j.customKeys() {
		g, _, err := j.Lookup(key)
		if err != nil {
			return err
		}
		attr, _ := customName(g.Name)
		g.Name = "+" + attr
		if !isAttributeName(attr) { // that of a variable of a queue line; others were looked at
			return j.refuse(g, "%q is no name of an attribute", submitfile.Shorten(attr))
		}
		if g.Text == "" {
			g.Text = "undefined"
		}
		e, err := j.compile(g, g.Text)
		if err != nil {
			return err
		}
		if key == customPrefix+"accountinggroup" {
			if err := j.checkCustomAccount(g, e); err != nil {
				return err
			}
		}
		j.setExpr(attr, g.Text)
	}
	return nil
}

// checkCustomAccount looks at +AccountingGroup. A lone name without quotes is kept, as
// HTCondor keeps it: it refers to nothing, so the jobs count for their owner.
func (j *job) checkCustomAccount(g given, e *classad.Expr) error {
	v, constant := e.Constant()
	name, isText := v.Text()
	switch {
	case constant && isText:
		return j.checkAccount(g, name)
	case j.refersToNothing(g.Text):
		j.caution(g, "%s: no name in double quotes, the jobs count for %s", submitfile.Shorten(g.Text), j.options.Owner)
		return nil
	}
	return j.refuse(g, "%s: want a name in double quotes", submitfile.Shorten(g.Text))
}

// refersToNothing tells whether an expression is a name, maybe of several words with
// dots between, whose first word no text in a job's ad goes by.
func (j *job) refersToNothing(text string) bool {
	words := strings.Split(text, ".")
	first := strings.ToLower(words[0])
	if j.overrides[first] || isCommand(first) || isProtected(first) || ambiguous[first] || first == "my" || first == "target" {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !isAttributeName(w) })
}
