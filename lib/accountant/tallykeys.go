package accountant

import (
	"cmp"
	"math"
	"strings"
)

// Credentials are what other policies than the submitter's RUP reckon by, and
// what of the job they reckon with. An empty text is none.
type Credentials struct {
	User    string // the job's Owner
	Group   string // UnixGroup
	Account string // AcctGroup
	QOS     string // QOS
	Class   string // Class
	Project string // Project
	Cpus    int64  // processors that the job occupies, RequestCpus
	// PE is its processor equivalents (Maui's manual, PE), 0 and more: how many
	// processors of the pool it occupies by what it takes most of. 0: not known, then
	// the processors count.
	PE float64
}

// load is what one claim counts, or several, or below zero what they no longer do:
// processors, and processor equivalents in thousandths.
type load struct {
	cpus int64
	pe   Weight
}

// load returns what a claim counts. A job may ask for any number: each is at most
// what MaxWeight is for the weight of a slot. Of equivalents that are known there is
// at least a thousandth.
func (c Credentials) load() load {
	l := load{cpus: min(max(c.Cpus, 0), int64(MaxWeight/One))}
	if l.pe = EquivalentsOf(l.cpus); c.PE > 0 {
		l.pe = max(Weight(math.Round(min(c.PE, float64(MaxWeight/One))*float64(One))), 1)
	}
	return l
}

// EquivalentsOf returns the processor equivalents, in thousandths, of processors of
// which nothing else is known: as many.
func EquivalentsOf(cpus int64) Weight {
	return Weight(min(max(cpus, 0), math.MaxInt64/int64(One))) * One
}

func (l load) negative() load { return load{-l.cpus, -l.pe} }

// Key says whose tally it is: a Kind, one of those below, and the name of one
// of that kind.
type Key struct{ Kind, Name string }

// Compare orders keys by kind, then name.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Kind, o.Kind), strings.Compare(k.Name, o.Name))
}

// The kinds that Maui's policy reckons by, in its own words.
const (
	KindTotal   = "total" // of all jobs; its only name is TotalName
	KindUser    = "user"
	KindGroup   = "group"
	KindAccount = "acct"
	KindQOS     = "qos"
	KindClass   = "class"
)

// The kinds that Grid Engine's policy reckons by. A user's jobs with a project
// count for that project and not for the user's own.
const (
	KindOwn     = "own"     // a user's jobs without a project
	KindProject = "project" // all jobs of a project
	KindWithin  = "within"  // a user's jobs in one project; see Within
)

// TotalName is the name of the one tally of KindTotal.
const TotalName = "all"

// WindowedKinds returns the kinds that have windows, in the order in which they
// are shown.
func WindowedKinds() []string {
	return []string{KindTotal, KindUser, KindGroup, KindAccount, KindQOS, KindClass}
}

// Windowed tells whether tallies of the key have windows, for Maui's policy;
// those of others have decayed usage, for Grid Engine's.
func (k Key) Windowed() bool {
	switch k.Kind {
	case KindTotal, KindUser, KindGroup, KindAccount, KindQOS, KindClass:
		return true
	}
	return false
}

// A slash stands between user and project. One in the name of either is written
// %2F, so that no two pairs have the same name.
var (
	escape   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescape = strings.NewReplacer("%25", "%", "%2F", "/")
)

// Within returns the key of a user's jobs in one project.
func Within(user, project string) Key {
	return Key{KindWithin, escape.Replace(user) + "/" + escape.Replace(project)}
}

// UserProject returns the user and the project that a key of Grid Engine's kinds
// stands for; empty where it is not of one.
func (k Key) UserProject() (user, project string) {
	switch k.Kind {
	case KindOwn:
		return k.Name, ""
	case KindProject:
		return "", k.Name
	case KindWithin:
		u, p, _ := strings.Cut(k.Name, "/")
		return unescape.Replace(u), unescape.Replace(p)
	}
	return "", ""
}

// keys returns what a claim counts under. One without a user, which is of no job
// of this pool, counts nowhere.
func (c Credentials) keys() []Key {
	if c.User == "" {
		return nil
	}
	keys := make([]Key, 0, 8)
	keys = append(keys, Key{KindTotal, TotalName}, Key{KindUser, c.User})
	for _, k := range [...]Key{{KindGroup, c.Group}, {KindAccount, c.Account}, {KindQOS, c.QOS}, {KindClass, c.Class}} {
		if k.Name != "" {
			keys = append(keys, k)
		}
	}
	if c.Project == "" {
		return append(keys, Key{KindOwn, c.User})
	}
	return append(keys, Key{KindProject, c.Project}, Within(c.User, c.Project))
}
