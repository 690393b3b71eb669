package sge

import (
	"slices"
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// userLimit is maxujobs: how many jobs of each user may have claims. Those that are suspended
// count, too. Jobs that say no user are not limited. There are no soft limits.
type userLimit struct {
	most   int
	users  []string       // by kind
	kindOf map[string]int // of users
	used   []int          // by kind
	eval   *classad.Context
}

var _ jobprio.Limits = (*userLimit)(nil)

// newUserLimit returns maxujobs with what runs already.
func newUserLimit(most int, running []jobprio.Running) *userLimit {
	l := &userLimit{most: most, kindOf: map[string]int{}, eval: &classad.Context{}}
	for _, r := range running {
		l.Take(l.Kind(r.Run))
	}
	return l
}

// Attributes are the names of what tells users apart.
func (l *userLimit) Attributes() []string { return []string{pool.AttrOwner} }

// Kind returns the number of a job's user.
func (l *userLimit) Kind(r jobprio.Run) int {
	user, _ := r.Ad.EvalString(l.eval, pool.AttrOwner)
	kind, known := l.kindOf[user]
	if !known {
		kind = len(l.users)
		l.kindOf[user] = kind
		l.users, l.used = append(l.users, user), append(l.used, 0)
	}
	return kind
}

// Refuses says that a user has as many jobs as anybody may have, such as "maxujobs 5 of user
// alice: 5 in use"; empty: it has fewer.
func (l *userLimit) Refuses(kind int, _ bool) string {
	if l.admits(kind, 0) {
		return ""
	}
	return "maxujobs " + strconv.Itoa(l.most) + " of user " + l.users[kind] + ": " + strconv.Itoa(l.used[kind]) + " in use"
}

// Admits says whether a user may have one more job when some have ended, whose users are given.
func (l *userLimit) Admits(kind int, ended []int, _ bool) bool {
	own := len(ended) - len(slices.DeleteFunc(slices.Clone(ended), func(k int) bool { return k == kind }))
	return l.admits(kind, own)
}

func (l *userLimit) admits(kind, ended int) bool {
	return l.users[kind] == "" || l.used[kind]-ended < l.most
}

// Take counts one more job of a user.
func (l *userLimit) Take(kind int) { l.used[kind]++ }

// Lasting says that a user's job may follow another of its own without asking.
func (l *userLimit) Lasting(int) bool { return true }
