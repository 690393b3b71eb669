package cmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// TestFullFileSystem has a file system with ever more space left, until a command has
// enough: so each of the steps that need space fails in its turn. Each failure is one
// line that says why, leaves the spool as it was, and lets readers go on; with space the
// same command succeeds.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t)
	wide := strings.Repeat("x", 30_000)
	var slots, jobs []string
	for i := range 250 {
		slots = append(slots, slotName(i+10))
		jobs = append(jobs, fmt.Sprintf("3.%d", i))
	}
	large := submit(250, "alice", false)
	large.stdin = "environment = X=" + wide[:300] + "\n" + large.stdin
	for _, row := range []struct {
		name  string
		call  call
		fails int  // so often at least
		bare  bool // the spool's reserve is used up
	}{
		{"submit", widened(submit(3, "bob", false), "environment = X="+wide+"\n"), 5, false},
		{"prio", call{args: append([]string{"prio", "+1"}, jobs...), did: silent([]step{prioritised(1, true, jobs)})}, 1, false},
		{"qdel", call{args: append([]string{"qdel"}, jobs[:40]...), did: func(string) ([]step, error) { return []step{removed(jobs[:40], nil)}, nil }}, 8, true},
		{"qdel with the reserve", call{args: append([]string{"qdel"}, jobs[40:80]...), did: func(string) ([]step, error) { return []step{removed(jobs[40:80], nil)}, nil }}, 0, false},
		{"slots advertise", widened(advertise([]string{slotName(0)}, slot{7, true, 0, false}), fmt.Sprintf("Wide = %q\n", wide)), 5, false},
		{"slots withdraw", call{args: append([]string{"slots", "withdraw"}, slots...), did: func(string) ([]step, error) { return []step{withdrawn(slots, false)}, nil }}, 2, false},
		{"negotiate", cycle(t, 250), 5, false},
	} {
		t.Run(strings.ReplaceAll(row.name, " ", "_"), func(t *testing.T) {
			g := newGround(t)
			g.spool = disk.folder(t)
			m := g.sure(g.sure(g.furnish(), large), advertise(slots, slot{1, true, 0, false}))
			m = g.sure(m, advertise([]string{slotName(0), slotName(1), slotName(2), slotName(3)}, slot{1, false, 0, false}))
			failures := g.untilThereIsSpace(disk, m, row.call, row.bare)
			if failures < row.fails || row.fails == 0 && failures > 0 {
				t.Errorf("%s failed %d times before it had space enough, want %d at least, and 0 for 0", row.name, failures, row.fails)
			}
			t.Logf("%s failed with space for less than %d pages", row.name, failures)
		})
	}
	t.Run("new", func(t *testing.T) {
		c := widened(submit(3, "bob", false), "environment = X="+wide+"\n")
		for pages := 0; ; pages++ {
			g := newGround(t)
			g.spool = disk.folder(t)
			release := disk.fill(t, pages)
			a := g.run(c.stdin, c.args...)
			release()
			if a.status == 0 {
				break
			}
			g.saysFull(c, a)
			g.sure(g.furnish(), readers[0].call)
		}
	})
	t.Run("starter", func(t *testing.T) {
		f := &field{ground: newGround(t)}
		f.spool = disk.folder(t)
		f.scratchElsewhere()
		m := f.sure(f.sure(f.furnish(), submit(8, "alice", false)), cycle(t, slotCount))
		release := disk.fill(t, 0)
		m = f.untilFull(m, edit("-setfactor", "fair0@pool", 4))
		a := f.run("", "starter")
		full := 0
		for line := range strings.Lines(a.bad) {
			if strings.HasPrefix(line, "starter: job 3.") && strings.Contains(line, ": no space left on device") {
				full++
			}
		}
		if a.status != 1 || full == 0 || full != strings.Count(a.bad, "\n") {
			t.Errorf("starter on a full disk = %+v, want 1 and lines that say so", a)
		}
		release()
		f.maybe = []*model{m}
		for _, err := range []error{f.settle(), f.look()} {
			if err != nil {
				t.Error(err)
			}
		}
		f.historyIsWhole(m.put)
	})
	t.Run("small", func(t *testing.T) {
		g := newGround(t)
		g.spool = disk.folder(t)
		g.smallOnes(disk)
	})
}

// withoutWarnings leaves out what a cycle says of files that follow it, and could
// not.
func withoutWarnings(bad string) string {
	bad = inWords(bad)
	var left strings.Builder
	for line := range strings.Lines(bad) {
		if !strings.HasPrefix(line, "negotiate: the cycle is done, but") || !strings.Contains(line, "no space left") {
			left.WriteString(line)
		}
	}
	return left.String()
}

// inWords returns what a command says on standard error as it says it without -json.
func inWords(bad string) string {
	var b strings.Builder
	for line := range strings.Lines(bad) {
		var said struct {
			Error, Warning *struct{ Command, Message string }
		}
		if json.Unmarshal([]byte(line), &said) == nil {
			if of := cmp.Or(said.Error, said.Warning); of != nil {
				line = of.Command + ": " + of.Message + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// untilThereIsSpace calls with ever more space, holds that the spool stays m
// until the call succeeds, and returns how often it failed. With bare the spool has no reserve.
func (g *ground) untilThereIsSpace(disk *smallDisk, m *model, c call, bare bool) int {
	g.Helper()
	for pages := range 200 {
		if bare {
			os.Remove(filepath.Join(g.spool, "reserve"))
		}
		release := disk.fill(g.T, pages)
		a := g.run(c.stdin, c.args...)
		if a.status != 0 {
			g.saysFull(c, a)
		} else {
			a.bad = withoutWarnings(a.bad)
			steps, err := c.steps(a)
			if err != nil {
				g.Fatal(err)
			}
			for _, s := range steps {
				m, _ = m.after(s)
			}
		}
		for _, r := range readers[:3] {
			g.sure(m, r.call)
		}
		if release(); a.status == 0 {
			return pages
		}
	}
	g.Fatalf("%v fails with 200 pages too", c.args)
	return 0
}

// saysFull holds that a command which failed said that the disk is full.
func (g *ground) saysFull(c call, a answer) {
	g.Helper()
	a.bad = inWords(a.bad)
	if a.status != 1 || a.out != "" || strings.Count(a.bad, "\n") != 1 ||
		!strings.HasPrefix(a.bad, c.args[0]+": ") || !strings.Contains(a.bad, ": no space left on device") {
		g.Fatalf("%.40v on a full disk = %d, %q, %q, want 1 and a line that says so", c.args, a.status, a.out, a.bad)
	}
}

// smallOnes makes small changes on a full disk until one has no place left in
// the journal's last page, and then goes on with space.
func (g *ground) smallOnes(disk *smallDisk) {
	m := g.furnish()
	for _, c := range []call{
		{args: []string{"prio", "+1", "1.0", "2.0"}, did: silent([]step{prioritised(1, true, []string{"1.0", "2.0"})})},
		edit("-setprio", "fair1@pool", 3),
		edit("-setfactor", "fair1@pool", 4),
	} {
		release := disk.fill(g.T, 0)
		m = g.untilFull(m, c)
		for _, r := range readers[:3] {
			g.sure(m, r.call)
		}
		release()
		m = g.sure(m, c)
	}
}

// untilFull makes a call again and again until it finds the disk full.
func (g *ground) untilFull(m *model, c call) *model {
	g.Helper()
	for range 500 {
		a := g.run(c.stdin, c.args...)
		if a.status != 0 {
			g.saysFull(c, a)
			return m
		}
		steps, err := c.steps(a)
		if err != nil {
			g.Fatal(err)
		}
		for _, s := range steps {
			m, _ = m.after(s)
		}
	}
	g.Fatalf("%v never found the disk full", c.args)
	return nil
}

// widened returns the call with more text before what it reads.
func widened(c call, text string) call {
	c.stdin = text + c.stdin
	return c
}

// scratchElsewhere puts scratch directories on another disk where jobs do not run as who
// starts them: nobody else gets at a small one.
func (g *ground) scratchElsewhere() {
	g.Helper()
	if os.Geteuid() != 0 {
		return
	}
	execute := filepath.Join(g.dir, "execute")
	if err := os.Mkdir(execute, 0o711); err != nil {
		g.Fatal(err)
	}
	name := filepath.Join(g.dir, "fairspool.toml")
	text, err := os.ReadFile(name)
	if err != nil {
		g.Fatal(err)
	}
	write(g.T, name, fmt.Sprintf("%sEXECUTE = %q\n", text, execute))
}

// smallDisk is a tmpfs of 4 MB, reached through a process that alone has it mounted.
type smallDisk struct {
	root    string
	folders int
}

// newSmallDisk mounts a tmpfs in a namespace of its own, which ends with the
// test, and which most systems grant to everybody.
func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("sh", "-c", `mount -t tmpfs -o size=4m,mode=700 none "$1" && echo mounted && exec cat`, "sh", dir)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	var bad strings.Builder
	c.Stderr = &bad
	in, err := c.StdinPipe()
	testenv.OK(t, err)
	out, err := c.StdoutPipe()
	testenv.OK(t, err)
	if err := c.Start(); err != nil {
		t.Skipf("no namespace to mount a small file system in: %v", err)
	}
	t.Cleanup(func() { in.Close(); c.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		in.Close()
		io.Copy(io.Discard, out)
		c.Wait()
		t.Skipf("no small file system could be mounted: %v, %s", err, bad.String())
	}
	return &smallDisk{root: fmt.Sprintf("/proc/%d/root%s", c.Process.Pid, dir)}
}

// folder returns a new name on the disk, and removes what stood there before.
func (d *smallDisk) folder(t *testing.T) string {
	t.Helper()
	testenv.OK(t, os.RemoveAll(filepath.Join(d.root, fmt.Sprint(d.folders))))
	d.folders++
	return filepath.Join(d.root, fmt.Sprint(d.folders))
}

// fill fills the disk but for so many pages, until release is called.
func (d *smallDisk) fill(t *testing.T, pages int) (release func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(d.root, "fill"))
	testenv.OK(t, err)
	defer f.Close()
	page := make([]byte, os.Getpagesize())
	size := int64(0)
	for {
		n, err := f.WriteAt(page, size)
		size += int64(n)
		if errors.Is(err, unix.ENOSPC) {
			break
		}
		testenv.OK(t, err)
	}
	testenv.OK(t, f.Truncate(max(0, size-int64(pages*len(page)))))
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Error(err)
		}
	}
}
