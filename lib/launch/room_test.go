package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// plainJob returns a job that transfers nothing and has a scratch directory.
func plainJob(t testing.TB) Job {
	t.Helper()
	dir := t.TempDir()
	return Job{
		Cmd: "/bin/sh", Dir: dir, In: os.DevNull, Out: filepath.Join(dir, "out"), Err: filepath.Join(dir, "err"), Core: -1,
		Scratch: filepath.Join(dir, "1.0.1"), notes: notes{job: []byte("Cmd = \"/bin/sh\"\n"), machine: []byte("Cpus = 1\n")},
	}
}

func TestNotes(t *testing.T) {
	ad := jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`)
	scratch := filepath.Join(t.TempDir(), "12.0.1")
	job, err := FromAd(ad, Place{Scratch: scratch, SlotAd: slotWith(t, "Name", `"slot1"`, "Cpus", "2")}, alice)
	testenv.OK(t, err)
	if job.Transfer != nil || job.Dir != "/" {
		t.Fatalf("FromAd = %+v, want a job that runs in its place", job)
	}
	for range 2 { // the second replaces what a first has left
		if _, err := job.Place(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got, want := contents(t, scratch+"/.job.ad"), "ClusterId = 12\nCmd = \"/bin/true\"\nIwd = \"/\"\nProcId = 0\n"; got != want {
			t.Errorf("the job's ad = %q, want %q", got, want)
		}
		if got, want := contents(t, scratch+"/.machine.ad"), "Cpus = 2\nName = \"slot1\"\n"; got != want {
			t.Errorf("the slot's ad = %q, want %q", got, want)
		}
		info, err := os.Stat(scratch)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the scratch directory: %v, %v, want it for its owner alone", info, err)
		}
		testenv.OK(t, os.WriteFile(scratch+"/rest", nil, 0o600))
	}
	if entries, _ := os.ReadDir(scratch); len(entries) != 3 {
		t.Errorf("in the scratch directory are %v, want the ads and the rest", entries)
	}
	job.Scratch = ""
	if _, err := job.Place(context.Background()); err != nil {
		t.Errorf("Place of a job without scratch directory = %v, want none", err)
	}
}

func TestPlaceInNoFolder(t *testing.T) {
	job := plainJob(t)
	job.Scratch = filepath.Join(job.Dir, "no", "1.0.1")
	_, err := job.Place(context.Background())
	var refused *StartError
	want := "scratch directory " + job.Scratch + ": no such file or directory"
	if !errors.As(err, &refused) || refused.Reason != want || !refused.Passing {
		t.Errorf("Place in no folder = %#v, want %s, which passes", err, want)
	}
}

// The ads are no output, also when the job has changed them, and those of an earlier
// attempt do not come back with what it has left.
func TestNotesStay(t *testing.T) { bothWays(t, "changed", testNotesStay) }

func testNotesStay(t *testing.T, b bench) {
	a := b.attempt("ShouldTransferFiles", `"YES"`, "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`)
	a.place()
	b.write(b.scratch(), jobNote, "changed", 0o600)
	b.write(b.scratch(), machineNote, "changed", 0o600)
	testenv.OK(t, a.back(t.Context(), Placed{}, Rest))
	placed := a.place()
	if got := contents(t, filepath.Join(b.scratch(), jobNote)); !strings.HasPrefix(got, "ClusterId = 12\n") {
		t.Errorf("the next attempt finds the ad %q, want its own", got)
	}
	b.write(b.scratch(), jobNote, "changed again", 0o600)
	b.write(b.scratch(), "out", "O", 0o644)
	testenv.OK(t, a.back(t.Context(), placed, Output))
	entries, err := os.ReadDir(b.iwd)
	if err != nil || len(entries) != 1 || entries[0].Name() != "out" {
		t.Errorf("in Iwd are %v, %v, want the output alone", entries, err)
	}
}

// The ads take the place of whatever has their name, and follow no link.
func TestNotesReplace(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	testenv.OK(t, os.WriteFile(victim, []byte("V"), 0o600))
	for what, put := range map[string]func(path string) error{
		"a link": func(path string) error { return os.Symlink(victim, path) },
		"a directory": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.WriteFile(path+"/x", nil, 0o600), os.Chmod(path, 0o500))
		},
		"a file": func(path string) error { return os.WriteFile(path, []byte("long before"), 0o400) },
	} {
		path := filepath.Join(dir, strings.ReplaceAll(what, " ", "-"))
		testenv.OK(t, put(path))
		if err := leave(path, []byte("A")); err != nil || contents(t, path) != "A" {
			t.Errorf("leave in the place of %s = %v, want it written", what, err)
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("in the place of %s is %v, %v, want a file", what, info, err)
		}
	}
	if got := contents(t, victim); got != "V" {
		t.Errorf("where the link leads is %q, want it untouched", got)
	}
}

// A job that transfers nothing pays next to nothing for its scratch directory: nothing is
// brought to the disk.
func BenchmarkScratch(b *testing.B) {
	for name, account := range map[string]Account{"own": {}, "another's": {UID: 65534, GID: 65534}} {
		b.Run(name, func(b *testing.B) {
			if account.UID != 0 && !account.Other() {
				b.Skip("only root can run a job as somebody else")
			}
			job := plainJob(b)
			job.Account = account
			testenv.OK(b, os.Chmod(job.Dir, 0o711))
			testenv.OK(b, os.Chmod(filepath.Dir(job.Dir), 0o711))
			for b.Loop() {
				if _, err := job.Place(context.Background()); err != nil {
					b.Fatal(err)
				}
				testenv.OK(b, RemoveTree(job.Scratch))
			}
		})
	}
}

func BenchmarkStart(b *testing.B) {
	for name, limits := range map[string][]Rlimit{"plain": nil, "limits": {{Resource: 7, Soft: 100, Hard: 200}}} {
		b.Run(name, func(b *testing.B) {
			job := plainJob(b)
			job.Cmd, job.Limits = "/bin/true", limits
			for b.Loop() {
				p, err := Start(job, nil, nil)
				testenv.OK(b, err)
				p.Wait()
			}
		})
	}
}
