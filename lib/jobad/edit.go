package jobad

import (
	"fmt"
	"math"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// CheckEdit returns an error when an attribute of a job in the queue may not be set to an
// expression: it is no attribute's name, the attribute is the pool's own, or the
// value is one that submission refuses for the command of that attribute. admin is
// whether the caller is an administrator, who may change the pool's counts and QDate.
//
// An expression that is no constant is only held to what can be told without the job:
// what JobPrio, PreJobPrio1 and their like, exit codes and retries are has to be a number
// as it stands, and so have the clusters of AfterOk and AfterAny, which are watched from
// then on. Undefined takes an attribute back that a job need not have. The
// error is one line, with the name before it. A number too large for an integer has become
// another by the time it is an expression: see BeyondInteger.
func CheckEdit(name string, e *classad.Expr, admin bool) error {
	if err := checkEditName(name, admin); err != nil {
		return err
	}
	if err := checkValue(strings.ToLower(name), e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkEditName returns an error when an attribute of a job in the queue may not be set at all.
func checkEditName(name string, admin bool) error {
	if !isAttributeName(name) {
		return fmt.Errorf("%q: no name of an attribute: want letters, digits and _", submitfile.Shorten(name))
	}
	if err := refusal(name, admin); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// checkValue holds a value to what the attribute may be.
func checkValue(key string, e *classad.Expr) error {
	if fixed, ok := fixedNumbers[key]; ok {
		return fixed.check(e)
	}
	v, constant := e.Constant()
	c, known := checks()[key]
	switch {
	case !known && strings.HasPrefix(key, "request"):
		c = checkRequest
	case !known:
		return nil
	}
	if !constant && watched[key] {
		return fmt.Errorf("%s: want numbers of clusters, as in 12, 13", submitfile.Shorten(e.String()))
	}
	if !constant || v.Kind() == classad.KindUndefined && !lasting[key] {
		return nil
	}
	if v.Kind() == classad.KindUndefined || v.Kind() == classad.KindError {
		return fmt.Errorf("%s: want a value", v)
	}
	return c(v)
}

// lasting are the attributes that every job has.
var lasting = map[string]bool{
	"requirements": true, "rank": true, "cmd": true, "iwd": true, "in": true, "out": true, "err": true,
	"jobnotification": true,
}

// watched are those whose clusters are looked up as the change is made.
var watched = map[string]bool{"afterok": true, "afterany": true}

// number is an attribute that has to be a whole number as it stands.
type number struct {
	least, most int64
	optional    bool   // undefined takes it back
	what        string // it is; empty: nothing in particular
}

var (
	priority = number{math.MinInt32, math.MaxInt32, true, ""}
	exitCode = number{math.MinInt32, math.MaxInt32, true, ""}
	count    = number{0, math.MaxInt64, true, ""}
	shares   = number{0, sge.MostShares, true, ""}
)

// fixedNumbers are those that the pool reads without evaluating what the job says beside.
var fixedNumbers = map[string]number{
	"jobprio":     {math.MinInt32, math.MaxInt32, false, ""},
	"prejobprio1": priority, "prejobprio2": priority, "postjobprio1": priority, "postjobprio2": priority,
	"jobmaxretries": {0, math.MaxInt32, true, ""}, "jobsuccessexitcode": exitCode,
	"eligiblesince": count, "bypasscount": count,
	"jobshare": shares, "overridetickets": shares, "deadline": {0, LastDeadline, true, "Unix seconds, for which prio -dl reads a time: "},
}

func (n number) check(e *classad.Expr) error {
	if c, constant := e.Constant(); n.optional && constant && c.Kind() == classad.KindUndefined {
		return nil
	}
	_, others := classad.References(e, classad.New())
	clock, chance := classad.Varies(e, nil, nil)
	x, isInt := e.Eval(&classad.Context{}, classad.New(), nil).Int()
	switch {
	case isInt && x >= n.least && x <= n.most && len(others) == 0 && !clock && !chance:
		return nil
	case n.most == math.MaxInt64:
		return fmt.Errorf("%s: want a whole number from %d up", submitfile.Shorten(e.String()), n.least)
	}
	return fmt.Errorf("%s: want %sa whole number from %d to %d", submitfile.Shorten(e.String()), n.what, n.least, n.most)
}
