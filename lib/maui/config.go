package maui

import (
	"slices"
	"time"

	"fairspool/lib/accountant"
)

// Config is what Maui's parameters say of priorities. Default has what an empty
// configuration means; the zero value weighs nothing.
type Config struct {
	Components [Components]Term // SERVICEWEIGHT, SERVICEWCAP and the like
	Subs       [Subs]Term       // QUEUETIMEWEIGHT, QUEUETIMECAP and the like

	XFMinWCLimit       time.Duration // XFMINWCLIMIT: the least limit for the expansion factor; 0: none
	Accrual            Accrual       // JOBPRIOACCRUALPOLICY
	UseSystemQueueTime bool          // USESYSTEMQUEUETIME; false: a job's queue time counts from its submission
	EnableNegative     bool          // ENABLENEGJOBPRIORITY
	RejectNegative     bool          // REJECTNEGPRIOJOBS

	FSPolicy FSPolicy                // FSPOLICY
	FSRatio  bool                    // FSPOLICY with % behind it: shares are compared by their ratio
	Windows  accountant.WindowParams // FSINTERVAL, FSDEPTH, FSDECAY

	// Credentials are USERCFG, GROUPCFG, ACCOUNTCFG, QOSCFG and CLASSCFG, by name.
	Credentials [Kinds]map[string]Credential

	// Compatible says that COMPATIBILITY is "3.3.1": where Maui 3.3.1 contradicts its
	// manual, do as it does.
	Compatible bool
}

// Term is how a number enters a sum: Weight times the number, which is cut to Cap first
// if Cap is above 0.
type Term struct{ Weight, Cap int64 }

// Accrual says when the time that a job waits counts.
type Accrual uint8

// The values of JOBPRIOACCRUALPOLICY: always; while no limit on the number of idle jobs
// (MAXIJOB and the like) keeps it out; while nothing keeps it from being considered.
const (
	Always Accrual = iota
	QueuePolicy
	FullPolicy
)

// FSPolicy says what fair share counts.
type FSPolicy uint8

// The values of FSPOLICY: nothing; processors times time; processor equivalents times
// time; processor time that was used.
const (
	NoFairShare FSPolicy = iota
	DedicatedPS
	DedicatedPES
	UtilizedPS
)

// Credential is what USERCFG[NAME] and the like say.
type Credential struct {
	Priority int64 // PRIORITY; 0: what DEFAULT has

	QTWeight, XFWeight int64 // of a QOS: added to QUEUETIMEWEIGHT and XFACTORWEIGHT
	FSWeight           int64 // of a QOS: added to FSWEIGHT

	QTTarget time.Duration // QTTARGET; 0: none
	XFTarget float64       // XFTARGET; 0: none

	FSTarget float64 // FSTARGET, percent; 0: none
	FSMode   FSMode  // what stands behind it

	QDef  string   // QDEF
	QList []string // QLIST
	// QListMode is the character behind QLIST: 0, '&' (only names in this list, also of
	// other lists) or '^' (this list alone).
	QListMode byte
	Accounts  List // of a user or group: ADEF, ALIST
	Classes   List // of a user, group or account: CDEF, CLIST

	Limits    [Limits]Bound // MAXJOB and the like: for running jobs
	IdleLimit [Limits]Bound // MAXIJOB and the like: for waiting jobs that are considered
	WCLimit   time.Duration // of a class, DEFAULT.WCLIMIT: the limit of jobs that name none; 0: none
}

// List is which accounts or classes a credential gives its jobs: ALIST or CLIST, with what
// stands behind it as of a QLIST, and ADEF or CDEF.
type List struct {
	Names   []string
	Mode    byte
	Default string // empty: none
}

// FSMode says which way a fair share target counts.
type FSMode byte

// The modifiers of FSTARGET: a target counts both ways; a floor only while usage is below,
// a ceiling only while it is above. A quota in units of FSPOLICY or in percent does not
// count in priorities, but jobs beyond it are left out.
const (
	FSTarget   FSMode = 0
	FSFloor    FSMode = '+'
	FSCeiling  FSMode = '-'
	FSQuota    FSMode = '^'
	FSRelative FSMode = '%'
)

// Limit is the quantity that a limit of a credential counts.
type Limit uint8

// The limits: MAXJOB jobs, MAXPROC processors, MAXPS processor-seconds that they may still
// take, MAXPE processor equivalents, MAXNODE nodes, MAXWC seconds that they may still
// take, MAXMEM MB.
const (
	MaxJob Limit = iota
	MaxProc
	MaxPS
	MaxPE
	MaxNode
	MaxWC
	MaxMem
	Limits // how many there are
)

// Bound is a limit: Soft applies while other users could use the slots, and Hard always.
type Bound struct {
	Set        bool
	Soft, Hard float64
}

// Default returns the configuration of an empty maui.cfg, as Maui 3.3.1 has it.
func Default() Config {
	c := Config{XFMinWCLimit: 2 * time.Minute, Accrual: QueuePolicy, UseSystemQueueTime: true,
		Windows: accountant.WindowParams{Interval: accountant.DefaultInterval, Depth: accountant.DefaultDepth, Decay: 1}}
	for i := range c.Components {
		c.Components[i].Weight = 1
	}
	c.Subs[QueueTime].Weight = 1
	return c
}

// givers are the kinds of credentials that give access to those of another kind, in the order of
// precedence of their defaults.
var givers = [Kinds][]Kind{QOS: {User, Group, Account, Class}, Account: {User, Group}, Class: {User, Group, Account}}

// list returns a credential's list of a kind.
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

// list returns the list of another kind of the credential with a kind and name.
func (c *Config) list(k Kind, name string, of Kind) List {
	entry := c.Credentials[k][name]
	return entry.list(of)
}

// access is which credentials of a kind a job may have.
type access struct {
	lists    []List
	defaults []string // a default counts as access, too (observed of QDEF)
}

// access returns the lists of a kind of a job's credentials: of each kind that gives, its own list,
// or else its DEFAULT's; and likewise the default. (Maui's manual, 7.3, and its program.)
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

// to reports whether there is access to a name. An exclusive list (^) decides alone, the first
// one if there are several. A list with & excludes names that it lacks. One of the other lists
// suffices; if there are none, the names in all lists with & are accessible.
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

// given returns the first accessible default of a kind of a job's credentials, each credential's
// own before its kind's DEFAULT; empty without one.
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

// Names are the credentials that a job is charged to; empty: none.
type Names struct{ User, Group, Account, QOS, Class string }

func (n Names) names() names { return names{n.User, n.Group, n.Account, n.QOS, n.Class} }

// DefaultOf returns the account (ADEF) or class (CDEF) of a job that names none; empty: none.
func (c *Config) DefaultOf(kind Kind, n Names) string { return c.given(n.names(), kind) }

// MayHave reports whether a job may have the QOS, account or class that it names. A QOS
// needs access. An account or class must be in the job's lists or, for a job without a
// list, in no list and no other job's default: Maui asks nothing of names that are in no
// list.
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
