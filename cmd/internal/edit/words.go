package edit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
)

// The largest that may be set by hand.
const (
	// MaxPriority keeps every product of a priority and a factor in the range
	// of numbers.
	MaxPriority = 1e100
	MaxLimit    = 1e12         // units of slot weight, a million times the largest slot's
	MaxUsage    = 9e15         // seconds, nearly what a Usage holds
	MaxTime     = 253402300799 // the last second of the year 9999
	maxSpan     = 100 * 366 * 86400
)

// quantity is a kind of number that is given to an edit.
type quantity struct {
	least, most float64
	whole       bool
}

// span is how long a lease may be, in seconds.
var span = quantity{least: 1, most: maxSpan, whole: true}

// read reads a decimal number.
func (q quantity) read(text string) (Given, error) {
	v := Given{text: text}
	var err error
	v.x, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v.x) || math.IsInf(v.x, 0) || strings.Trim(text, "+-.0123456789eE") != "" {
		return v, fmt.Errorf("%q: not a number", text)
	}
	if v.x == 0 {
		v.x = 0 // and not -0
	}
	kind := "number"
	if q.whole {
		kind = "whole number"
		v.n, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || v.x < q.least || v.x > q.most {
		return v, fmt.Errorf("%s: want a %s from %s to %s", text, kind, bound(q.least), bound(q.most))
	}
	return v, nil
}

func bound(x float64) string {
	if math.Abs(x) < 1e13 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// editable refuses names that the edit of this flag cannot be for. A record with
// a bad name can go, but not come.
func editable(name, flag string, creates bool) error {
	if flag == "delete" && !strings.Contains(name, "@") && name != "" {
		return nil
	}
	if err := fullName(name); err != nil {
		return err
	}
	user, _ := Apart(name)
	switch {
	case !creates:
		return nil
	case strings.Count(name, "@") > 1:
		return fmt.Errorf("%q: want the full name of a submitter, with one @", name)
	case strings.HasPrefix(user, ".") || strings.HasSuffix(user, ".") || strings.Contains(user, ".."):
		return fmt.Errorf("%q: want a name on either side of a dot: group.user@uid.domain", name)
	case strings.EqualFold(user, accountant.RootGroup):
		return fmt.Errorf("%q: %s is the group of those who are in none", name, accountant.RootGroup)
	}
	return nil
}

// fullName refuses what cannot be a submitter's name.
func fullName(name string) error {
	at := strings.LastIndexByte(name, '@')
	if at < 1 || at == len(name)-1 {
		return errFullName(name)
	}
	if !accountant.NamesSubmitter(name) {
		return fmt.Errorf("%q: blanks, quotes or characters that cannot be seen in a submitter's name", name)
	}
	return nil
}

func errFullName(name string) error {
	return fmt.Errorf("%q: want the full name of a submitter, user@uid.domain", name)
}

// RecordName refuses what cannot be the name of any record.
func RecordName(name string) error {
	if strings.Contains(name, "@") || name == "" {
		return fullName(name)
	}
	if name == accountant.RootGroup {
		return nil
	}
	return accountant.CheckGroupName(name)
}

// Number reads a decimal number from least up.
func Number(text string, least float64) (float64, error) {
	v, err := quantity{least: least, most: MaxPriority}.read(text)
	return v.x, err
}
