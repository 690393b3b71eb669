package maui

import "slices"

// names are what a job says of whose it is.
type names struct{ user, group, account, qos, class string }

func (j *Job) names() names { return names{j.User, j.Group, j.Account, j.QOS, j.Class} }

// of returns the name of a kind; of QOS, the one the job asks for.
func (n names) of(k Kind) string {
	return [Kinds]string{User: n.user, Group: n.group, Account: n.account, QOS: n.qos, Class: n.class}[k]
}

// givers are the kinds of credentials that give access to a QOS, in the order in which they
// are asked for a default one.
var givers = [...]Kind{User, Group, Account, Class}

// access is which QOS a job may have.
type access struct {
	lists    []qosList
	defaults []string // QDEF counts as access, too (observed)
}

// qosList is the QLIST of a credential, and the QDEF that goes with it.
type qosList struct {
	names []string
	mode  byte
	def   string
}

// access returns what the credentials of a job give: of each kind its own list, or else that
// of the kind's DEFAULT; and likewise QDEF. (Maui's manual, 7.3, and its program.)
func (c *Config) access(n names) (a access) {
	for _, k := range givers {
		entries, name := c.Credentials[k], n.of(k)
		l := qosList{entries[name].QList, entries[name].QListMode, entries[name].QDef}
		if len(l.names) == 0 {
			l.names, l.mode = entries[DefaultName].QList, entries[DefaultName].QListMode
		}
		if l.def == "" {
			l.def = entries[DefaultName].QDef
		}
		if l.def != "" {
			a.defaults = append(a.defaults, l.def)
		}
		if len(l.names) > 0 {
			a.lists = append(a.lists, l)
		}
	}
	return a
}

// to tells whether there is access to a QOS. An exclusive list (^) decides alone, the first
// one if there are several. A list with & takes away what it does not have. Of the others
// one is enough; if there are none, those with & give what they all have.
func (a access) to(qos string) bool {
	open, plain, given := true, false, slices.Contains(a.defaults, qos)
	for _, l := range a.lists {
		has := l.def == qos || slices.Contains(l.names, qos)
		switch l.mode {
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

// qosOf returns the QOS that jobs with these names go by: the one they ask for, if there is
// access to it, or else the first QDEF that there is access to, of user, group, account and
// class, each one's own before that of its kind's DEFAULT. Whoever has none goes by the QOS
// DEFAULT, which all may have. Refused says that they ask for one to which there is no
// access.
func (c *Config) qosOf(n names) (qos string, refused bool) {
	a := c.access(n)
	if n.qos != "" && (n.qos == DefaultName || a.to(n.qos)) {
		return n.qos, false
	}
	for _, k := range givers {
		for _, name := range [...]string{n.of(k), DefaultName} {
			if q := c.Credentials[k][name].QDef; q != "" && a.to(q) {
				return q, n.qos != ""
			}
		}
	}
	return DefaultName, n.qos != ""
}
