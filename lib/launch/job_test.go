package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

// jobAd returns the ad of job 12.0 with the attributes given as name, value;
// values are ClassAd expressions.
func jobAd(t *testing.T, pairs ...string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	ad.SetInt("ClusterId", 12)
	ad.SetInt("ProcId", 0)
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		if err != nil {
			t.Fatalf("ParseExpr(%s): %v", pairs[i+1], err)
		}
		ad.Set(pairs[i], e)
	}
	return ad
}

var alice = Account{Name: "alice", Home: "/home/alice"}

func TestFromAd(t *testing.T) {
	ad := jobAd(t, "Cmd", `"bin/run"`, "Iwd", `"/data/exp/"`, "Args", `"ignored"`,
		"Arguments", `"-n 'two words'"`, "Environment", `"B=2 PATH=/opt/bin FAIRSPOOL_JOB=7.7"`,
		"Out", `"out/1"`, "Err", `"/tmp/err"`, "In", `""`)
	got, err := FromAd(ad, Place{Slot: "slot1@node.example.org"}, alice)
	if err != nil {
		t.Fatalf("FromAd: %v", err)
	}
	want := Job{
		Cmd: "/data/exp/bin/run", Args: []string{"-n", "two words"}, Dir: "/data/exp",
		In: "/dev/null", Out: "/data/exp/out/1", Err: "/tmp/err",
		Env: []string{
			"PATH=/opt/bin", "HOME=/home/alice", "USER=alice", "LOGNAME=alice", "B=2",
			"FAIRSPOOL_JOB=12.0", "_CONDOR_SLOT=slot1", "_CONDOR_JOB_IWD=/data/exp", "BATCH_SYSTEM=HTCondor",
		},
	}
	if !slices.Equal(got.Args, want.Args) {
		t.Errorf("Args = %q, want %q", got.Args, want.Args)
	}
	if !slices.Equal(got.Env, want.Env) {
		t.Errorf("Env = %q, want %q", got.Env, want.Env)
	}
	if got.Cmd != want.Cmd || got.Dir != want.Dir || got.In != want.In || got.Out != want.Out || got.Err != want.Err {
		t.Errorf("FromAd = %+v, want %+v", got, want)
	}
}

func TestFromAdRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  string
	}{
		{"no directory", []string{"Cmd", `"/bin/true"`}, `Iwd: "" is not an absolute path`},
		{"relative directory", []string{"Cmd", `"/bin/true"`, "Iwd", `"here"`}, `Iwd: "here" is not an absolute path`},
		{"no executable", []string{"Iwd", `"/"`}, "Cmd: the job names no executable"},
		{"executable is a number", []string{"Iwd", `"/"`, "Cmd", "3"}, "Cmd: want a string"},
		{"output is a number", []string{"Iwd", `"/"`, "Cmd", `"/bin/true"`, "Out", "3"}, "Out: want a string"},
		{"open quote", []string{"Iwd", `"/"`, "Cmd", `"/bin/true"`, "Arguments", `"'a"`}, "Arguments: a single quote is not closed"},
		{"environment", []string{"Iwd", `"/"`, "Cmd", `"/bin/true"`, "Environment", `"=x"`}, "Environment: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromAd(jobAd(t, c.pairs...), Place{Slot: "slot1@node"}, alice)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("FromAd = %v, want %s", err, c.want)
			}
		})
	}
}

// TestInPlaceTogether has many put a directory and a link in the same places at
// once, as jobs do that name their output alike: all of them succeed.
func TestInPlaceTogether(t *testing.T) {
	dir := t.TempDir()
	const writers = 8
	for round := range 200 {
		folder, link := filepath.Join(dir, fmt.Sprint("folder", round)), filepath.Join(dir, fmt.Sprint("link", round))
		var errs [writers]error
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range writers {
			all.Go(func() {
				into := &inPlace{folders: map[string]bool{}}
				<-begin
				_, err := into.folder(folder, 0o755)
				errs[i] = errors.Join(err, into.link("somewhere", link))
			})
		}
		close(begin)
		all.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatalf("round %d: %v, want no error", round, err)
		}
		if to, err := os.Readlink(link); err != nil || to != "somewhere" {
			t.Fatalf("the link leads to %q, %v, want somewhere", to, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, hidden+"*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// A link takes the place of a file and of a link, and not of a directory.
func TestInPlaceLink(t *testing.T) {
	dir := t.TempDir()
	into := &inPlace{folders: map[string]bool{}}
	path := filepath.Join(dir, "x")
	testenv.OK(t, os.WriteFile(path, nil, 0o644))
	for _, to := range []string{"one", "two"} {
		err := into.link(to, path)
		if got, _ := os.Readlink(path); err != nil || got != to {
			t.Errorf("link(%s) = %v, and it leads to %q", to, err, got)
		}
	}
	folder := filepath.Join(dir, "folder")
	testenv.OK(t, os.Mkdir(folder, 0o755))
	var at *fs.PathError
	if err := into.link("one", folder); !errors.As(err, &at) || at.Path != folder {
		t.Errorf("link in the place of a directory = %v, want an error that names %s", err, folder)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("in the directory are %v, want x and folder", entries)
	}
}

// A folder of the user's that has become a named pipe without a reader delays no process.
func TestSyncOfNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	testenv.OK(t, unix.Mkfifo(pipe, 0o600))
	for name, sync := range map[string]func() error{
		"of output":       (&inPlace{folders: map[string]bool{pipe: true}}).sync,
		"of a checkpoint": func() error { return syncPath(pipe) },
	} {
		done := make(chan error, 1)
		go func() { done <- sync() }()
		testenv.Until(t, "sync "+name+" waits for nobody who writes to the pipe", func() bool { return len(done) > 0 })
		if err := <-done; err != nil {
			t.Errorf("sync %s = %v, want none", name, err)
		}
	}
}
