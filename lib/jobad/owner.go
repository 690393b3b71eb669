package jobad

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"fairspool/lib/accountant"
)

// longestOwner is how many characters an owner's name may have, and their domain.
const longestOwner = 64

var (
	ownerName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`) })
	domainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`) })
)

// CheckOwner refuses names that no owner of jobs can have, because commands or the accounting would take them for
// something else. A user of another pool has its domain behind an @. niceGroup and groups are as Options have them.
func CheckOwner(name, niceGroup string, groups *accountant.Groups) error {
	user, domain, foreign := strings.Cut(name, "@")
	group, _, dotted := strings.Cut(user, ".")
	_, taken := groups.Find(user)
	switch {
	case user == "":
		return errors.New("want a name")
	case foreign && (len(domain) > longestOwner || !domainName().MatchString(domain)):
		return errors.New("want a domain of letters, digits, _, . and - behind the @")
	case user[0] >= '0' && user[0] <= '9':
		return errors.New("begins with a digit, like the number of a cluster")
	case !ownerName().MatchString(user):
		return errors.New("want letters, digits, _, . and -, the first a letter or _")
	case len(user) > longestOwner:
		return fmt.Errorf("%d characters, at most %d", len(user), longestOwner)
	case taken:
		return errors.New("is the name of an accounting group")
	case groups.OfUser(user).Name != accountant.RootGroup:
		return fmt.Errorf("begins with the name of the accounting group %s: its jobs would count there", groups.OfUser(user).Name)
	case dotted && strings.EqualFold(group, niceGroup):
		return fmt.Errorf("begins with %s., as nice users do: write nice_user = true into the description instead", group)
	}
	return nil
}

// user returns the owner without the domain of another pool.
func (o Options) user() string {
	user, _, _ := strings.Cut(o.Owner, "@")
	return user
}
