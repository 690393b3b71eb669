// Package accounts shows the accounts of submitters: it turns records and the results of a cycle into
// tables and sentences.
//
// Rows of a View (rows.go, ads.go) become a Table, in the layout of HTCondor's first manuals too (table.go,
// groups.go), or ads. One table of columns (columns.go) defines each figure for all of them.
//
// A Standing explains a submitter's place (why.go, whywords.go), and a Future predicts its EUP
// (forecast.go). Decayed, Windows and Tree are the usage by which the other policies order jobs (tally.go,
// tree.go), Edits the changes by people (log.go), and history.go shows the samples of the past.
package accounts

import (
	"fmt"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/nearest"
)

// Unknown returns the error for a name that no submitter has, with the one
// that was probably meant. Most submitters of a pool share their domain, so
// whole names resemble each other too much: of names in the domain that was
// written the part before the @ has to be near, of others the domain.
func Unknown(name string, records []accountant.Record) error {
	user, domain := accountant.Apart(name)
	var users, domains []string
	for _, r := range records {
		u, d := accountant.Apart(r.Name)
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

// memberCalled returns the first member of a group with the given name, without the
// group's name as in listings of groups; empty for none.
func memberCalled(name string, records []accountant.Record) string {
	for _, r := range records {
		if end := accountant.GroupEnd(r.Name); end > 0 && accountant.Named(r.Name[end+1:], name) {
			return r.Name
		}
	}
	return ""
}
