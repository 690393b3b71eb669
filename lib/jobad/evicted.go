package jobad

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// Why a job that took more of a resource than it had requested had to leave:
// VacateReasonCode, and HoldReasonCode if it is held for that, and the subcodes for the
// resource (HTCondor's manual, "Hold Reason Codes").
const (
	OutOfResources = 34
	OutOfMemory    = 102
	OutOfDisk      = 104
)

// Assignment is an attribute of a job with its new value.
type Assignment struct {
	Name  string
	Value *classad.Expr
}

// Evicted returns the attributes that the job's own TransformOnEvict sets in its ad when
// it has to leave for the reason of code and subcode, as VacateReasonCode and
// VacateReasonSubCode are, in the order of the statements; only those that change. again
// reports whether the job requests something else from then on, so that it is to be run
// once more instead of held. TransformOnEvict lists names; TransformBody_NAME holds
// statements, with the character 30 between:
//
//	REQUIREMENTS expression   unless it is true, the others are not done
//	SET NAME expression
//	EVALSET NAME expression   its value
//
// Nothing is set if a statement fails; the error is one line and names the statement. A
// statement fails if it sets an attribute that CheckEdit would not let the job's owner
// set.
func Evicted(c *classad.Context, ad *classad.Ad, code, subcode int) (set []Assignment, again bool, err error) {
	list, _ := ad.EvalString(c, attrTransformOnEvict)
	after := classad.New().Chain(ad)
	after.SetInt(pool.AttrVacateReasonCode, int64(code))
	after.SetInt(pool.AttrVacateReasonSub, int64(subcode))
	done := map[string]bool{}
	for _, name := range words(list) {
		body := "TransformBody_" + name
		if done[strings.ToLower(name)] {
			continue
		}
		done[strings.ToLower(name)] = true
		statements, _ := ad.EvalString(c, body)
		some, err := perform(c, after, strings.Split(statements, transformSeparator))
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", submitfile.Shorten(body), err)
		}
		set = append(set, some...)
	}
	set = slices.DeleteFunc(set, func(a Assignment) bool {
		was, had := ad.Lookup(a.Name)
		return had && was.String() == a.Value.String()
	})
	again = slices.ContainsFunc(set, func(a Assignment) bool { return strings.HasPrefix(strings.ToLower(a.Name), "request") })
	return set, again, nil
}

// attrTransformOnEvict names the texts of statements that are done when the job has to leave.
const attrTransformOnEvict = "TransformOnEvict"

// words parts a text at blanks and commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t", r) })
}

// statement is one of a transform: REQUIREMENTS with an expression, or SET or EVALSET with
// a name, too. The empty one has no verb.
type statement struct {
	verb, name string
	expr       *classad.Expr
	text       string // of expr
}

// readStatement reads a statement.
func readStatement(text string) (s statement, err error) {
	s.verb, s.text = firstWord(text)
	at := s.verb
	switch s.verb = strings.ToUpper(s.verb); s.verb {
	case "":
		return s, nil
	case "REQUIREMENTS":
	case "SET", "EVALSET":
		s.name, s.text = firstWord(s.text)
		at = s.name
	default:
		return s, fmt.Errorf("%q: want REQUIREMENTS, SET or EVALSET", submitfile.Shorten(at))
	}
	if s.expr, err = classad.ParseExpr(s.text); err != nil {
		return s, fmt.Errorf("%s: %w", submitfile.Shorten(at), err)
	}
	switch s.verb {
	case "SET":
		err = CheckEdit(s.name, s.expr, false)
	case "EVALSET":
		err = checkEditName(s.name, false)
	}
	return s, err
}

// perform applies the statements of a transform to the ad and returns the attributes that
// they set.
func perform(c *classad.Context, ad *classad.Ad, statements []string) ([]Assignment, error) {
	var set []Assignment
	for _, text := range statements {
		s, err := readStatement(text)
		if err != nil {
			return nil, err
		}
		switch s.verb {
		case "":
			continue
		case "REQUIREMENTS":
			if yes, _ := s.expr.Eval(c, ad, nil).Bool(); !yes {
				return nil, nil
			}
			continue
		case "EVALSET":
			v := s.expr.Eval(c, ad, nil)
			if v.Kind() == classad.KindUndefined || v.Kind() == classad.KindError {
				return nil, fmt.Errorf("%s: %s is %s", submitfile.Shorten(s.name), submitfile.Shorten(s.text), v)
			}
			s.expr = classad.Literal(v)
			if err := CheckEdit(s.name, s.expr, false); err != nil {
				return nil, err
			}
		}
		a := Assignment{s.name, s.expr}
		ad.Set(a.Name, a.Value)
		set = slices.DeleteFunc(set, func(b Assignment) bool { return strings.EqualFold(a.Name, b.Name) })
		set = append(set, a)
	}
	return set, nil
}

// firstWord parts a text behind its first word.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// transformSeparator parts the statements of a TransformBody.
const transformSeparator = "\x1e"

// onEvict sets the transforms that the description itself gives for when the job has to
// leave: on_evict_checks names the texts, transform_body_NAME is one, a statement to a
// line; see Evicted.
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

// laterAmounts sets the requests of later attempts of a job that had to leave since it
// took more than it had requested: TransformOnEvict names the attribute,
// TransformBody_ATTR says how it changes. first is the job's first request, later the
// rest of the list in the request itself.
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

// retryIncrease sets the amount by which the request grows from attempt to attempt.
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
