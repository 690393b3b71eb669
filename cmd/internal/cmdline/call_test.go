package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/door"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/policy/registry"
	"fairspool/spool"
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
	testenv.OK(t, os.WriteFile(machine, []byte("UID_DOMAIN = \"of.the.machine\"\n"), 0o600))
	const not = ": not available in the pool of another account\n"
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

// TestAgain holds what a call is when it is made once more: later, also for those that it
// starts, and of the same configuration until that is read again.
func TestAgain(t *testing.T) {
	dir := alone(t)
	path := filepath.Join(dir, "c.toml")
	write := func(text string) {
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("UID_DOMAIN = \"one\"\n")
	for _, now := range []string{"", "2026-11-20T10:00:00Z"} {
		args := []string{"-config", path, "-spool", filepath.Join(dir, "spool")}
		if now != "" {
			args = append(args, "-now", now)
		}
		c := toy(func(c *Call) error {
			before := c.Now
			for !c.Later().Now.After(before.Add(2 * time.Millisecond)) {
			}
			again := c.Again()
			if d := again.Now.Sub(before); d < 2*time.Millisecond || d > time.Minute || c.Now != before {
				t.Errorf("-now %q: Again is %v later, and Now was %v, is %v", now, d, before, c.Now)
			}
			common, err := again.Common()
			testenv.OK(t, err)
			handedOn := strings.Join(common, " ")
			if want := "-now " + again.Now.Format(time.RFC3339Nano); strings.Contains(handedOn, want) != (now != "") {
				t.Errorf("-now %q: Again hands on %q", now, handedOn)
			}
			if d := again.Later().Now.Sub(again.Now); d < 0 || d > time.Minute {
				t.Errorf("-now %q: Later of Again is %v later", now, d)
			}
			return nil
		})
		if status := Execute(c, args, nil, os.Stdout, os.Stderr); status != 0 {
			t.Fatalf("status %d", status)
		}
	}
	c := toy(func(c *Call) error {
		write("UID_DOMAIN = \"two\"\n")
		again, err := c.Reload()
		if err != nil || again.Config.UIDDomain != "two" || c.Config.UIDDomain != "one" {
			t.Errorf("Reload = %v, %v, before that %v, want two and one", domain(again), err, c.Config.UIDDomain)
		}
		write("UID_DOMAIN =\n")
		if again, err := c.Reload(); err == nil {
			t.Errorf("Reload of a broken configuration = %v, want an error", domain(again))
		}
		return nil
	})
	if status := Execute(c, []string{"-config", path}, nil, os.Stdout, os.Stderr); status != 0 {
		t.Fatalf("status %d", status)
	}
}

func domain(c *Call) string {
	if c == nil {
		return ""
	}
	return c.Config.UIDDomain
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, want string }{
		{"1d", "2026-11-20T12:00:00Z"},
		{"2h", "2026-11-21T10:00:00Z"},
		{"90m", "2026-11-21T10:30:00Z"},
		{"1.5h", "2026-11-21T10:30:00Z"},
		{"30s", "2026-11-21T11:59:30Z"},
		{"1w", "2026-11-14T12:00:00Z"},
		{"0s", "2026-11-21T12:00:00Z"},
		{"2026-11-20", "2026-11-20T00:00:00Z"},
		{"1795000000", "2026-11-18T11:06:40Z"},
		{"2026-11-21T08:00:00+01:00", "2026-11-21T07:00:00Z"},
	} {
		got, err := ParseSince(c.text, now)
		if err != nil || got.UTC().Format(time.RFC3339) != c.want {
			t.Errorf("ParseSince(%q) = %v, %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1y", "NaNd", "Infd", "1e300s", "101w52", "40000d", "2026-11-31", "1969-12-31", "tomorrow", "-5"} {
		if got, err := ParseSince(text, now); err == nil {
			t.Errorf("ParseSince(%q) = %v, want an error", text, got)
		} else if !strings.Contains(err.Error(), ", or so long ago, like 90m, 2h or 1d") {
			t.Errorf("ParseSince(%q) = %v, want all forms", text, err)
		}
	}
}

// TestExistingSpool holds that a spool is found and never made.
func TestExistingSpool(t *testing.T) {
	dir := filepath.Join(alone(t), "spool")
	look := func(c *Call) error {
		s, err := c.ExistingSpool()
		if err == nil && s.Dir() != dir {
			t.Errorf("the spool found is %s, want %s", s.Dir(), dir)
		}
		return err
	}
	refused := func(why string) {
		t.Helper()
		status, _, bad := execute(look, "-spool", dir)
		if status != 1 || !strings.HasPrefix(bad, "toy: spool "+dir+": "+why) || strings.Count(bad, "\n") != 1 {
			t.Errorf("ExistingSpool = %d, %q, want 1, %s", status, bad, why)
		}
	}
	refused("there is no spool here: ")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("looking for a spool left %s: %v", dir, err)
	}
	testenv.OK(t, os.Mkdir(dir, 0o700))
	refused("there is no spool here: ")
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "journal.3"), nil, 0o600))
	refused("VERSION is missing: ")
	testenv.OK(t, os.Remove(filepath.Join(dir, "journal.3")))

	if status, _, bad := execute(func(c *Call) error { _, err := c.Spool(); return err }, "-spool", dir); status != 0 {
		t.Fatalf("Spool = %d, %q, want one made", status, bad)
	}
	if status, _, bad := execute(look, "-spool", dir); status != 0 || bad != "" {
		t.Errorf("ExistingSpool of a spool = %d, %q, want 0", status, bad)
	}
	file := filepath.Join(dir, "VERSION")
	dir = file
	refused("not a directory")
}

// readings runs a command, and returns what it reads of the clock at its start
// and, twice, later; and the machine's clock before and after.
func readings(t *testing.T, args ...string) (at, later, last accountant.Reading, from, to time.Time) {
	t.Helper()
	alone(t)
	from = time.Now().Round(0)
	if status, _, bad := execute(func(c *Call) error {
		at, later = c.Reading(), c.Later()
		last = c.Later()
		return nil
	}, args...); status != 0 {
		t.Fatalf("exit status %d: %s", status, bad)
	}
	return at, later, last, from, time.Now().Round(0)
}

// TestReading holds that a command without a time of its own begins at the machine's, and goes on by
// the time since the boot.
func TestReading(t *testing.T) {
	at, later, last, from, to := readings(t)
	if at.Now.Before(from) || later.Now.Before(at.Now) || last.Now.Before(later.Now) || last.Now.Sub(to) > time.Second {
		t.Errorf("read %v, %v and %v between %v and %v", at.Now, later.Now, last.Now, from, to)
	}
	if at.Clock != later.Clock || at.Clock != last.Clock || !at.Clock.Known() {
		t.Errorf("the clock is %v, %v and %v, want one and the same", at.Clock, later.Clock, last.Clock)
	}
	if got, err := accountant.ParseClock(at.Clock.String()); err != nil || got != at.Clock {
		t.Errorf("ParseClock(%q) = %v, %v, want what it was", at.Clock.String(), got, err)
	}
	if up := at.Now.Sub(at.Clock.Booted()); up <= 0 || up > 20*365*24*time.Hour {
		t.Errorf("booted %v ago, at %v", up, at.Clock.Booted())
	}
}

// TestPace holds that a command's time is by the clock that its spool keeps of this boot, after
// another boot not before the last event, and the machine's where the spool keeps none.
func TestPace(t *testing.T) {
	at, _, _, _, _ := readings(t)
	ahead := at.Clock
	ahead.Offset += time.Hour
	back := at.Clock
	back.Offset -= 10 * 365 * 24 * time.Hour
	for _, c := range []struct {
		name, mark string
		event      time.Duration // of the last event, from now
		want       time.Duration // of the command's time
	}{
		{"no clock", "", time.Hour, 0},
		{"the machine's", at.Clock.String(), 0, 0},
		{"set back since", ahead.String(), -time.Hour, time.Hour},
		{"set ahead since", back.String(), time.Hour, -10 * 365 * 24 * time.Hour},
		{"another boot", "x 5", -time.Hour, 0},
		{"another boot, and a clock behind the last event", "x 5", 2 * time.Hour, 2 * time.Hour},
		{"times of the user's own", "own", time.Hour, 0},
		{"unreadable", "half past", time.Hour, 0},
	} {
		dir := filepath.Join(t.TempDir(), "spool")
		s, err := spool.Open(dir, spool.Options{Program: "test", UIDDomain: "x"})
		testenv.OK(t, err)
		testenv.OK(t, s.Update(func(tx *spool.Tx) error {
			tx.Op("test")
			tx.PutMark(accountant.ClockMark, c.mark)
			tx.PutSubmitter(accountant.Record{Name: "alice@x", Priority: 1, HalfLife: time.Hour, At: at.Now.Add(c.event)})
			return nil
		}))
		s.Close()
		var now, again accountant.Reading
		var off time.Duration
		look := func(open func(c *Call) (*spool.Spool, error)) func(*Call) error {
			return func(c *Call) error {
				_, err := open(c)
				now, again, off = c.Reading(), c.Again().Reading(), c.Now.Sub(MachineClock().Now)
				return err
			}
		}
		existing := (*Call).ExistingSpool
		for _, open := range []func(*Call) (*spool.Spool, error){(*Call).Spool, existing} {
			if status, _, bad := execute(look(open), "-spool", dir); status != 0 {
				t.Fatalf("%s: exit status %d: %s", c.name, status, bad)
			}
			if d := off - c.want; d.Abs() > time.Minute {
				t.Errorf("%s: the command's time is %v after the machine's, want %v", c.name, off, c.want)
			}
			if again.Clock != now.Clock || again.Now.Before(now.Now) {
				t.Errorf("%s: it is %v, and later %v", c.name, now, again)
			}
		}
		unread := toy(look((*Call).Spool))
		unread.Unread = true
		if status := Execute(unread, []string{"-spool", dir}, nil, io.Discard, io.Discard); status != 0 || off.Abs() > time.Minute {
			t.Errorf("%s: exit status %d, unread the command's time is %v after the machine's", c.name, status, off)
		}
		if execute(look(existing), "-spool", dir, "-now", "2026-01-02T12:00:00Z"); now.Clock.Known() || now.Now.Unix() != 1767355200 {
			t.Errorf("%s: with a time of the user's own it is %v", c.name, now)
		}
	}
}

// TestReadingOfTheUsersOwn holds that a time that was given goes on from there,
// and says nothing of the machine's clock.
func TestReadingOfTheUsersOwn(t *testing.T) {
	at, later, last, from, to := readings(t, "-now", "2026-01-02T12:00:00Z")
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if !at.Now.Equal(noon) || later.Now.Before(noon) || last.Now.Before(later.Now) || last.Now.Sub(noon) > to.Sub(from)+time.Second {
		t.Errorf("read %v, %v and %v within %v, want %v and on", at.Now, later.Now, last.Now, to.Sub(from), noon)
	}
	if at.Clock.Known() || last.Clock.Known() {
		t.Errorf("the clock is %v and %v, want nothing known", at.Clock, last.Clock)
	}
	if at.Ahead != 0 || last.Ahead != 0 {
		t.Errorf("%v is %v and then %v ahead, want it to be behind", noon, at.Ahead, last.Ahead)
	}
	// What goes on from a time that was taken is not asked again how far ahead it is.
	at, later, _, from, to = readings(t, "-now", "253402300799")
	if want := at.Now.Sub(from); at.Ahead > want || at.Ahead < at.Now.Sub(to) || later.Ahead != 0 {
		t.Errorf("%v is %v and then %v ahead, want %v and 0", at.Now, at.Ahead, later.Ahead, want)
	}
}
