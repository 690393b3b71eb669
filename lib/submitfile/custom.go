package submitfile

import (
	"slices"
	"strings"

	"fairspool/lib/classad"
)

// customPrefix begins the names, in lower case, under which scope keeps what
// +Name and MY.Name give.
const customPrefix = "my."

// customKeys returns the custom attributes in force, sorted.
func (s *scope) customKeys() []string {
	var keys []string
	for key := range s.vars {
		if strings.HasPrefix(key, customPrefix) {
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
		v := j.vars[key]
		text, err := j.value(v.text, v.line)
		if err != nil {
			return err
		}
		g := given{"+" + v.name[len(customPrefix):], strings.TrimSpace(text), v.line}
		if g.text == "" {
			g.text = "undefined"
		}
		e, err := j.compile(g, g.text)
		if err != nil {
			return err
		}
		if key == customPrefix+"accountinggroup" {
			if err := j.checkCustomAccount(g, e); err != nil {
				return err
			}
		}
		j.setExpr(v.name[len(customPrefix):], g.text, g.line)
	}
	return nil
}

func (j *job) checkCustomAccount(g given, e *classad.Expr) error {
	v, constant := e.Constant()
	name, isText := v.Text()
	if !constant || !isText {
		return j.refuse(g, "%s: want a name in double quotes", shorten(g.text))
	}
	return j.checkAccount(g, name)
}

// expr compiles a setting. Its text was checked when it was set.
func (d *Description) expr(s setting) (*classad.Expr, error) {
	if s.isText {
		return classad.Literal(classad.String(s.text)), nil
	}
	e, err := d.exprs.Expr(s.text)
	if err != nil {
		return nil, d.errorf(s.line, "%s: %w", s.name, err)
	}
	return e, nil
}

// adOf makes an ad of settings.
func (d *Description) adOf(settings []setting) (*classad.Ad, error) {
	ad := classad.New()
	for _, s := range settings {
		e, err := d.expr(s)
		if err != nil {
			return nil, err
		}
		ad.Set(s.name, e)
	}
	return ad, nil
}
