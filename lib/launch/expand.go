package launch

import (
	"fmt"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// Found is an attribute that an expansion adds to the ad of a job, so that the ad shows
// what the job was started with: MATCH_EXP_X is the expanded X, and MATCH_Y the slot's
// value of Y.
type Found struct {
	Name string
	Expr *classad.Expr
}

const (
	matchPrefix    = "MATCH_"
	matchExpPrefix = "MATCH_EXP_"
)

// Expand returns the ad of a job with the references to the slot in its strings replaced, and
// the values found, by name. A reference is $$(Name) or $$(Name:otherwise), for the slot's
// attribute Name; $$([expression]), with the job as MY and the slot as TARGET; or
// $$(DOLLARDOLLAR) for $$. Inserted text is not expanded again. $$(CondorScratchDir) in
// arguments and environment stays, and FromAd puts the scratch directory there. The job's ad
// is not changed; without references it is returned itself. slot may be nil for a slot without
// attributes. The error names the attribute with a reference that has no value for this slot,
// or with one reference more than an ad may have.
//
// Value evaluates the expression of a reference, with ad as MY and the slot's as TARGET.
//
// Names and rules are those of HTCondor, manual of condor_submit, "Substitution
// from a machine ClassAd".
func Expand(ad, slot *classad.Ad, value func(e *classad.Expr) classad.Value) (*classad.Ad, []Found, error) {
	if slot == nil {
		slot = classad.New()
	}
	out := ad
	x := expansion{slot: slot, eval: value, told: map[string]bool{}}
	for _, name := range ad.Names() {
		if len(name) >= len(matchPrefix) && strings.EqualFold(name[:len(matchPrefix)], matchPrefix) {
			continue // of an earlier start
		}
		text, ok := constant(ad, name)
		if !ok || !strings.Contains(text, "$$") {
			continue
		}
		if strings.EqualFold(name, pool.AttrCmd) {
			text = olderSpelling(text)
		}
		x.out, x.any, x.late = strings.Builder{}, false, isLate(name)
		if err := x.run(text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if !x.any {
			continue
		}
		if out == ad {
			out = ad.Clone()
		}
		out.SetString(name, x.out.String())
		if strings.EqualFold(name, pool.AttrBatchScript) {
			continue // the whole text is shown only once
		}
		x.found = append(x.found, Found{matchExpPrefix + name, classad.Literal(classad.String(x.out.String()))})
	}
	return out, x.found, nil
}

// constant returns an attribute that is a string as it stands.
func constant(ad *classad.Ad, name string) (string, bool) {
	e, ok := ad.Lookup(name)
	if !ok {
		return "", false
	}
	v, ok := e.Constant()
	if !ok {
		return "", false
	}
	return v.Text()
}

// olderSpelling returns the name of an executable with the ending of the oldest versions
// replaced by its present spelling.
func olderSpelling(text string) string {
	const old, today = "$$OPSYS.$$ARCH", "$$(OPSYS).$$(ARCH)"
	if n := len(text) - len(old); n >= 0 && strings.EqualFold(text[n:], old) {
		return text[:n] + today
	}
	return text
}

// Bounds on what one ad may refer to: other users' commands wait meanwhile.
const (
	mostWork       = 10_000  // references
	expressionWork = 99      // for so many more of them an expression counts
	mostPutIn      = 4 << 20 // bytes
)

// expansion is the expansion of the texts of one ad.
type expansion struct {
	slot  *classad.Ad
	eval  func(e *classad.Expr) classad.Value
	found []Found
	told  map[string]bool // names of the slot's attributes in found, in lower case
	work  int
	putIn int

	out  strings.Builder // of the text under way
	any  bool            // there was a reference in it
	late bool            // the scratch directory is put in when that is known
}

// isLate reports whether an attribute is one of arguments and environment, in which
// $$(CondorScratchDir) stays for FromAd.
func isLate(name string) bool {
	for _, late := range []string{pool.AttrArgs, pool.AttrArguments, pool.AttrEnv, pool.AttrEnvironment} {
		if strings.EqualFold(name, late) {
			return true
		}
	}
	return false
}

func (x *expansion) run(text string) error {
	for {
		before, rest, ok := strings.Cut(text, "$$(")
		x.out.WriteString(before)
		if !ok {
			return nil
		}
		end, open := extent(rest)
		if open {
			x.out.WriteString("$$(" + rest) // nothing behind that can be one either
			return nil
		}
		if end < 0 {
			x.out.WriteString("$$(")
			text = rest
			continue
		}
		x.any = true
		value, err := x.value(rest[:end])
		if err != nil {
			return err
		}
		x.out.WriteString(value)
		if x.putIn += len(value); x.putIn > mostPutIn {
			return fmt.Errorf("cannot expand $$(): more than %d bytes put in", mostPutIn)
		}
		text = rest[end+1:]
	}
}

// extent returns where the reference ends whose inside text begins with: at the
// parenthesis that closes it, or -1 if the text has neither a name nor an expression.
// open: nothing closes it.
func extent(text string) (end int, open bool) {
	name := 0
	for name < len(text) && isNameByte(text[name]) {
		name++
	}
	switch {
	case strings.HasPrefix(text, "["):
		end = closing(text, true)
	case name == 0 || name < len(text) && text[name] != ')' && text[name] != ':':
		return -1, false
	default:
		end = closing(text, false)
	}
	return end, end < 0
}

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// closing returns where the parenthesis stands that closes an open one before
// text, -1 if none does. In an expression those in strings do not count.
func closing(text string, expression bool) int {
	depth, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case expression && c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// value returns what stands for a reference.
func (x *expansion) value(inside string) (string, error) {
	text, isExpression := strings.CutPrefix(inside, "[")
	if isExpression = isExpression && strings.HasSuffix(text, "]"); isExpression {
		x.work += expressionWork
	}
	switch x.work++; {
	case x.work > mostWork:
		return "", fmt.Errorf("cannot expand $$(): more than %d references in one ad, or %d expressions", mostWork, mostWork/(1+expressionWork))
	case isExpression:
		return x.expression(strings.TrimSuffix(text, "]"))
	}
	name, otherwise, given := strings.Cut(inside, ":")
	if strings.EqualFold(name, "DOLLARDOLLAR") {
		return "$$", nil
	}
	if x.late && strings.EqualFold(inside, scratchReference) {
		return "$$(" + scratchReference + ")", nil
	}
	if e, ok := x.slot.Lookup(name); ok {
		if key := strings.ToLower(name); !x.told[key] {
			x.told[key] = true
			x.found = append(x.found, Found{matchPrefix + name, e})
		}
		if v, ok := e.Constant(); ok {
			if text, ok := v.Text(); ok {
				return text, nil
			}
		}
		return e.String(), nil
	}
	if !given {
		return "", fmt.Errorf("cannot expand $$(%s): the slot has no such attribute", name)
	}
	if n := len(otherwise); n >= 2 && otherwise[0] == '"' && otherwise[n-1] == '"' {
		otherwise = otherwise[1 : n-1]
	}
	return otherwise, nil
}

// expression returns the value of an expression, as the function string makes it.
func (x *expansion) expression(text string) (string, error) {
	e, err := classad.ParseExpr("string(" + text + ")")
	if err != nil {
		return "", fmt.Errorf("cannot expand $$([%s]): it is no expression", text)
	}
	s, ok := x.eval(e).Text()
	if !ok {
		return "", fmt.Errorf("cannot expand $$([%s]): it has no value with this slot", text)
	}
	return s, nil
}
