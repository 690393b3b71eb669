package userlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
	"fairspool/lib/pool"
)

// procs are the procs of the events that a follower gives, and -1 for one that
// cannot be read.
func procs(t *testing.T, f *Follower) []int {
	t.Helper()
	var got []int
	err := f.Read(func(e Event, err error) {
		if err != nil {
			e.Job.Proc = -1
		}
		got = append(got, e.Job.Proc)
	})
	testenv.OK(t, err)
	return got
}

func proc(n int) string {
	return string(Event{Job: pool.JobID{Cluster: 1, Proc: n}, At: at, Body: Aborted{}}.AppendTo(nil))
}

func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	f := Follow(path, Options{})
	defer f.Close()
	if err := f.Read(func(Event, error) { t.Error("an event of no log") }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of no log = %v, want not found", err)
	}
	add := func(flag int, text string) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
		if err == nil {
			_, err = file.WriteString(text)
			file.Close()
		}
		testenv.OK(t, err)
	}
	half := strings.LastIndex(proc(2), "ed")
	for _, step := range []struct {
		does string
		do   func()
		want []int
	}{
		{"made", func() { add(os.O_APPEND, proc(0)+proc(1)) }, []int{0, 1}},
		{"left alone", func() {}, nil},
		{"half an event", func() { add(os.O_APPEND, proc(2)[:half]) }, nil},
		{"the rest of it", func() { add(os.O_APPEND, proc(2)[half:]) }, []int{2}},
		{"no event", func() { add(os.O_APPEND, "x\n...\n"+proc(3)) }, []int{-1, 3}},
		{"emptied", func() { add(os.O_TRUNC, "") }, nil},
		{"written again", func() { add(os.O_APPEND, proc(4)) }, []int{4}},
		{"shorter", func() { add(os.O_APPEND, proc(5)+proc(6)); procs(t, f); add(os.O_TRUNC, proc(7)) }, []int{7}},
		{"replaced, with one event still in the old", func() {
			add(os.O_APPEND, proc(8))
			testenv.OK(t, os.Rename(path, path+".old"))
			add(os.O_APPEND, proc(9)+proc(10))
		}, []int{8, 9, 10}},
		{"removed", func() { os.Remove(path) }, nil},
		{"made again", func() { add(os.O_APPEND, proc(11)) }, []int{11}},
	} {
		step.do()
		if got := procs(t, f); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s: procs %v, want %v", step.does, got, step.want)
		}
	}
}

// What the old log got just before it was replaced is not lost.
func TestFollowAcrossReplacement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	write := func(n int) {
		t.Helper()
		testenv.OK(t, Append(path, Event{Job: pool.JobID{Cluster: 1, Proc: n}, At: at, Body: Aborted{}}))
	}
	write(0)
	f := Follow(path, Options{})
	defer f.Close()
	if got, want := procs(t, f), []int{0}; !reflect.DeepEqual(got, want) {
		t.Fatalf("procs %v, want %v", got, want)
	}
	f.stat = func(name string) (fs.FileInfo, error) { // between the last look into the old log and this one
		write(1)
		testenv.OK(t, os.Rename(path, path+".old"))
		write(2)
		return os.Stat(name)
	}
	if got, want := procs(t, f), []int{1, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("procs %v, want %v", got, want)
	}
}

func TestFollowOnlyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	testenv.OK(t, unix.Mkfifo(path, 0o600))
	for _, p := range []string{path, t.TempDir()} {
		f := Follow(p, Options{})
		err := f.Read(func(Event, error) {})
		if err == nil || !strings.HasPrefix(err.Error(), p+": not a regular file") {
			t.Errorf("Read = %v, want no regular file", err)
		}
	}
}
