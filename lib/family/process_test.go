package family

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// orphaned starts a script under a supervisor that is then killed, and returns the
// family's options.
func orphaned(t *testing.T, base, script string, processes int) (*try, Options) {
	t.Helper()
	f := open(t, base) // only says whether there are cgroups, and counts
	o := Options{Name: f.options.Name + "-lost", Base: base}
	s := exec.Command(os.Args[0], o.Name, base, "cd "+f.dir+"\n"+script, "S=sleep "+f.token)
	s.Env = append(os.Environ(), "FAMILY_TEST=supervise")
	s.Stderr = os.Stderr
	if _, err := s.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, s.Start())
	f.sleepers(processes)
	s.Process.Kill()
	s.Wait()
	return f, o
}

func TestSurvivors(t *testing.T) {
	for _, c := range []struct {
		name, base, script string
		processes          int
	}{
		{"children", "", `$S & $S & wait`, 2},
		{"a daemon", "", `(setsid sh -c "exec 3>&-; $S" &)`, 1},
		{"a child without environment", "", `env -i sh -c "$S" & wait`, 1},
		{"forking", "", `i=0; while [ $i -lt 300 ]; do setsid $S & i=$((i+1)); done; wait`, 3},
		{"a daemon without environment and parents", "", `(setsid env -i sh -c "exec 3>&-; cd /; (setsid env -i $S &)" &)`, 1},
		{"stopped", "", `setsid sh -c "$S" & kill -STOP $!; $S`, 1},
		{"a daemon without environment", "fairspool-test", `(setsid env -i sh -c "$S" &)`, 1},
		{"inside another family", "", `export ` + markName + `=$` + markName + `,inner; (setsid prlimit --locks=4711 $S &)`, 1},
		{"forking in a cgroup", "fairspool-test", `i=0; while [ $i -lt 300 ]; do setsid env -i sh -c "$S" & i=$((i+1)); done; wait`, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, o := orphaned(t, c.base, c.script, c.processes)
			other := exec.Command("sleep", f.token)
			other.Env = []string{o.mark() + "0", "X" + o.mark(), "X=" + o.mark(), markName + "=0" + o.Name + ",x"}
			testenv.OK(t, other.Start())
			killed, err := Survivors(o, testenv.Longest)
			if err != nil || killed < c.processes {
				t.Errorf("Survivors = %d, %v, want %d at least", killed, err, c.processes)
			}
			if left := f.tokens(); len(left) != 1 || left[0].pid != other.Process.Pid {
				t.Errorf("after Survivors %d processes are alive, want the one that is no member", len(left))
			}
			if dirs := findGroups(o); len(dirs) > 0 {
				t.Errorf("after Survivors the cgroups %q are there, want none", dirs)
			}
			if killed, err := Survivors(o, 0); killed != 0 || err != nil {
				t.Errorf("Survivors once more = %d, %v, want 0", killed, err)
			}
			other.Process.Kill()
			other.Wait()
		})
	}
}

// TestMarkWhileExecuting: a process that executes one program after the other has its mark whenever it is looked at.
func TestMarkWhileExecuting(t *testing.T) {
	f := open(t, "")
	path := f.dir + "/again"
	testenv.OK(t, os.WriteFile(path, []byte("exec sh "+path+"\n"), 0o600))
	c := exec.Command("sh", path)
	c.Env = []string{Options{Name: "again"}.mark()}
	testenv.OK(t, c.Start())
	missed := 0
	for range 3000 {
		if p, ok := readProcess(c.Process.Pid); !ok || !hasMark(environ(p), []byte("again")) {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of 3000 looks found no mark", missed)
	}
	c.Process.Kill()
	c.Wait()
}

// TestEndHolders: what reads from the pipe is killed, what only writes to it is not.
func TestEndHolders(t *testing.T) {
	f := open(t, "")
	path := f.dir + "/pipe"
	testenv.OK(t, unix.Mkfifo(path, 0o600))
	start := func(flag int) *exec.Cmd {
		end, err := os.OpenFile(path, flag|unix.O_NONBLOCK, 0)
		testenv.OK(t, err)
		defer end.Close()
		c := exec.Command("sleep", f.token)
		c.ExtraFiles = []*os.File{end}
		testenv.OK(t, c.Start())
		return c
	}
	reader := start(os.O_RDONLY)
	writer := start(os.O_WRONLY)
	if killed := EndHolders(path); killed != 1 {
		t.Errorf("EndHolders = %d, want 1", killed)
	}
	if err := reader.Wait(); fmt.Sprint(err) != "signal: killed" {
		t.Errorf("what reads ended: %v, want by SIGKILL", err)
	}
	if p, ok := readProcess(writer.Process.Pid); !ok || !p.alive() {
		t.Error("what only writes is dead, want it alive")
	}
	if killed := EndHolders(path + "0"); killed != 0 {
		t.Errorf("EndHolders of no file = %d, want 0", killed)
	}
	writer.Process.Kill()
	writer.Wait()
}

// TestMarkInside: what a family inside of another starts is of both.
func TestMarkInside(t *testing.T) {
	t.Setenv(markName, "a,b")
	mark := []byte(Options{Name: "c"}.mark())
	for _, name := range []string{"a", "b", "c"} {
		if !hasMark(mark, []byte(name)) {
			t.Errorf("%s is not of %s", mark, name)
		}
	}
	for _, name := range []string{"", "a,b", "d"} {
		if hasMark(mark, []byte(name)) {
			t.Errorf("%s is of %q", mark, name)
		}
	}
}
