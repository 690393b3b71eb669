package qtail

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// owner is the user who runs the test, whose files qtail reads as root, too.
func owner(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	testenv.OK(t, err)
	return u.Username
}

// jobAd returns the ad of a job in a folder whose output is out and whose error is err.
func jobAd(t *testing.T, dir string, status pool.Status, starts int64) *classad.Ad {
	t.Helper()
	a := classad.New()
	a.SetString(pool.AttrOwner, owner(t))
	a.SetString(pool.AttrIwd, dir)
	a.SetString(pool.AttrOut, "out")
	a.SetString(pool.AttrErr, "err")
	a.SetInt(pool.AttrJobStatus, int64(status))
	a.SetInt(pool.AttrNumJobStarts, starts)
	return a
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// TestLast holds which lines of a file are its last ones, however long they are.
func TestLast(t *testing.T) {
	long := strings.Repeat("x", block) + "\n"
	exact := strings.Repeat("y", block-1) + "\n"
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"a", 0, ""}, {"a\nb\n", 0, ""}, {"a", 1, "a"}, {"a\n", 1, "a\n"}, {"a\nb", 1, "b"}, {"a\nb\n", 1, "b\n"},
		{"a\nb\n", 2, "a\nb\n"}, {"a\nb\n", 3, "a\nb\n"}, {"\n\n\n", 2, "\n\n"}, {"a\n\n", 1, "\n"},
		{"a\n" + long, 1, long}, {"a\n" + long, 2, "a\n" + long}, {long + long + "b", 2, long + "b"},
		{"a\n" + exact, 1, exact}, {"a\n" + exact + exact, 2, exact + exact}, {exact, 1, exact},
	} {
		path := filepath.Join(t.TempDir(), "f")
		write(t, path, c.text)
		f, err := os.Open(path)
		testenv.OK(t, err)
		defer f.Close()
		var b bytes.Buffer
		end, err := last(&b, f, c.n)
		if b.String() != c.want || end != int64(len(c.text)) || err != nil {
			t.Errorf("the last %d lines of %d bytes are %d bytes up to %d, %v; want %d", c.n, len(c.text), b.Len(), end, err, len(c.want))
		}
	}
}

// TestShows holds what is shown of jobs, and why nothing is.
func TestShows(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "out"), "one\ntwo\nthree\n")
	write(t, filepath.Join(dir, "err"), "trouble\n")
	named := func(status pool.Status, starts int64, out string) *classad.Ad {
		a := jobAd(t, dir, status, starts)
		a.SetString(pool.AttrOut, out)
		return a
	}
	held := jobAd(t, dir, pool.Held, 0)
	held.SetString(pool.AttrHoldReason, "the owner wants it so")
	placed := named(pool.Running, 1, "$$(Name).out")
	placed.SetString("MATCH_EXP_"+pool.AttrOut, "out")
	one := []spool.NewRun{{Count: 1}}
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(jobAd(t, dir, pool.Running, 1), one)                          // 1
		tx.AddCluster(jobAd(t, dir, pool.Idle, 0), []spool.NewRun{{Count: 3}})      // 2
		tx.AddCluster(held, one)                                                    // 3
		tx.AddCluster(placed, one)                                                  // 4
		tx.AddCluster(named(pool.Running, 1, "$$(Name).out"), one)                  // 5
		tx.AddCluster(named(pool.Running, 1, os.DevNull), one)                      // 6
		tx.AddCluster(named(pool.Running, 1, ""), one)                              // 7
		tx.AddCluster(named(pool.Running, 1, filepath.Join(dir, "sub")), one)       // 8
		tx.AddCluster(named(pool.Running, 1, filepath.Join(dir, "none")), one)      // 9
		tx.AddCluster(named(pool.Completed, 1, "none"), []spool.NewRun{{Count: 2}}) // 10
		tx.AddCluster(jobAd(t, dir, pool.Removed, 0), one)                          // 11
		tx.AddCluster(jobAd(t, dir, pool.Completed, 1), one)                        // 12
	})
	testenv.OK(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, id := range []pool.JobID{{Cluster: 10, Proc: 1}, {Cluster: 11}, {Cluster: 12}} {
			tx.Leave(id, time.Unix(cmdtest.Now, 0))
		}
	})
	for _, c := range []struct{ args, want string }{
		{"1", "one\ntwo\nthree\n"}, {"1.0", "one\ntwo\nthree\n"}, {"-n 1 1", "three\n"}, {"-n 0 1", ""}, {"-e 1", "trouble\n"},
		{"4", "one\ntwo\nthree\n"}, {"12", "one\ntwo\nthree\n"}, {"-f -n 2 12.0", "two\nthree\n"}, {"-e 6", "trouble\n"},
	} {
		if status, out, bad := cmdtest.Run(Command(), strings.Fields(c.args)...); status != 0 || out != c.want || bad != "" {
			t.Errorf("qtail %s = %d, %q, %q, want %q", c.args, status, out, bad, c.want)
		}
		status, out, bad := cmdtest.RunFor(t, owner(t), "", Command(), strings.Fields(c.args)...)
		if status != 0 || out != c.want || bad != "" {
			t.Errorf("qtail %s through the door = %d, %q, %q, want %q", c.args, status, out, bad, c.want)
		}
	}
	for _, args := range []string{"2", "2.1", "2.3", "3", "-f 3.9", "5", "6", "7", "8", "9", "10.1", "10.2", "11", "-f 11", "13", "13.0"} {
		cmdtest.Refuses(t, Command(), 1, strings.Fields(args)...)
	}
	for _, args := range []string{"", "1 2", "alice", "1.x", "-n many 1", "-n -1 1"} {
		cmdtest.Refuses(t, Command(), 2, strings.Fields(args)...)
	}
	for _, args := range []string{"1", "-f 1", "3", "9"} {
		status, out, bad := cmdtest.RunFor(t, "mallory", "", Command(), strings.Fields(args)...)
		if want := fmt.Sprintf(": belongs to %s: you are mallory, not an administrator\n", owner(t)); status != 1 || out != "" || !strings.HasSuffix(bad, want) {
			t.Errorf("qtail %s for another = %d, %q, %q, want %q", args, status, out, bad, want)
		}
	}
	// What serve finds out, and what the caller's end does, are told in the same words.
	for _, args := range []string{"3", "9", "13", "-n many 1"} {
		status, out, bad := cmdtest.RunFor(t, owner(t), "", Command(), strings.Fields(args)...)
		s, o, b := cmdtest.Run(Command(), strings.Fields(args)...)
		if status != s || out != o || bad != b {
			t.Errorf("qtail %s through the door = %d, %q, %q, else %d, %q, %q", args, status, out, bad, s, o, b)
		}
	}
}

// told is what a command says to standard error.
type told struct {
	sync.Mutex
	text string
}

func (b *told) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	b.text += string(p)
	return len(p), nil
}

func (b *told) String() string {
	b.Lock()
	defer b.Unlock()
	return b.text
}

// follower is qtail -f at work.
type follower struct {
	*testing.T
	out     *bufio.Reader
	ended   chan int
	trouble told
}

func follow(t *testing.T, args ...string) *follower {
	t.Helper()
	r, w := io.Pipe()
	f := &follower{T: t, out: bufio.NewReader(r), ended: make(chan int, 1)}
	go func() {
		status := cmdline.Execute(Command(), args, strings.NewReader(""), w, &f.trouble)
		w.Close()
		f.ended <- status
	}()
	return f
}

// shows waits for a line.
func (f *follower) shows(want string) {
	f.Helper()
	if line, err := f.out.ReadString('\n'); line != want || err != nil {
		f.Fatalf("qtail -f shows %q, %v, want %q; and says %q", line, err, want, f.trouble.String())
	}
}

// TestFollows is a job that writes, begins anew, is started again and ends.
func TestFollows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	write(t, path, "one\ntwo\n")
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(jobAd(t, dir, pool.Running, 1), []spool.NewRun{{Count: 1}})
	})
	f := follow(t, "-f", "-n", "1", "1")
	f.shows("two\n")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	testenv.OK(t, err)
	defer out.Close()
	fmt.Fprint(out, "thr")
	fmt.Fprint(out, "ee\n")
	f.shows("three\n")
	write(t, path, "anew\n")
	f.shows("anew\n")
	// Another file takes the place of the first, to which something was written meanwhile.
	write(t, path+".new", "again\n")
	fmt.Fprint(out, "last\n")
	testenv.OK(t, os.Rename(path+".new", path))
	f.shows("last\n")
	f.shows("again\n")
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.Set(pool.JobID{Cluster: 1}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Completed))))
		tx.Leave(pool.JobID{Cluster: 1}, time.Unix(cmdtest.Now, 0))
	})
	if line, err := f.out.ReadString('\n'); line != "" || err != io.EOF {
		t.Errorf("behind the end it shows %q, %v", line, err)
	}
	if status := <-f.ended; status != 0 || strings.Count(f.trouble.String(), "\n") != 1 {
		t.Errorf("qtail -f = %d, and says %q, want 0 and a line about the file that is shorter", status, f.trouble.String())
	}
}

// TestWaits is a job that is followed from before its start: qtail says why it waits, and ends with an error when
// it is removed without having started.
func TestWaits(t *testing.T) {
	dir := t.TempDir()
	held := jobAd(t, dir, pool.Held, 0)
	held.SetString(pool.AttrHoldReason, "its folder is missing")
	cmdtest.Spool(t, func(tx *spool.Tx) { tx.AddCluster(held, []spool.NewRun{{Count: 1}}) })
	f := follow(t, "-f", "1")
	testenv.Until(t, "qtail says that the job is held", func() bool { return f.trouble.String() != "" })
	cmdtest.Update(t, func(tx *spool.Tx) {
		tx.Set(pool.JobID{Cluster: 1}, pool.AttrJobStatus, classad.Literal(classad.Int(int64(pool.Removed))))
	})
	if line, err := f.out.ReadString('\n'); line != "" || err != io.EOF {
		t.Errorf("a job that never ran shows %q, %v", line, err)
	}
	status := <-f.ended
	cmdtest.Printed(t, "qtail -f 1", status, "", f.trouble.String())
}
