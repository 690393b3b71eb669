package asuser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// User is a user of this machine.
type User struct {
	Name, Home, Shell string
	UID, GID          int
	Groups            []int // all of them, the first included
}

// The files that users and groups stand in.
const (
	passwdFile = "/etc/passwd"
	groupFile  = "/etc/group"
)

// patience is how long a directory of users may take to answer.
const patience = 10 * time.Second

// LookUp returns the user of that name; false if this machine does not know the user. An
// error means that a directory of users could not be asked: the user is unknown for now,
// and nothing must be done for it as root.
//
// The groups of a user in /etc/passwd are those of /etc/group alone.
func LookUp(name string) (u User, known bool, err error) {
	if !isName(name) {
		return u, false, nil
	}
	return find(name, func(u User) bool { return u.Name == name })
}

// LookUpID returns the user with a uid, as LookUp does.
func LookUpID(uid int) (u User, known bool, err error) {
	return find(strconv.Itoa(uid), func(u User) bool { return u.UID == uid })
}

// isName refuses a text that cannot be the name of a user or group, or that a command
// would take for an option.
func isName(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsAny(name, ":,/\n\x00")
}

// find returns the user that is meant by key.
func find(key string, meant func(User) bool) (User, bool, error) {
	text, err := os.ReadFile(passwdFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return User{}, true, err
	}
	if u, ok := entry(text, meant); ok {
		u.Groups, err = localGroups(u)
		return u, true, err
	}
	text, err = ask("getent", "passwd", key)
	if err != nil {
		return User{}, true, err
	}
	u, ok := entry(text, meant)
	if !ok {
		return User{}, false, nil
	}
	text, err = ask("id", "-G", u.Name)
	if err != nil {
		return u, true, err
	}
	u.Groups = []int{u.GID}
	for _, word := range strings.Fields(string(text)) {
		if gid, ok := number(word); ok && !slices.Contains(u.Groups, gid) {
			u.Groups = append(u.Groups, gid)
		}
	}
	return u, true, nil
}

// entry returns the first user in the text of a passwd(5) file that is meant.
func entry(text []byte, meant func(User) bool) (User, bool) {
	for line := range bytes.Lines(text) {
		f := strings.Split(strings.TrimRight(string(line), "\n"), ":")
		if len(f) != 7 || !isName(f[0]) {
			continue
		}
		uid, ok1 := number(f[2])
		gid, ok2 := number(f[3])
		u := User{Name: f[0], Home: f[5], Shell: f[6], UID: uid, GID: gid}
		if ok1 && ok2 && meant(u) {
			return u, true
		}
	}
	return User{}, false
}

// localGroups returns the groups that a user has by /etc/group.
func localGroups(u User) ([]int, error) {
	text, err := os.ReadFile(groupFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return groupsIn(text, u), nil
}

// groupsIn returns the groups that a user has by the text of a group(5) file.
func groupsIn(text []byte, u User) []int {
	groups := []int{u.GID}
	for line := range bytes.Lines(text) {
		f := strings.Split(strings.TrimSpace(string(line)), ":")
		if len(f) != 4 || !slices.Contains(strings.Split(f[3], ","), u.Name) {
			continue
		}
		if gid, ok := number(f[2]); ok && !slices.Contains(groups, gid) {
			groups = append(groups, gid)
		}
	}
	return groups
}

// GroupID returns the id of the group of that name; false if it is unknown, also because
// no directory could be asked.
func GroupID(name string) (gid int, known bool) {
	if !isName(name) {
		return 0, false
	}
	_, gid, known = findGroup(name, func(n string, _ int) bool { return n == name })
	return gid, known
}

// GroupName returns the name of the group with that id; false if it is unknown, also
// because no directory could be asked.
func GroupName(gid int) (name string, known bool) {
	name, _, known = findGroup(strconv.Itoa(gid), func(_ string, id int) bool { return id == gid })
	return name, known
}

// findGroup returns the group that is meant by key.
func findGroup(key string, meant func(name string, gid int) bool) (name string, gid int, known bool) {
	text, _ := os.ReadFile(groupFile)
	if name, gid, known = groupIn(text, meant); known {
		return name, gid, true
	}
	text, err := ask("getent", "group", key)
	if err != nil {
		return "", 0, false
	}
	return groupIn(text, meant)
}

// groupIn returns the first group in the text of a group(5) file that is meant.
func groupIn(text []byte, meant func(name string, gid int) bool) (name string, gid int, known bool) {
	for line := range bytes.Lines(text) {
		f := strings.Split(string(line), ":")
		if len(f) < 3 || !isName(f[0]) {
			continue
		}
		if gid, ok := number(f[2]); ok && meant(f[0], gid) {
			return f[0], gid, true
		}
	}
	return "", 0, false
}

// number reads an id. The highest number is reserved for no user.
func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && n < math.MaxUint32
}

// ask runs a command that knows users and returns its output; nothing if it knows no such user,
// or is missing itself. The command has nothing of this process's environment, and no file but
// its output. In a process that serves an account it has the account's rights alone.
func ask(command string, args ...string) ([]byte, error) {
	path, there := Find(command)
	if !there {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + Path, "LC_ALL=C"}
	cmd.WaitDelay = time.Second // processes that it has started may keep its output open
	out, err := output(cmd)
	var exit *exec.ExitError
	const noSuchKey = 2 // of getent
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s %s: no answer within %v", command, strings.Join(args, " "), patience)
	case command == "getent" && errors.As(err, &exit) && exit.ExitCode() == noSuchKey:
		return nil, nil
	}
	return nil, fmt.Errorf("%s %s: %w", command, strings.Join(args, " "), err)
}

// output runs a command to its end, and returns its output.
func output(c *exec.Cmd) ([]byte, error) {
	var b bytes.Buffer
	c.Stdout = &b
	err := Start(c)
	if err == nil {
		err = c.Wait()
	}
	return b.Bytes(), err
}
