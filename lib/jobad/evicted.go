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
	list, _ := ad.EvalString(c, "TransformOnEvict")
	after := classad.New().Chain(ad)
	after.SetInt(pool.AttrVacateReasonCode, int64(code))
	after.SetInt(pool.AttrVacateReasonSub, int64(subcode))
	done := map[string]bool{}
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t", r) }) {
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

// perform does the statements of a transform to the ad and returns what they set.
func perform(c *classad.Context, ad *classad.Ad, statements []string) ([]Assignment, error) {
	var set []Assignment
	for _, s := range statements {
		verb, rest := firstWord(s)
		switch strings.ToUpper(verb) {
		case "":
			continue
		case "REQUIREMENTS":
			e, err := classad.ParseExpr(rest)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", verb, err)
			}
			if yes, _ := e.Eval(c, ad, nil).Bool(); !yes {
				return nil, nil
			}
			continue
		case "SET", "EVALSET":
		default:
			return nil, fmt.Errorf("%q: want REQUIREMENTS, SET or EVALSET", submitfile.Shorten(verb))
		}
		a, err := assignment(c, ad, strings.EqualFold(verb, "EVALSET"), rest)
		if err != nil {
			return nil, err
		}
		ad.Set(a.Name, a.Value)
		set = slices.DeleteFunc(set, func(b Assignment) bool { return strings.EqualFold(a.Name, b.Name) })
		set = append(set, a)
	}
	return set, nil
}

// assignment returns what "NAME expression" sets: the expression, or its value.
func assignment(c *classad.Context, ad *classad.Ad, value bool, text string) (Assignment, error) {
	name, text := firstWord(text)
	e, err := classad.ParseExpr(text)
	if err != nil {
		return Assignment{}, fmt.Errorf("%s: %w", submitfile.Shorten(name), err)
	}
	if value {
		v := e.Eval(c, ad, nil)
		if v.Kind() == classad.KindUndefined || v.Kind() == classad.KindError {
			return Assignment{}, fmt.Errorf("%s: %s is %s", submitfile.Shorten(name), submitfile.Shorten(text), v)
		}
		e = classad.Literal(v)
	}
	return Assignment{name, e}, CheckEdit(name, e, false)
}

// firstWord parts a text behind its first word.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}
