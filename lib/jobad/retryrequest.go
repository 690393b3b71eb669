package jobad

import (
	"slices"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// transformSeparator parts the statements of a TransformBody.
const transformSeparator = "\x1e"

// onEvict sets what the description itself has done to the job when it has to leave:
// on_evict_checks names the texts, transform_body_NAME is one, a statement to a line; see
// Evicted.
func (j *job) onEvict() error {
	named, err := j.named()
	if err != nil {
		return err
	}
	checks, ok, err := j.command("on_evict_checks")
	if err != nil || !ok && len(named.transforms) == 0 {
		return err
	}
	names := words(unquoted(checks.Text))
	if ok {
		j.setString(attrTransformOnEvict, strings.Join(names, ","))
	}
	for _, key := range named.transforms {
		g, ok, err := j.command(key)
		switch {
		case err != nil:
			return err
		case !ok:
		case !caseless.Contains(names, key[len(transformPrefix):]):
			if !j.refers(key) {
				j.caution(g, "has no effect: on_evict_checks does not name it")
			}
		default:
			if err := j.transformBody(g); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(named.transforms, transformPrefix+strings.ToLower(name)) && !j.overrides["transformbody_"+strings.ToLower(name)] {
			j.caution(checks, "%s: there is no %s%[1]s", submitfile.Shorten(name), transformPrefix)
		}
	}
	return nil
}

// transformBody sets a text of statements.
func (j *job) transformBody(g given) error {
	name := g.Name[len(transformPrefix):]
	if !isAttributeName("TransformBody_" + name) {
		return j.refuse(g, "%q is no name of an attribute", submitfile.Shorten("TransformBody_"+name))
	}
	var statements []string
	for line := range strings.Lines(g.Text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			statements = append(statements, line)
		}
	}
	for _, s := range statements {
		if _, err := readStatement(s); err != nil {
			return j.refuse(g, "%w", err)
		}
	}
	j.setString("TransformBody_"+name, strings.Join(statements, transformSeparator))
	return nil
}

// laterAmounts sets what a job asks for that had to leave since it took more than it
// had asked for: TransformOnEvict names the attribute, TransformBody_ATTR says
// how it changes. first is its first request, later what the list of the request
// itself goes on with.
//
//	retry_request_memory           the amount, or several, one after the other
//	retry_request_memory_increase  so much more; an expression is the amount itself
//	retry_request_memory_max       and at most this; alone: this
func (j *job) laterAmounts(s *sized, g given, first string, later []string) error {
	list, hasList, err := j.command(s.retry)
	if err != nil {
		return err
	}
	increase, hasIncrease, err := j.command(s.increase)
	if err != nil {
		return err
	}
	most, hasMost, err := j.command(s.max)
	if err != nil {
		return err
	}
	switch {
	case len(later) > 0 && (hasList || hasIncrease || hasMost):
		return j.refuse(g, "says by itself what later attempts ask for, which excludes %s", firstName(list, increase, most))
	case hasList && (hasIncrease || hasMost):
		return j.refuse(list, "excludes %s", firstName(increase, most))
	case len(later) > 0:
		return j.retryList(s, g, later)
	case hasList:
		return j.retryList(s, list, topLevel(list.Text))
	case hasIncrease:
		return j.retryIncrease(s, increase, first, most, hasMost)
	case hasMost:
		return j.retryList(s, most, []string{most.Text})
	}
	return nil
}

// firstName returns the name of the first command that is given.
func firstName(commands ...given) string {
	i := slices.IndexFunc(commands, func(g given) bool { return g.Text != "" })
	return commands[i].Name
}

// transform sets that the statements are done to the job when it has to leave
// because of this resource.
func (j *job) transform(s *sized, statements ...string) {
	// 21 is a machine's policy, 34 the end of a resource.
	condition := "REQUIREMENTS (VacateReasonCode==21 && VacateReasonSubCode==" + s.subcode +
		") || (VacateReasonCode == 34 && VacateReasonSubCode == " + s.subcode + ")"
	names := s.attr
	for _, other := range j.settings[j.mark:] {
		if other.name == attrTransformOnEvict {
			names = other.text + "," + names
		}
	}
	j.setString(attrTransformOnEvict, names)
	j.setString("TransformBody_"+s.attr, strings.Join(append([]string{condition}, statements...), transformSeparator))
}

// retryList sets the amounts of later attempts.
func (j *job) retryList(s *sized, g given, amounts []string) error {
	var sizes []string
	for _, a := range amounts {
		n, _, err := j.size(g, a, s.unit)
		if err != nil {
			return err
		}
		sizes = append(sizes, n)
	}
	if len(sizes) == 1 {
		j.transform(s, "SET "+s.attr+" "+sizes[0])
		return nil
	}
	name := "Retry" + s.attr
	index := name + "Index"
	j.setExpr(name, "{"+strings.Join(sizes, ",")+"}")
	j.transform(s, "EVALSET "+s.attr+" "+name+"["+index+"?:0]",
		"EVALSET "+index+" MIN({size("+name+")-1, ("+index+"?:0)+1})")
	return nil
}

// retryIncrease sets by what the request grows from attempt to attempt.
func (j *job) retryIncrease(s *sized, g given, first string, most given, hasMost bool) error {
	text, isSize, err := j.size(g, g.Text, s.unit)
	if err != nil {
		return err
	}
	next := text
	if isSize {
		next = s.attr + " + " + text
	}
	if hasMost {
		n, _, err := j.size(most, most.Text, s.unit)
		if err != nil {
			return err
		}
		j.setExpr("Next"+s.attr, next)
		j.setExpr("Max"+s.attr, n)
		j.transform(s, "EVALSET "+s.attr+" MIN({Next"+s.attr+", Max"+s.attr+"})")
		return nil
	}
	if n, ok := j.worth(next, s.attr, first); ok {
		j.transform(s, "SET "+s.attr+" "+n)
		return nil
	}
	j.setExpr("Next"+s.attr, next)
	j.transform(s, "EVALSET "+s.attr+" Next"+s.attr)
	return nil
}

// worth returns the value of an expression that needs no other attribute than
// attr, which is worth first.
func (j *job) worth(text, attr, first string) (string, bool) {
	e, err := j.exprs.Expr(text)
	if err != nil || first == "" {
		return "", false
	}
	now, err := j.exprs.Expr(first)
	if err != nil {
		return "", false
	}
	ad := classad.New()
	ad.Set(attr, now)
	_, external := classad.References(e, ad)
	clock, chance := classad.Varies(e, ad, nil)
	v := e.Eval(&classad.Context{}, ad, nil)
	isNumber := v.Kind() == classad.KindInteger || v.Kind() == classad.KindReal
	return v.String(), isNumber && len(external) == 0 && !clock && !chance
}
