package edit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/report/accounts"
)

// maxSpan is how long a lease may be, in seconds.
const maxSpan = 100 * 366 * 86400

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
	if err := accountant.FullName(name); err != nil {
		return err
	}
	user, _ := accountant.Apart(name)
	switch {
	case !creates:
		return nil
	case strings.Count(name, "@") > 1:
		return fmt.Errorf("%q: want the full name of a submitter, with one @", name)
	case strings.HasPrefix(user, ".") || strings.HasSuffix(user, ".") || strings.Contains(user, ".."):
		return fmt.Errorf("%q: want a name on either side of a dot: group.user@uid.domain", name)
	case strings.EqualFold(user, accountant.RootGroup):
		return fmt.Errorf("%q: %s is the group of submitters without a group", name, accountant.RootGroup)
	}
	return nil
}

// Number reads a decimal number from least up.
func Number(text string, least float64) (float64, error) {
	v, err := quantity{least: least, most: accountant.MaxPriority}.read(text)
	return v.x, err
}

// stranger returns what Unknown does, with what to do if the name is right. Of a name in
// another domain than the pool's, the same user in the pool's is meant.
func stranger(name, domain string, records []accountant.Record) error {
	user, _ := accountant.Apart(name)
	here := user + "@" + domain
	if here != name && slices.ContainsFunc(records, func(r accountant.Record) bool { return r.Name == here }) {
		return fmt.Errorf("%s: no such submitter; did you mean %s? -create makes a new one", name, here)
	}
	err := accounts.Unknown(name, records)
	if strings.HasSuffix(err.Error(), "?") {
		return fmt.Errorf("%w -create makes a new one", err)
	}
	if here != name {
		return fmt.Errorf("%w, and names of the pool end in @%s; -create makes a new one", err, domain)
	}
	return fmt.Errorf("%w; -create makes a new one", err)
}
