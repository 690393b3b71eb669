package launch

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// fakeCriu, as the first argument, makes the test binary a program that treats processes
// as criu does. The second names the folder with its orders.
const fakeCriu = "fake-criu"

func init() {
	if len(os.Args) > 2 && os.Args[1] == fakeCriu {
		os.Exit(criuMain(os.Args[2:]))
	}
}

// orders say what the fake program does.
type orders struct {
	Says   string // its complaint
	Code   int    // its exit code
	Hangs  bool
	Leaves []string // what is restored: a program and its arguments
}

// criuMain is the fake program. It leaves its arguments and its environment in the folder.
func criuMain(args []string) (code int) {
	folder, args := args[0], args[1:]
	var o orders
	text, err := os.ReadFile(filepath.Join(folder, args[0]+".json"))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	os.WriteFile(filepath.Join(folder, args[0]+".args"), []byte(strings.Join(args, "\n")+"\n"+strings.Join(os.Environ(), "\n")), 0o600)
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	images, log := set.String("images-dir", "", ""), set.String("log-file", "", "")
	number, restored := set.Int("tree", 0, ""), set.String("pidfile", "", "")
	for _, name := range []string{"leave-stopped", "file-locks", "restore-detached", "restore-sibling", "unprivileged"} {
		set.Bool(name, false, "")
	}
	set.String("manage-cgroups", "", "")
	set.Int("ghost-limit", 0, "")
	if err := set.Parse(args[1:]); err != nil || set.NArg() > 0 {
		return 98
	}
	if *images == "" {
		fmt.Fprint(os.Stderr, o.Says)
		return o.Code
	}
	os.WriteFile(filepath.Join(*images, *log), []byte(o.Says), 0o600)
	if o.Hangs {
		os.WriteFile(filepath.Join(folder, "hangs"), nil, 0o600)
		never := make(chan os.Signal, 1)
		signal.Notify(never, unix.SIGUSR1)
		<-never
	}
	switch {
	case o.Code != 0:
	case args[0] == "dump":
		os.WriteFile(filepath.Join(*images, "pages-1.img"), []byte("images"), 0o600)
		unix.Kill(-*number, unix.SIGSTOP)
	case args[0] == "restore":
		cmd := exec.Command(o.Leaves[0], o.Leaves[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT, Setsid: true}
		if err := cmd.Start(); err != nil {
			return 97
		}
		os.WriteFile(*restored, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
	}
	return o.Code
}

// newFakeCriu returns the fake program and what it leaves behind.
func newFakeCriu(t *testing.T, verb string, o orders) (c *Criu, folder string) {
	t.Helper()
	folder = t.TempDir()
	text, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, verb+".json"), text, 0o600)
	}
	testenv.OK(t, err)
	return NewCriu([]string{os.Args[0], fakeCriu, folder}), folder
}

func TestUsable(t *testing.T) {
	if c, _ := newFakeCriu(t, "check", orders{}); c.Usable(t.Context()) != nil {
		t.Errorf("Usable = %v, want nil", c.Usable(t.Context()))
	}
	refuses, _ := newFakeCriu(t, "check", orders{Code: 1, Says: "Error (criu/util.c:642): exited, status=1\n" +
		"Error (criu/vdso.c:381): vdso: Unexpected rt vDSO area bounds\nError (criu/crtools.c:260): Could not initialize\n"})
	silent, _ := newFakeCriu(t, "check", orders{Code: 2})
	older, _ := newFakeCriu(t, "check", orders{Code: 1, Says: "criu: unrecognized option '--unprivileged'\n\nUsage:\n  criu check\n\nTry -h|--help for more info\n"})
	name := filepath.Base(os.Args[0])
	for _, c := range []struct {
		criu *Criu
		want string
	}{
		{refuses, name + " check: vdso: Unexpected rt vDSO area bounds"},
		{silent, name + " check: exit status 2"},
		{older, name + " check: this version does that by root only"},
		{NewCriu(nil), "CHECKPOINT_COMMAND is empty"},
		{NewCriu([]string{"/nowhere/criu"}), "/nowhere/criu: no such file or directory"},
		{NewCriu([]string{"no-such-criu"}), "no-such-criu: executable file not found in $PATH"},
	} {
		if err := c.criu.Usable(t.Context()); err == nil || err.Error() != c.want {
			t.Errorf("Usable = %v, want %s", err, c.want)
		}
	}
}

func TestComplaint(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{"", ""},
		{"(00.024) Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self\n(00.049) 12: Error (criu/files.c:1): Can't open\n(00.1) Error (criu/x.c:9): Restoring FAILED.", "Can't open"},
		{"something\nelse\t here \n", "else here"},
		{strings.Repeat("x", 1000), strings.Repeat("x", 300) + "..."},
	} {
		if got := complaint(c.log); got != c.want {
			t.Errorf("complaint(%.60q) = %q, want %q", c.log, got, c.want)
		}
	}
}

// counting is a job that writes numbers, one more each time.
const counting = `n=0; while n=$((n+1)); do echo $n; sleep 0.02; done`

func lines(t *testing.T, name string) int { return strings.Count(contents(t, name), "\n") }

func TestDump(t *testing.T) {
	dir := t.TempDir()
	images := filepath.Join(dir, "images")
	testenv.OK(t, os.MkdirAll(filepath.Join(images, "older"), 0o700))
	p := start(t, shellIn(dir, counting), nil)
	c, folder := newFakeCriu(t, "dump", orders{})
	if err := c.Dump(t.Context(), p, images); err != nil {
		t.Fatalf("Dump = %v, want nil", err)
	}
	if e := p.Wait(); e.Signal != int(unix.SIGKILL) {
		t.Errorf("after Dump the job ended as %+v, want SIGKILL", e)
	}
	if got := contents(t, filepath.Join(images, "pages-1.img")); got != "images" {
		t.Errorf("the images are %q", got)
	}
	if got := number(t, filepath.Join(images, numberFile)); got != p.PID() {
		t.Errorf("the images are of %d, want %d", got, p.PID())
	}
	if entries, _ := filepath.Glob(images + "*"); len(entries) != 1 {
		t.Errorf("Dump left %q", entries)
	}
	args := contents(t, filepath.Join(folder, "dump.args"))
	for _, want := range []string{"--tree\n" + strconv.Itoa(p.PID()) + "\n", "--leave-stopped\n", "--manage-cgroups=ignore\n"} {
		if !strings.Contains(args, want) {
			t.Errorf("criu was called with\n%s\nwithout %q", args, want)
		}
	}
}

func TestDumpFails(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		dir := t.TempDir()
		p := start(t, shellIn(dir, counting), nil)
		c, _ := newFakeCriu(t, "dump", orders{Code: 1, Says: "(00.1) Error (criu/sk-inet.c:200): Connected TCP socket\n"})
		err := c.Dump(t.Context(), p, filepath.Join(dir, "images"))
		if err == nil || !strings.HasSuffix(err.Error(), " dump: Connected TCP socket") {
			t.Errorf("Dump = %v, want why", err)
		}
		goesOn(t, dir)
	})
	t.Run("no place", func(t *testing.T) {
		dir := t.TempDir()
		p := start(t, shellIn(dir, counting), nil)
		c, _ := newFakeCriu(t, "dump", orders{})
		if err := c.Dump(t.Context(), p, filepath.Join(dir, "none", "images")); !errors.Is(err, unix.ENOENT) {
			t.Errorf("Dump = %v, want %v", err, unix.ENOENT)
		}
		goesOn(t, dir)
	})
	t.Run("too late", func(t *testing.T) {
		dir := t.TempDir()
		p := start(t, shellIn(dir, counting), nil)
		c, folder := newFakeCriu(t, "dump", orders{Hangs: true})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			testenv.Await(func() bool {
				_, err := os.Stat(filepath.Join(folder, "hangs"))
				return err == nil || ctx.Err() != nil
			})
			cancel()
		}()
		if err := c.Dump(ctx, p, filepath.Join(dir, "images")); !errors.Is(err, context.Canceled) {
			t.Fatalf("Dump = %v, want %v", err, context.Canceled)
		}
		if e := p.Wait(); e.Signal != int(unix.SIGKILL) {
			t.Errorf("the job ended as %+v, want SIGKILL", e)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "images*")); len(left) > 0 {
			t.Errorf("Dump left %q", left)
		}
	})
}

// goesOn waits until a counting job has done more, and looks that there are no images.
func goesOn(t *testing.T, dir string) {
	t.Helper()
	before := lines(t, filepath.Join(dir, "out"))
	testenv.Until(t, "the job goes on", func() bool { return lines(t, filepath.Join(dir, "out")) > before+2 })
	if left, _ := filepath.Glob(filepath.Join(dir, "images*")); len(left) > 0 {
		t.Errorf("Dump left %q", left)
	}
}

// imagesIn makes what Dump leaves.
func imagesIn(t *testing.T, pid int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "images")
	testenv.OK(t, os.Mkdir(dir, 0o700))
	testenv.OK(t, os.WriteFile(filepath.Join(dir, numberFile), []byte(strconv.Itoa(pid)), 0o600))
	return dir
}

func TestRestore(t *testing.T) {
	c, folder := newFakeCriu(t, "restore", orders{Leaves: []string{"/bin/sh", "-c", "read line; exit 7"}})
	dir := imagesIn(t, 4)
	p, err := c.Restore(t.Context(), Job{Mark: "_MARK=of the family"}, dir, nil)
	if err != nil {
		t.Fatalf("Restore = %v, want nil", err)
	}
	if e := p.Wait(); e.Code != 7 {
		t.Errorf("the restored job ended as %+v, want code 7", e)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the images are still there after Restore: %v", err)
	}
	args := strings.Split(contents(t, filepath.Join(folder, "restore.args")), "\n")
	for _, want := range []string{"--restore-sibling", "--restore-detached", "--manage-cgroups=ignore", "_MARK=of the family"} {
		if !slices.Contains(args, want) {
			t.Errorf("criu was called with %q, want %s", args, want)
		}
	}
}

func TestRestoreFails(t *testing.T) {
	c, _ := newFakeCriu(t, "restore", orders{Code: 1, Says: "(00.03) Error (criu/cr-restore.c:1237): Can't fork for 29767: File exists\n(00.03) Error (criu/cr-restore.c:2331): Restoring FAILED.\n"})
	dir := imagesIn(t, 4)
	_, err := c.Restore(t.Context(), Job{}, dir, nil)
	if err == nil || !strings.HasSuffix(err.Error(), " restore: Can't fork for 29767: File exists") {
		t.Errorf("Restore = %v, want why", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the images are still there after Restore has failed: %v", err)
	}
	if _, err := c.Restore(t.Context(), Job{}, dir, nil); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Restore without images = %v, want %v", err, unix.ENOENT)
	}
	testenv.OK(t, os.WriteFile(filepath.Join(imagesIn(t, 1), numberFile), []byte("no number"), 0o600))
	if p, err := c.Restore(t.Context(), Job{}, imagesIn(t, 1), nil); err == nil {
		t.Errorf("Restore of process 1 = %v, want an error", p)
	}
}

// When the attempt is over before its job is restored the images are for the next one.
func TestRestoreIsCancelled(t *testing.T) {
	c, folder := newFakeCriu(t, "restore", orders{Hangs: true})
	dir := imagesIn(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Restore(ctx, Job{}, dir, nil)
		done <- err
	}()
	testenv.Until(t, "criu hangs", func() bool { _, err := os.Stat(filepath.Join(folder, "hangs")); return err == nil })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Restore = %v, want %v", err, context.Canceled)
	}
	if _, err := os.Stat(filepath.Join(dir, numberFile)); err != nil {
		t.Errorf("the images are gone: %v", err)
	}
}

func TestTree(t *testing.T) {
	dir := t.TempDir()
	p := start(t, shellIn(dir, `sh -c 'sleep 1000 & echo $! >child; wait' & wait`), nil)
	child := number(t, filepath.Join(dir, "child"))
	if got := p.Tree(); len(got) != 3 || got[0] != p.PID() || got[2] != child {
		t.Errorf("Tree = %d, want %d, one more, and %d", got, p.PID(), child)
	}
}
