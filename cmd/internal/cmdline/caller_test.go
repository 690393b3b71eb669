package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/lib/config"
)

// people are the users of a machine that tests make up.
func people(uid int) (string, error) {
	name, ok := map[int]string{0: "root", 500: "fair", 1000: "alice", 1001: "bob"}[uid]
	if !ok {
		return "", errors.New("uid has none")
	}
	return name, nil
}

// TestCaller is the table of who runs a command, and whether the account is lent.
func TestCaller(t *testing.T) {
	for _, c := range []struct {
		real, effective   int
		sudoUID, sudoUser string
		want              string
	}{
		{500, 500, "", "", "fair true"},
		{0, 0, "", "", "root true"},
		// Somebody else's account, by sudo -u fair.
		{500, 500, "1000", "alice", "alice false"},
		{500, 500, "1001", "bob", "bob true"}, // of the ADMINISTRATORS
		{500, 500, "1000", "", "alice false"},
		{500, 500, "2000", "carol", "carol false"}, // whom only sudo knows
		{500, 500, "2000", "", "your login name: uid has none"},
		{500, 500, "alice", "alice", `SUDO_UID: "alice": not a user's number`},
		{500, 500, "-1", "alice", `SUDO_UID: "-1": not a user's number`},
		// To oneself, by root, and to root.
		{500, 500, "500", "fair", "fair true"},
		{500, 500, "0", "root", "fair true"},
		{0, 0, "1000", "alice", "root true"},
		// Set-user-ID programs, where the environment is the caller's own word.
		{1000, 500, "", "", "alice false"},
		{1000, 500, "1001", "bob", "alice false"},
		{1000, 500, "500", "fair", "alice false"},
		{1001, 500, "", "", "bob true"},
		{1000, 0, "0", "root", "alice false"},
		{0, 500, "", "", "fair true"},
		{2000, 500, "", "carol", "your login name: uid has none"},
	} {
		call := &Call{around: Surroundings{Real: c.real, Effective: c.effective, SudoUID: c.sudoUID, SudoUser: c.sudoUser, UserName: people}}
		cfg := config.Default()
		call.Config = &cfg
		call.Config.Administrators = []string{"bob"}
		who, err := call.Caller()
		got := fmt.Sprint(who.Name, " ", who.Admin)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Caller of uids %d and %d, SUDO_UID %q, SUDO_USER %q = %s, want %s", c.real, c.effective, c.sudoUID, c.sudoUser, got, c.want)
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

// TestLent holds what somebody has no say in who acts with an account that is lent.
func TestLent(t *testing.T) {
	dir := alone(t)
	machine := filepath.Join(dir, "fairspool.toml")
	if err := os.WriteFile(machine, []byte("UID_DOMAIN = \"of.the.machine\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "config", "fairspool")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "fairspool.toml"), []byte("UID_DOMAIN = \"of.alice\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const bySudo = ": not with an account that is lent to you by sudo; in a shell of its own, unset SUDO_UID\n"
	for _, c := range []struct {
		real      int
		variable  string
		args, bad string
		fit, gone bool // for the set-user-ID bit; the machine has no configuration
		status    int
	}{
		{real: 500},
		{real: 500, args: "-lock-wait 1"},
		{real: 500, args: "-config x", bad: "toy: -config" + bySudo, status: 2},
		{real: 500, args: "-spool x", bad: "toy: -spool" + bySudo, status: 2},
		{real: 500, args: "-now 5", bad: "toy: -now" + bySudo, status: 2},
		{real: 500, variable: "FAIRSPOOL_DIR", bad: "toy: FAIRSPOOL_DIR" + bySudo, status: 2},
		{real: 500, variable: "FAIRSPOOL_CONFIG", bad: "toy: FAIRSPOOL_CONFIG" + bySudo, status: 2},
		{real: 500, variable: "FAIRSPOOL_NOW", bad: "toy: FAIRSPOOL_NOW" + bySudo, status: 2},
		{real: 500, gone: true},
		{real: 1000, fit: true},
		{real: 1000, bad: "toy: set-user-ID: it would open files with another user's rights: call it by sudo -u instead\n", status: 1},
		{real: 1000, fit: true, args: "-now 5", bad: "toy: -now: not with an account that is lent to you\n", status: 2},
	} {
		s := Surroundings{Real: c.real, Effective: 500, SudoUID: "1000", SudoUser: "alice", UserName: people, Config: machine, Spool: filepath.Join(dir, "spool")}
		if c.gone {
			s.Config += ".gone"
		}
		var seen string
		command := toy(func(call *Call) error {
			place, err := call.SpoolDir()
			seen = call.Config.UIDDomain + " " + place
			return err
		})
		command.SetUserID = c.fit
		if c.variable != "" {
			t.Setenv(c.variable, "5")
		}
		var out, bad bytes.Buffer
		status := s.Execute(command, strings.Fields(c.args), nil, &out, &bad)
		if status != c.status || bad.String() != c.bad {
			t.Errorf("real uid %d, %s, toy %s = %d, %q, want %d, %q", c.real, c.variable, c.args, status, bad.String(), c.status, c.bad)
		}
		want := map[bool]string{false: "of.the.machine ", true: " "}[c.gone] + s.Spool
		if status == 0 && seen != want {
			t.Errorf("real uid %d, toy %s uses %q, want %q", c.real, c.args, seen, want)
		}
		if c.variable != "" {
			t.Setenv(c.variable, "")
		}
	}
}

// Help and version are anybody's.
func TestLentHelp(t *testing.T) {
	alone(t)
	s := Surroundings{Real: 1000, Effective: 500, UserName: people}
	var out, bad bytes.Buffer
	if status := s.Execute(toy(nil), []string{"-help", "-spool", "x"}, nil, &out, &bad); status != 0 || bad.Len() > 0 {
		t.Errorf("toy -help = %d, %q, want 0", status, bad.String())
	}
}
