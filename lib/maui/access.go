package maui

import "slices"

// givers are the kinds of credentials that give access to those of another kind, in the order in
// which they are asked for a default one.
var givers = [Kinds][]Kind{QOS: {User, Group, Account, Class}, Account: {User, Group}, Class: {User, Group, Account}}

// list returns what a credential says of those of a kind.
func (c *Credential) list(of Kind) List {
	switch of {
	case QOS:
		return List{c.QList, c.QListMode, c.QDef}
	case Account:
		return c.Accounts
	case Class:
		return c.Classes
	}
	return List{}
}

// list returns what the credential of a kind and name says of those of another kind.
func (c *Config) list(k Kind, name string, of Kind) List {
	entry := c.Credentials[k][name]
	return entry.list(of)
}

// access is which credentials of a kind a job may have.
type access struct {
	lists    []List
	defaults []string // a default counts as access, too (observed of QDEF)
}

// access returns what the credentials of a job give of a kind: of each kind that gives, its own
// list, or else that of its DEFAULT; and likewise the default. (Maui's manual, 7.3, and its program.)
func (c *Config) access(n names, of Kind) (a access) {
	for _, k := range givers[of] {
		l, all := c.list(k, n.of(k), of), c.list(k, DefaultName, of)
		if len(l.Names) == 0 {
			l.Names, l.Mode = all.Names, all.Mode
		}
		if l.Default == "" {
			l.Default = all.Default
		}
		if l.Default != "" {
			a.defaults = append(a.defaults, l.Default)
		}
		if len(l.Names) > 0 {
			a.lists = append(a.lists, l)
		}
	}
	return a
}

// to tells whether there is access to a name. An exclusive list (^) decides alone, the first
// one if there are several. A list with & takes away what it does not have. Of the others
// one is enough; if there are none, those with & give what they all have.
func (a access) to(name string) bool {
	open, plain, given := true, false, slices.Contains(a.defaults, name)
	for _, l := range a.lists {
		has := l.Default == name || slices.Contains(l.Names, name)
		switch l.Mode {
		case '^':
			return has
		case '&':
			open = open && has
		default:
			plain, given = true, given || has
		}
	}
	return open && (given || !plain && len(a.lists) > 0)
}

// given returns the first default of a kind that the credentials of a job give and that there is
// access to, each credential's own before that of its kind's DEFAULT; empty without one.
func (c *Config) given(n names, of Kind) string {
	a := c.access(n, of)
	for _, k := range givers[of] {
		for _, name := range [...]string{n.of(k), DefaultName} {
			if d := c.list(k, name, of).Default; d != "" && a.to(d) {
				return d
			}
		}
	}
	return ""
}

// Names are what a job is charged to, by name; empty: none.
type Names struct{ User, Group, Account, QOS, Class string }

func (n Names) names() names { return names{n.User, n.Group, n.Account, n.QOS, n.Class} }

// DefaultOf returns the account (ADEF) or class (CDEF) of a job that names none; empty: none.
func (c *Config) DefaultOf(kind Kind, n Names) string { return c.given(n.names(), kind) }

// MayHave reports whether a job may have the QOS, account or class that it names. There has to be
// access to a QOS. To an account or class there is where the job's lists have it, or, for a job
// without a list, where no list names it and it is no other job's default: Maui asks nothing of
// names that nobody has listed.
func (c *Config) MayHave(kind Kind, n Names) bool {
	name := n.names().of(kind)
	if kind == QOS {
		_, refused := c.qosOf(n.names())
		return !refused
	}
	a := c.access(n.names(), kind)
	return a.to(name) || len(a.lists) == 0 && !c.listed(kind, name)
}

// listed reports whether a credential lists a name of a kind, or has it as its default.
func (c *Config) listed(kind Kind, name string) bool {
	for _, k := range givers[kind] {
		for _, entry := range c.Credentials[k] {
			if l := entry.list(kind); l.Default == name || slices.Contains(l.Names, name) {
				return true
			}
		}
	}
	return false
}
