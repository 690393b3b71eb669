package edit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/nearest"
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

// Unknown returns the error for a name that no submitter has, with the one
// that was probably meant. Most submitters of a pool share their domain, so
// whole names resemble each other too much: of names in the domain that was
// written the part before the @ has to be near, of others the domain.
func Unknown(name string, records []accountant.Record) error {
	user, domain := Apart(name)
	var users, domains []string
	for _, r := range records {
		u, d := Apart(r.Name)
		switch {
		case d == domain || !strings.Contains(name, "@"):
			users = append(users, u)
		case u == user:
			domains = append(domains, d)
		}
	}
	hint := ""
	if member := memberCalled(name, records); member != "" {
		hint = member
	} else if u, ok := nearest.Name(user, users); ok {
		hint = u + name[len(user):]
	} else if d, ok := nearest.Name(domain, domains); ok {
		hint = user + "@" + d
	}
	if hint == "" {
		return fmt.Errorf("%s: no such submitter", name)
	}
	return fmt.Errorf("%s: no such submitter; did you mean %s?", name, hint)
}

// stranger returns what Unknown does, with what to do if the name is right. Of a name in
// another domain than the pool's, the same user in the pool's is meant.
func stranger(name, domain string, records []accountant.Record) error {
	user, _ := Apart(name)
	here := user + "@" + domain
	if here != name && slices.ContainsFunc(records, func(r accountant.Record) bool { return r.Name == here }) {
		return fmt.Errorf("%s: no such submitter; did you mean %s? -create makes a new one", name, here)
	}
	err := Unknown(name, records)
	if strings.HasSuffix(err.Error(), "?") {
		return fmt.Errorf("%w -create makes a new one", err)
	}
	if here != name {
		return fmt.Errorf("%w, and names of the pool end in @%s; -create makes a new one", err, domain)
	}
	return fmt.Errorf("%w; -create makes a new one", err)
}

// memberCalled returns the first member of a group whose name without that of the
// group, as listings of groups have it, is name; empty for none.
func memberCalled(name string, records []accountant.Record) string {
	for _, r := range records {
		if end := GroupEnd(r.Name); end > 0 && Named(r.Name[end+1:], name) {
			return r.Name
		}
	}
	return ""
}

// Apart returns what stands before and behind the @ of a submitter's name.
func Apart(name string) (user, domain string) {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// Named reports whether a submitter is the one that the user of the command
// calls name: the full name, or what stands before the @. The case of a group's
// name, before the last dot, does not count.
func Named(submitter, name string) bool {
	if !strings.Contains(name, "@") {
		submitter, _ = Apart(submitter)
	}
	if submitter == name {
		return true
	}
	a, b := GroupEnd(submitter), GroupEnd(name)
	return a > 0 && b > 0 && submitter[a:] == name[b:] && strings.EqualFold(submitter[:a], name[:b])
}

// GroupEnd returns where the name of the group ends that a submitter's name begins
// with, 0 if it has none.
func GroupEnd(name string) int {
	user, _ := Apart(name)
	return max(strings.LastIndexByte(user, '.'), 0)
}
