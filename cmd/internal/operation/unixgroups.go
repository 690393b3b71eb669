package operation

import (
	"slices"
	"sync"

	"fairspool/lib/asuser"
)

// groupsOf returns what tells whether a user belongs to a Unix group of this machine. The
// user is looked up when it is asked first. Somebody whom the machine does not know belongs to
// none.
func groupsOf(name string) func(group string) (bool, error) {
	look := sync.OnceValues(func() (asuser.User, error) {
		u, known, err := asuser.LookUp(name)
		if !known {
			u = asuser.User{}
		}
		return u, err
	})
	return func(group string) (bool, error) {
		u, err := look()
		if err != nil || len(u.Groups) == 0 {
			return false, err
		}
		gid, known := asuser.GroupID(group)
		return known && slices.Contains(u.Groups, gid), nil
	}
}
