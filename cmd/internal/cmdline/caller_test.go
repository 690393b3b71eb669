package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/door"
	"fairspool/lib/policy/registry"
)

// people are the users of a machine that tests make up.
func people(uid int) (string, error) {
	name, ok := map[int]string{0: "root", 500: "fair", 1000: "alice", 1001: "bob"}[uid]
	if !ok {
		return "", errors.New("uid has none")
	}
	return name, nil
}

// TestCaller is the table of who runs a command, and who is an administrator.
func TestCaller(t *testing.T) {
	for _, c := range []struct {
		uid  int
		peer *door.Peer
		want string
	}{
		{500, nil, "fair true"},
		{0, nil, "root true"},
		{2000, nil, "your login name: uid has none"},
		{500, &door.Peer{UID: 1000, Name: "alice"}, "alice false"},
		{500, &door.Peer{UID: 1001, Name: "bob"}, "bob true"}, // of the ADMINISTRATORS
		{500, &door.Peer{UID: 0, Name: "root"}, "root true"},
		{500, &door.Peer{UID: 500, Name: "fair"}, "fair true"},
	} {
		call := &Call{around: Surroundings{UID: c.uid, UserName: people}}
		if c.peer != nil {
			call.around.Session = &door.Session{Peer: *c.peer}
		}
		cfg := registry.Default()
		call.Config = &cfg
		call.Config.Administrators = []string{"bob"}
		who, err := call.Caller()
		got := fmt.Sprint(who.Name, " ", who.Admin)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Caller of uid %d, peer %v = %s, want %s", c.uid, c.peer, got, c.want)
		}
	}
}

func TestMay(t *testing.T) {
	for _, c := range []struct {
		who   Caller
		owner string
		want  bool
	}{
		{Caller{"alice", false}, "alice", true},
		{Caller{"alice", false}, "bob", false},
		{Caller{"alice", true}, "bob", true},
		{Caller{"alice", true}, "", true},
		{Caller{"", false}, "", false},
	} {
		if got := c.who.May(c.owner); got != c.want {
			t.Errorf("%+v.May(%q) = %v, want %v", c.who, c.owner, got, c.want)
		}
	}
}

// TestThroughDoor holds what a caller of another account has no say in: which spool and
// configuration are meant, and what time it is.
func TestThroughDoor(t *testing.T) {
	dir := alone(t)
	machine := filepath.Join(dir, "fairspool.toml")
	if err := os.WriteFile(machine, []byte("UID_DOMAIN = \"of.the.machine\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const not = ": not in the pool of another account\n"
	for _, c := range []struct {
		args, bad string
		status    int
	}{
		{args: "-lock-wait 1"},
		{args: "-spool x"}, // which the caller's end has heeded
		{args: "-config x", bad: "toy: -config" + not, status: 2},
		{args: "-now 5", bad: "toy: -now" + not, status: 2},
	} {
		s := Surroundings{
			UID: 500, UserName: people, Config: machine, Spool: filepath.Join(dir, "spool"),
			Session: &door.Session{Peer: door.Peer{UID: 1000, Name: "alice"}},
		}
		var seen string
		command := toy(func(call *Call) error {
			place, err := call.SpoolDir()
			seen = call.Config.UIDDomain + " " + place
			return err
		})
		var out, bad bytes.Buffer
		status := s.Execute(command, strings.Fields(c.args), nil, &out, &bad)
		if status != c.status || bad.String() != c.bad {
			t.Errorf("toy %s = %d, %q, want %d, %q", c.args, status, bad.String(), c.status, c.bad)
		}
		if want := "of.the.machine " + s.Spool; status == 0 && seen != want {
			t.Errorf("toy %s uses %q, want %q", c.args, seen, want)
		}
	}
}

// TestEnvironmentOfOwner holds that nothing of a caller through the door reaches cycles and jobs.
func TestEnvironmentOfOwner(t *testing.T) {
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("COLUMNS", "100")
	env, err := environmentOfOwner(true)
	if err != nil {
		t.Skipf("this process's user has no name: %v", err)
	}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME"}, name) {
			t.Errorf("the environment has %s", entry)
		}
	}
	if !slices.Contains(env, "PATH="+ownersPath) {
		t.Errorf("environment = %q, want the PATH %s", env, ownersPath)
	}
}
