package main

import (
	"fmt"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/nearest"
)

// unknown returns the error for a name that no submitter has, with the one
// that was probably meant. Most submitters of a pool share their domain, so
// whole names resemble each other too much: of names in the domain that was
// written the part before the @ has to be near, of others the domain.
func unknown(name string, records []accountant.Record) error {
	user, domain := apart(name)
	var users, domains []string
	for _, r := range records {
		u, d := apart(r.Name)
		switch {
		case d == domain || !strings.Contains(name, "@"):
			users = append(users, u)
		case u == user:
			domains = append(domains, d)
		}
	}
	hint := ""
	if u, ok := nearest.Name(user, users); ok {
		hint = u + name[len(user):]
	} else if d, ok := nearest.Name(domain, domains); ok {
		hint = user + "@" + d
	}
	if hint == "" {
		return fmt.Errorf("%s: no such submitter", name)
	}
	return fmt.Errorf("%s: no such submitter; did you mean %s?", name, hint)
}

// apart returns what stands before and behind the @ of a submitter's name.
func apart(name string) (user, domain string) {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}
