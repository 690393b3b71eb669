package jobad

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// Why a job had to leave that took more of something than it had asked for:
// VacateReasonCode, and HoldReasonCode of one that is held for it, and the subcodes
// that say of what (HTCondor's manual, "Hold Reason Codes").
const (
	OutOfResources = 34
	OutOfMemory    = 102
	OutOfDisk      = 104
)

// Assignment is an attribute of a job and what it is set to.
type Assignment struct {
	Name  string
	Value *classad.Expr
}

// Evicted returns what the job's own TransformOnEvict sets in its ad when it has to leave
// for the reason of code and subcode, as VacateReasonCode and VacateReasonSubCode are, in
// the order of the statements; only what is another then. again tells whether the job
// asks for something else from then on, so that it is to be run once more where it would
// be held otherwise. TransformOnEvict lists names; TransformBody_NAME holds statements,
// with the character 30 between:
//
//	REQUIREMENTS expression   unless it is true, the others are not done
//	SET NAME expression
//	EVALSET NAME expression   its value
//
// Nothing is set when a statement cannot be done; the error is one line and says which.
// That is so for an attribute that CheckEdit would not let the job's owner set.
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

// perform does the statements of a transform to the ad and returns what they set.
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
