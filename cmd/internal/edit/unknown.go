package edit

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/nearest"
)

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
