package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

func TestCheckpointExit(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		ended Ended
		want  bool
	}{
		{"none asked", nil, Ended{Code: 85}, false},
		{"its code", []string{"CheckpointExitCode", "85"}, Ended{Code: 85}, true},
		{"another code", []string{"CheckpointExitCode", "85"}, Ended{Code: 84}, false},
		{"zero", []string{"CheckpointExitCode", "0"}, Ended{}, true},
		{"zero, and a signal", []string{"CheckpointExitCode", "0"}, Ended{Signal: 15}, false},
		{"more than a code", []string{"CheckpointExitCode", "341"}, Ended{Code: 85}, false},
		{"no number", []string{"CheckpointExitCode", `"85"`}, Ended{Code: 85}, false},
		{"by the other name", []string{"SuccessCheckpointExitCode", "85"}, Ended{Code: 85}, true},
		{"the first name counts", []string{"CheckpointExitCode", "1", "SuccessCheckpointExitCode", "85"}, Ended{Code: 85}, false},
		{"its signal", []string{"CheckpointExitBySignal", "true", "CheckpointExitSignal", "10"}, Ended{Signal: 10}, true},
		{"its signal by name", []string{"CheckpointExitBySignal", "true", "CheckpointExitSignal", `"SIGUSR1"`}, Ended{Signal: 10}, true},
		{"another signal", []string{"CheckpointExitBySignal", "true", "CheckpointExitSignal", "10"}, Ended{Signal: 9}, false},
		{"no signal named", []string{"CheckpointExitBySignal", "true"}, Ended{}, false},
		{"by signal, and the code", []string{"CheckpointExitBySignal", "true", "CheckpointExitSignal", "10", "CheckpointExitCode", "85"}, Ended{Code: 85}, false},
		{"not by signal", []string{"CheckpointExitBySignal", "false", "CheckpointExitCode", "85"}, Ended{Code: 85}, true},
		{"by signal, other names", []string{"SuccessCheckpointExitBySignal", "true", "SuccessCheckpointExitSignal", "10"}, Ended{Signal: 10}, true},
	} {
		if got := CheckpointExit(jobAd(t, c.pairs...), c.ended); got != c.want {
			t.Errorf("%s: CheckpointExit(%+v) = %v, want %v", c.name, c.ended, got, c.want)
		}
	}
}

// given returns what a job finds at its next start.
func given(b bench, pairs ...string) string {
	b.Helper()
	b.attempt(pairs...).place()
	return tree(b.T, b.scratch())
}

func TestCheckpoint(t *testing.T) {
	const yes, code = "ShouldTransferFiles", "CheckpointExitCode"
	for _, c := range []struct {
		name  string
		pairs []string
		want  string // in the next scratch directory
	}{
		{"all of it", []string{code, "85"}, "a=new state=S sub/ sub/b=B sub/link>../a"},
		{"what is named", []string{code, "85", "TransferCheckpoint", `"state"`}, "a=A state=S"},
		{"a directory", []string{code, "85", "TransferCheckpoint", `"sub/"`}, "a=A sub/ sub/b=B sub/link>../a"},
		{"deep below", []string{code, "85", "TransferCheckpoint", `"sub/b, state"`}, "a=A state=S sub/ sub/b=B"},
		{"the whole by name", []string{code, "85", "TransferCheckpoint", `"."`}, "a=new state=S sub/ sub/b=B sub/link>../a"},
		{"nothing", []string{code, "85", "TransferCheckpoint", `""`}, "a=A"},
		{"by signal", []string{"CheckpointExitBySignal", "true"}, "a=new state=S sub/ sub/b=B sub/link>../a"},
		{"not on exit alone", []string{code, "85", "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`}, "a=new state=S sub/ sub/b=B sub/link>../a"},
		{"of a job that writes none", nil, "a=A"},
	} {
		bothWays(t, c.name, func(t *testing.T, b bench) {
			b.write(b.iwd, "a", "A", 0o644)
			pairs := append([]string{yes, `"YES"`, "TransferInput", `"a"`}, c.pairs...)
			a := b.attempt(pairs...)
			a.place()
			b.write(b.scratch(), "a", "new", 0o644)
			b.write(b.scratch(), "state", "S", 0o644)
			b.write(b.scratch(), "sub/b", "B", 0o644)
			testenv.OK(t, os.Symlink("../a", filepath.Join(b.scratch(), "sub/link")))
			before := tree(t, b.scratch())
			for range 2 { // the second takes the place of the first
				if err := a.back(t.Context(), Placed{}, Checkpoint); err != nil {
					t.Fatalf("Checkpoint = %v, want nil", err)
				}
			}
			if got := tree(t, b.scratch()); got != before {
				t.Errorf("Checkpoint made %s of the scratch directory %s", got, before)
			}
			if got := given(b, pairs...); got != c.want {
				t.Errorf("the next attempt finds %s, want %s", got, c.want)
			}
			entries, _ := os.ReadDir(b.execute)
			if b.apart {
				more, _ := os.ReadDir(b.staging)
				entries = append(entries, more...)
			}
			if len(entries) != 2 {
				t.Errorf("the folder has %v, want the scratch directory and the checkpoint", entries)
			}
		})
	}
}

// What cannot be stored leaves the checkpoint that was there.
func TestCheckpointFails(t *testing.T) { bothWays(t, "a file is gone", testCheckpointFails) }

func testCheckpointFails(t *testing.T, b bench) {
	pairs := []string{"ShouldTransferFiles", `"YES"`, "CheckpointExitCode", "85", "TransferCheckpoint", `"one, two"`}
	a := b.attempt(pairs...)
	a.place()
	b.write(b.scratch(), "one", "1", 0o644)
	b.write(b.scratch(), "two", "2", 0o644)
	if err := a.back(t.Context(), Placed{}, Checkpoint); err != nil {
		t.Fatalf("Checkpoint = %v, want nil", err)
	}
	b.write(b.scratch(), "one", "11", 0o644)
	testenv.OK(t, os.Remove(filepath.Join(b.scratch(), "two")))
	err := a.back(t.Context(), Placed{}, Checkpoint)
	var refused *StartError
	if !errors.As(err, &refused) || refused.Code != HoldCheckpoint || refused.Subcode != int(unix.ENOENT) {
		t.Errorf("Checkpoint without a file = %v, want code %d", err, HoldCheckpoint)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.write(b.scratch(), "two", "22", 0o644)
	if err := a.back(ctx, Placed{}, Checkpoint); !errors.Is(err, context.Canceled) {
		t.Errorf("Checkpoint with a cancelled context = %v, want that", err)
	}
	if got, want := given(b, pairs...), "one=1 two=2"; got != want {
		t.Errorf("the next attempt finds %s, want %s", got, want)
	}
}

func TestCheckpointNames(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ names, want string }{
		{"../x", "checkpoint ../x: leads out of the scratch directory"},
		{"/etc", "checkpoint /etc: leads out of the scratch directory"},
		{"s3://a/b", "checkpoint s3://a/b: is a URL, and only files of this machine are copied"},
	} {
		_, err := b.job("ShouldTransferFiles", `"YES"`, "TransferCheckpoint", `"`+c.names+`"`)
		var refused *StartError
		if !errors.As(err, &refused) || refused.Code != HoldCheckpoint || err.Error() != c.want {
			t.Errorf("FromAd with the checkpoint %s = %v, want %s", c.names, err, c.want)
		}
	}
}

// A checkpoint that cannot be given back holds the job, and is still there.
func TestBrokenCheckpoint(t *testing.T) { bothWays(t, "no directory", testBrokenCheckpoint) }

func testBrokenCheckpoint(t *testing.T, b bench) {
	pairs := []string{"ShouldTransferFiles", `"YES"`, "CheckpointExitCode", "85"}
	a := b.attempt(pairs...)
	b.write(b.staging, "12.0.kept", "no directory", 0o600)
	_, err := a.tryPlace(t.Context())
	var refused *StartError
	if !errors.As(err, &refused) || refused.Code != HoldInput || refused.Passing {
		t.Errorf("Place with a broken checkpoint = %v, want code %d", err, HoldInput)
	}
	if got := contents(t, a.job.Transfer.Kept); got != "no directory" {
		t.Errorf("Place left %q of the broken checkpoint", got)
	}
}

// Whatever a job makes of its scratch directory, a checkpoint of all of it gives it back,
// and a checkpoint that is cut short gives back the one before.
func TestCheckpointLaw(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "sub/a", "sub/b", "sub/deep/c"})
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		if rapid.Bool().Draw(rt, "apart") {
			b = b.apartFrom()
		}
		pairs := []string{"ShouldTransferFiles", `"YES"`, "CheckpointExitCode", "85"}
		a := b.attempt(pairs...)
		a.place()
		want := ""
		for range rapid.IntRange(1, 4).Draw(rt, "checkpoints") {
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				name := names.Draw(rt, "name")
				if rapid.Bool().Draw(rt, "remove") {
					os.Remove(filepath.Join(b.scratch(), name))
				} else {
					b.write(b.scratch(), name, rapid.StringMatching("[a-z]{0,5}").Draw(rt, "text"), 0o644)
				}
			}
			if !rapid.Bool().Draw(rt, "in time") {
				b.write(b.scratch(), "more", "m", 0o644) // there is something to be cut short
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if err := a.back(ctx, Placed{}, Checkpoint); !errors.Is(err, context.Canceled) {
					rt.Fatalf("Checkpoint = %v, want %v", err, context.Canceled)
				}
				continue
			}
			if err := a.back(context.Background(), Placed{}, Checkpoint); err != nil {
				rt.Fatalf("Checkpoint = %v, want nil", err)
			}
			want = tree(t, b.scratch())
		}
		if got := given(b, pairs...); got != want {
			rt.Fatalf("the next attempt finds %q, want %q", got, want)
		}
	})
}
