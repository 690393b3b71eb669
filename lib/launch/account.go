package launch

import (
	"fmt"
	"os"
	"strconv"

	"fairspool/lib/asuser"
)

// Account is the user that a job runs as.
type Account struct {
	Name string // USER and LOGNAME
	Home string // HOME
	// UID, GID and Groups are the ids of the user, its group and its further groups.
	UID, GID int
	Groups   []int
	Shell    string
	limits   []Rlimit // what the machine's administrator sets for it
	priority int      // the nice value that goes with them
}

// Other reports whether a job of this account has other rights than this process: only
// root can give it such.
func (a Account) Other() bool { return asuser.Privileged() && a.UID != 0 }

func (a Account) user() asuser.User {
	return asuser.User{Name: a.Name, UID: a.UID, GID: a.GID, Groups: a.Groups}
}

// As runs fn with the account's rights to files. It must do its work itself, for
// goroutines that it starts would not have them. When the rights cannot be had the
// error is a *StartError.
func (a Account) As(fn func() error) error {
	if !a.Other() {
		return fn()
	}
	done := false
	err := a.user().Do(func() error {
		done = true
		return fn()
	})
	if !done {
		return &StartError{Reason: err.Error()}
	}
	return err
}

// CurrentAccount returns the account of this process. A uid without an entry
// in the user database goes by its number and lives in /.
func CurrentAccount() Account {
	uid := os.Getuid()
	a := Account{Name: strconv.Itoa(uid), Home: "/", UID: uid, GID: os.Getgid()}
	a.Groups, _ = os.Getgroups()
	if u, known, err := asuser.LookUpID(uid); known && err == nil {
		a.Name, a.Home, a.Shell = u.Name, u.Home, u.Shell
	}
	return a
}

// AccountOf returns the account that a job of an owner runs as. Of root that is the
// owner's, with the limits of limits.conf(5), and for an owner whom the machine does not
// know that of the user nobody (NOBODY_SLOT_USER), if one is named; root's it is for root's
// own jobs alone. Others can run jobs only as themselves. A root who serves the account that the
// spool belongs to runs no job of that account, of root's, or of other system accounts. The error is
// a *StartError, which is Passing when a user could not be looked up just now.
func AccountOf(owner, nobody string) (Account, error) {
	if !asuser.Privileged() {
		return CurrentAccount(), nil
	}
	u, known, err := asuser.LookUp(owner)
	switch {
	case err != nil:
		return Account{}, &StartError{Reason: fmt.Sprintf("owner %s: %v", owner, err), Passing: true}
	case !known && nobody == "":
		return Account{}, refuse("owner %q: this machine knows no such user, and NOBODY_SLOT_USER names none to run its jobs", owner)
	case !known:
		if u, err = standIn(nobody); err != nil {
			return Account{}, err
		}
	}
	if why := asuser.Refusal(u); why != "" {
		return Account{}, refuse("owner %s: %s", u.Name, why)
	}
	return accountOf(u), nil
}

// standIn returns the user who runs the jobs of those that the machine does not know.
func standIn(nobody string) (asuser.User, error) {
	u, known, err := asuser.LookUp(nobody)
	switch {
	case err != nil:
		return u, &StartError{Reason: fmt.Sprintf("NOBODY_SLOT_USER: %s: %v", nobody, err), Passing: true}
	case !known:
		return u, refuse("NOBODY_SLOT_USER: this machine knows no user %q", nobody)
	case u.UID == 0:
		return u, refuse("NOBODY_SLOT_USER: %q has root's rights, which are for root's own jobs", nobody)
	}
	return u, nil
}

func refuse(format string, args ...any) *StartError {
	return &StartError{Reason: fmt.Sprintf(format, args...)}
}

// accountOf returns a user's account.
func accountOf(u asuser.User) Account {
	a := Account{Name: u.Name, Home: u.Home, Shell: u.Shell, UID: u.UID, GID: u.GID, Groups: u.Groups}
	if a.Other() {
		a.limits, a.priority = conf{a, asuser.GroupID}.limits(confTexts())
	}
	return a
}
