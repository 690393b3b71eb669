package onchange

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// testPool is a pool whose negotiate is a script.
type testPool struct {
	*testing.T
	Pool
}

// newPool returns a pool in which a driver does what the script says. Each adds a line to the file
// "drivers" first.
func newPool(t *testing.T, script string) testPool {
	t.Helper()
	dir := t.TempDir()
	p := testPool{t, Pool{Dir: dir, Programs: dir, Prefix: "my-", Env: []string{"PATH=" + os.Getenv("PATH")}}}
	p.write("VERSION", "")
	p.write("my-negotiate", "#!/bin/sh\ncd "+dir+"\necho \"$@\" >>drivers\n"+script)
	return p
}

func (p testPool) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o700); err != nil {
		p.Fatal(err)
	}
}

// flags returns the flags of the pool as the file has them, and whether its lock is free.
func (p testPool) flags() (flags string, free bool) {
	p.Helper()
	f, err := open(p.Dir, false)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	text, err := f.text()
	if err == nil {
		free, err = f.lock()
	}
	if err != nil {
		p.Fatal(err)
	}
	return text[:2], free
}

// drivers returns how many drivers were started.
func (p testPool) drivers() int {
	text, _ := os.ReadFile(filepath.Join(p.Dir, "drivers"))
	return strings.Count(string(text), "\n")
}

// is holds the pool to what its file has, whether its lock is free, and how many drivers there were.
func (p testPool) is(when, flags string, free bool, drivers int) {
	p.Helper()
	p.Logf("%s", when)
	testenv.Until(p, strconv.Itoa(drivers)+" drivers were started", func() bool { return p.drivers() >= drivers })
	if gotFlags, gotFree := p.flags(); gotFlags != flags || gotFree != free || p.drivers() != drivers {
		p.Errorf("%s: flags %s, lock free %t, %d drivers; want %s, %t, %d", when, gotFlags, gotFree, p.drivers(), flags, free, drivers)
	}
}

// TestOneDriver holds that a driver gets the lock from the changer, and that there is one at a time.
func TestOneDriver(t *testing.T) {
	p := newPool(t, "read word <go")
	if _, err := p.Revive(); err != nil || p.drivers() > 0 {
		t.Fatalf("Revive of a spool that has no file yet: %v, %d drivers", err, p.drivers())
	}
	testenv.OK(t, unix.Mkfifo(filepath.Join(p.Dir, "go"), 0o600))
	driver, err := p.Changed()
	if err != nil || driver == nil {
		t.Fatalf("Changed() = %v, %v, want a driver", driver, err)
	}
	p.is("after a change", "wm", false, 1)
	for range 3 {
		if second, err := p.Changed(); second != nil || err != nil {
			t.Fatalf("Changed() while a driver is at work = %v, %v", second, err)
		}
		if second, err := p.Revive(); second != nil || err != nil {
			t.Fatalf("Revive() while a driver is at work = %v, %v", second, err)
		}
	}
	driver.Process.Kill()
	driver.Wait()
	p.is("when the driver was killed", "wm", true, 1)
	if driver, err = p.Revive(); err != nil || driver == nil {
		t.Fatalf("Revive() = %v, %v, want a driver", driver, err)
	}
	p.is("after Revive", "wm", false, 2)
	driver.Process.Kill()
	driver.Wait()
}

// TestNotes holds that what may not start a driver leaves the flag to others.
func TestNotes(t *testing.T) {
	p := newPool(t, "")
	testenv.OK(t, p.Note())
	p.is("noted", "w-", true, 0)
	w := Watch{Pool: p.Pool, Interval: time.Hour}
	p.write("negotiate.lock", "") // there was a cycle just now
	if driver, err := w.Look(); driver != nil || err != nil {
		t.Fatalf("first Look() = %v, %v, want nothing", driver, err)
	}
	driver, err := w.Look()
	if err != nil || driver == nil {
		t.Fatalf("Look() = %v, %v, want a driver", driver, err)
	}
	driver.Wait() // it did not clear the flags: as if it had failed
	p.is("after a look", "wm", true, 1)
	for range 3 {
		if driver, err := w.Look(); driver != nil || err != nil {
			t.Fatalf("Look() after a driver that failed = %v, %v, want nothing for an hour", driver, err)
		}
	}
	w.due = time.Now()
	if driver, err = w.Look(); err != nil || driver == nil {
		t.Fatalf("Look() when an interval is over = %v, %v, want a driver", driver, err)
	}
	driver.Wait()
}

// TestInterval holds that a watch starts a driver if the last cycle is long ago, and only then.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		name   string
		ago    time.Duration // since the last cycle
		starts bool
	}{
		{"just now", time.Minute, false}, {"long ago", 2 * time.Hour, true},
		{"in time that is still to come, by a clock that was set", -time.Minute, true},
	} {
		p := newPool(t, "")
		p.write("negotiate.lock", "")
		at := time.Now().Add(-c.ago)
		testenv.OK(t, os.Chtimes(filepath.Join(p.Dir, "negotiate.lock"), at, at))
		w := Watch{Pool: p.Pool, Interval: time.Hour}
		for look := range 3 {
			driver, err := w.Look()
			if want := c.starts && look == 0; err != nil || (driver != nil) != want {
				t.Errorf("%s: look %d starts a driver: %t, %v, want %t", c.name, look, driver != nil, err, want)
			}
			if driver != nil {
				driver.Wait()
			}
		}
	}
}

// TestDriverCannotStart holds that the flags are left to others then, and the lock.
func TestDriverCannotStart(t *testing.T) {
	p := newPool(t, "")
	p.Prefix = "no-"
	if driver, err := p.Changed(); err == nil {
		t.Fatalf("Changed() = %v without an error", driver)
	}
	p.is("not started", "wm", true, 0)
}

// TestFlagsOfFile holds what counts of the file, whatever a copy, a power cut or an editor has made
// of it.
func TestFlagsOfFile(t *testing.T) {
	p := newPool(t, "")
	testenv.OK(t, p.Note())
	name := filepath.Join(p.Dir, fileName)
	whole, err := os.ReadFile(name)
	testenv.OK(t, err)
	own := string(whole[2:])
	for _, c := range []struct {
		text string
		w, m bool
	}{
		{"w-" + own, true, false}, {"wm" + own, true, true}, {"-m" + own, false, true}, {"--" + own, false, false},
		{"\x00\x00" + own, false, false}, {"mw" + own, false, false}, {"ww" + own, false, false},
		{"wm 1\n", false, false}, {"wm", false, false}, {"", false, false}, {"\x00\x00\x00\x00", false, false},
		{strings.Repeat("w", 100), false, false}, {own, false, false}, {own[1:], false, false},
	} {
		p.write(fileName, c.text)
		f, err := open(p.Dir, false)
		testenv.OK(t, err)
		if w, m, err := f.flags(); w != c.w || m != c.m || err != nil {
			t.Errorf("flags of %q = %t, %t, %v, want %t, %t", c.text, w, m, err, c.w, c.m)
		}
		f.Close()
		p.write(fileName, c.text)
		testenv.OK(t, p.Note())
		got, err := os.ReadFile(name)
		if want := "w-"; err != nil || string(got) != want+own && !(c.m && string(got) == "wm"+own) {
			t.Errorf("a change makes %q of %q, %v; want %q", got, c.text, err, want+own)
		}
	}
}

// TestTrouble holds which line is reported, and that none is when no change waits and no cycle for one failed.
func TestTrouble(t *testing.T) {
	dated := time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)
	written := dated.Add(time.Hour)
	long := strings.Repeat("x", 5<<10)
	for _, c := range []struct {
		name, flags, log, line string
		at                     time.Time
	}{
		{"nothing waits", "--", "2026-11-20T10:00:00Z the disk is full\n", "", time.Time{}},
		{"a change waits", "w-", "2026-11-20T09:00:00Z a\n2026-11-20T10:00:00Z the disk is full\n", "the disk is full", dated},
		{"a cycle was not completed", "-m", "2026-11-20T10:00:00Z the disk is full\n", "the disk is full", dated},
		{"the runtime's last words", "wm", "2026-11-20T10:00:00Z a\nfatal error: out of memory\n\n", "fatal error: out of memory", written},
		{"a line that is cut", "w-", "2026-11-20T10:00:00Z the di", "the di", dated},
		{"a long log", "w-", long + "\n2026-11-20T10:00:00Z b\n", "b", dated},
		{"an empty log", "w-", "", "", written},
	} {
		p := newPool(t, "")
		testenv.OK(t, p.Note())
		f, err := open(p.Dir, false)
		if err == nil {
			_, err = f.WriteAt([]byte(c.flags), 0)
			f.Close()
		}
		p.write(logName, c.log)
		if err == nil {
			err = os.Chtimes(LogPath(p.Dir), written, written)
		}
		testenv.OK(t, err)
		if line, at, err := Trouble(p.Dir); line != c.line || !at.Equal(c.at) || err != nil {
			t.Errorf("%s: %q at %v, %v, want %q at %v", c.name, line, at, err, c.line, c.at)
		}
		if got, want := Left(p.Dir), c.flags != "--"; got != want {
			t.Errorf("%s: Left = %t, want %t", c.name, got, want)
		}
	}
	p := newPool(t, "")
	if line, _, err := Trouble(p.Dir); line != "" || err != nil || Left(p.Dir) {
		t.Errorf("a spool without the file: %q, %v", line, err)
	}
	testenv.OK(t, p.Note())
	if line, at, err := Trouble(p.Dir); line != "" || !at.IsZero() || err != nil {
		t.Errorf("without a log: %q at %v, %v", line, at, err)
	}
	p.write(fileName, "wm")
	if Left(p.Dir) {
		t.Error("a copy of the file has a change that waits")
	}
}

// TestGoneSpool holds that nothing is made in a spool that was removed.
func TestGoneSpool(t *testing.T) {
	p := newPool(t, "")
	testenv.OK(t, os.Remove(filepath.Join(p.Dir, "VERSION")))
	w := Watch{Pool: p.Pool, Interval: time.Hour}
	changed, err := p.Changed()
	looked, err2 := w.Look()
	if changed != nil || looked != nil || err != nil || err2 != nil || p.drivers() > 0 {
		t.Errorf("Changed() = %v, %v; Look() = %v, %v", changed, err, looked, err2)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, fileName)); err == nil {
		t.Errorf("%s is made", fileName)
	}
}
