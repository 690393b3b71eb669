package launch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

// left is what the job of TestStore leaves in its scratch directory, where the
// inputs were "same" and "changed".
func (b bench) left() {
	b.Helper()
	s := b.scratch()
	b.write(s, "new", "N", 0o755)
	b.write(s, "changed", "more", 0o644)
	b.write(s, "dir/x", "X", 0o644)
	b.write(s, "dir/ro/y", "Y", 0o444)
	testenv.OK(b, os.Chmod(filepath.Join(s, "dir/ro"), 0o500))
}

func TestStore(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  string // in Iwd, beside what was there
	}{
		{"all that is new", nil, "changed=more new:rwxr-xr-x=N"},
		{"nothing", []string{"TransferOutput", `""`}, "changed=C"},
		{"a file", []string{"TransferOutput", `"new"`}, "changed=C new:rwxr-xr-x=N"},
		{"a file below", []string{"TransferOutput", `"dir/x"`}, "changed=C x=X"},
		{"a relative path", []string{"TransferOutput", `"dir/x"`, "PreserveRelativePaths", "true"}, "changed=C dir/ dir/x=X"},
		{"a directory", []string{"TransferOutput", `"dir"`}, "changed=C dir/ dir/ro/ dir/ro/y:r--r--r--=Y dir/x=X"},
		{"what is in a directory", []string{"TransferOutput", `"dir/"`}, "changed=C ro/ ro/y:r--r--r--=Y x=X"},
		{"under other names", []string{"TransferOutput", `"new, dir/x"`, "TransferOutputRemaps", `"new = there; dir/x=old/ ; unused = u;"`}, "changed=C old/x=X there:rwxr-xr-x=N"},
		{"what is new under other names", []string{"TransferOutputRemaps", `"new = a\\=b\\;c"`}, "a=b;c:rwxr-xr-x=N changed=more"},
		{"by base name", []string{"TransferOutput", `"dir/x"`, "TransferOutputRemaps", `"x = IWD/old/z"`}, "changed=C old/z=X"},
		{"away", []string{"TransferOutput", `"new"`, "TransferOutputRemaps", `"new = /dev/null"`}, "changed=C"},
		{"standard output is there already", []string{"TransferOutput", `"out"`, "Out", `"out"`}, "changed=C"},
	} {
		bothWays(t, c.name, func(t *testing.T, b bench) {
			b.write(b.iwd, "same", "S", 0o644)
			b.write(b.iwd, "changed", "C", 0o644)
			b.write(b.iwd, "old/old", "O", 0o644)
			pairs := append([]string{"ShouldTransferFiles", `"YES"`, "TransferInput", `"same, changed"`}, c.pairs...)
			for i := range pairs {
				pairs[i] = strings.ReplaceAll(pairs[i], "IWD", b.iwd)
			}
			a := b.attempt(pairs...)
			placed := a.place()
			b.left()
			if err := a.back(context.Background(), placed, Output); err != nil {
				t.Errorf("Store: %v", err)
			}
			var got []string
			for _, f := range strings.Fields(tree(t, b.iwd)) {
				if f != "old/" && f != "old/old=O" && f != "same=S" && (f != "out=" || !b.apart) { // Send has made it
					got = append(got, f)
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("Iwd has %s, want %s", got, c.want)
			}
			if err := RemoveTree(b.scratch()); err != nil {
				t.Errorf("RemoveTree: %v", err)
			}
			if _, err := os.Lstat(b.scratch()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after RemoveTree the scratch directory is there: %v", err)
			}
			// The test's own cleaning knows no more than os.RemoveAll.
			RemoveTree(b.iwd)
		})
	}
}

func TestStoreFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  string
		sub   int
	}{
		{"not there", []string{"TransferOutput", `"gone, new"`}, "output gone: the job has left no such file", int(unix.ENOENT)},
		{"two are not there", []string{"TransferOutput", `"gone, new, lost"`}, "output gone: the job has left no such file, and 1 more", int(unix.ENOENT)},
		{"no directory for it", []string{"TransferOutput", `"new, dir/x"`, "TransferOutputRemaps", `"x = no/such"`}, "output IWD/no/such: no such file or directory", int(unix.ENOENT)},
		{"a directory in its place", []string{"TransferOutput", `"new, dir/x"`, "TransferOutputRemaps", `"x = old"`}, "output IWD/old: is a directory", int(unix.EISDIR)},
		{"a file in its place", []string{"TransferOutput", `"new, dir"`, "TransferOutputRemaps", `"dir = changed"`}, "output IWD/changed: not a directory", int(unix.ENOTDIR)},
		{"a pipe in its place", []string{"TransferOutput", `"new, dir/x"`, "TransferOutputRemaps", `"x = pipe"`}, "output IWD/pipe: neither a file nor a directory", 0},
		{"standard output", []string{"TransferOutput", `"new, dir/x"`, "Out", `"changed"`, "TransferOutputRemaps", `"x = changed"`},
			"output IWD/changed: is the job's standard output or error as well", 0},
	} {
		bothWays(t, c.name, func(t *testing.T, b bench) {
			b.write(b.iwd, "same", "S", 0o644)
			b.write(b.iwd, "changed", "C", 0o644)
			b.write(b.iwd, "old/old", "O", 0o644)
			testenv.OK(t, unix.Mkfifo(filepath.Join(b.iwd, "pipe"), 0o644))
			a := b.attempt(append([]string{"ShouldTransferFiles", `"YES"`}, c.pairs...)...)
			placed := a.place()
			b.left()
			err := a.back(context.Background(), placed, Output)
			var refused *StartError
			want := strings.ReplaceAll(c.want, "IWD", b.iwd)
			if !errors.As(err, &refused) || err.Error() != want || refused.Code != HoldOutput || refused.Subcode != c.sub {
				t.Errorf("Store = %v (%+v), want %s, codes %d, %d", err, refused, want, HoldOutput, c.sub)
			}
			if got := contents(t, filepath.Join(b.iwd, "new")); got != "N" {
				t.Errorf("the other output = %q, want it copied", got)
			}
			there := "C"
			if b.apart && c.name == "standard output" {
				there = "" // truncated, as by Start
			}
			if got := contents(t, filepath.Join(b.iwd, "changed")); got != there {
				t.Errorf("what was there = %q, want %q", got, there)
			}
			b.noTraces()
			RemoveTree(b.scratch())
		})
	}
}

// noTraces holds that no unfinished copy is left.
func (b bench) noTraces() {
	b.Helper()
	if left, _ := filepath.Glob(filepath.Join(b.iwd, ".fairspool-*")); len(left) > 0 {
		b.Errorf("unfinished copies are left: %q", left)
	}
}

// A copy that breaks off, as on a full disk, leaves what was there before.
func TestStoreBreaksOff(t *testing.T) {
	b := newBench(t)
	b.write(b.iwd, "new", "before", 0o644)
	tr := b.transfer("TransferOutput", `"new"`)
	placed := b.place(tr)
	b.write(b.scratch(), "new", strings.Repeat("x", 64<<20), 0o644)
	var before unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	small := before
	small.Cur = 32 << 20 // enough for what the test program itself may write meanwhile
	testenv.OK(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &small))
	err := tr.Store(context.Background(), placed)
	if e := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); e != nil {
		t.Fatal(e)
	}
	var refused *StartError
	if want := "output " + b.iwd + "/new: file too large"; !errors.As(err, &refused) || err.Error() != want || refused.Subcode != int(unix.EFBIG) {
		t.Errorf("Store = %v, want %s", err, want)
	}
	if got := contents(t, filepath.Join(b.iwd, "new")); got != "before" {
		t.Errorf("what was there = %d bytes, want it untouched", len(got))
	}
	b.noTraces()
}

// A link does not take the place of standard output, which would then be written to where it leads.
func TestStoreLinkOverStream(t *testing.T) {
	bothWays(t, "a link", func(t *testing.T, b bench) {
		b.write(b.iwd, "out", "", 0o644)
		a := b.attempt("TransferOutput", `"./"`, "Out", `"out"`)
		placed := a.place()
		b.write(b.scratch(), "dir/x", "X", 0o644)
		testenv.OK(t, os.Symlink("dir", filepath.Join(b.scratch(), "out")))
		err := a.back(t.Context(), placed, Output)
		if want := "output " + b.iwd + "/out: is the job's standard output or error as well"; err == nil || err.Error() != want {
			t.Errorf("Store = %v, want %s", err, want)
		}
	})
}

// Where the user may not write, the job is held.
func TestStoreForbidden(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write anywhere")
	}
	b := newBench(t)
	tr := b.transfer("TransferOutput", `"new"`)
	placed := b.place(tr)
	b.write(b.scratch(), "new", "N", 0o644)
	testenv.OK(t, os.Chmod(b.iwd, 0o500))
	defer os.Chmod(b.iwd, 0o700)
	err := tr.Store(context.Background(), placed)
	if want := "output " + b.iwd + "/new: permission denied"; err == nil || err.Error() != want {
		t.Errorf("Store = %v, want %s", err, want)
	}
}

// A link in the place of an output leads to the file that is replaced.
func TestStoreThroughLink(t *testing.T) {
	bothWays(t, "a file", func(t *testing.T, b bench) {
		b.write(b.iwd, "real/file", "before", 0o644)
		testenv.OK(t, os.Symlink("real/file", filepath.Join(b.iwd, "new")))
		a := b.attempt("TransferOutput", `"new"`)
		placed := a.place()
		b.write(b.scratch(), "new", "after", 0o644)
		testenv.OK(t, a.back(context.Background(), placed, Output))
		if got, want := tree(t, b.iwd), "new>real/file real/ real/file=after"; got != want {
			t.Errorf("Iwd has %s, want %s", got, want)
		}
	})
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		pairs        []string
		code, signal int
		want         bool
	}{
		{nil, 1, 0, true}, {nil, 0, 9, true},
		{[]string{"WhenToTransferOutput", `"ON_SUCCESS"`}, 0, 0, true},
		{[]string{"WhenToTransferOutput", `"on_success"`}, 1, 0, false},
		{[]string{"WhenToTransferOutput", `"ON_SUCCESS"`}, 0, 9, false},
		{[]string{"WhenToTransferOutput", `"ON_SUCCESS"`, "JobSuccessExitCode", "3"}, 3, 0, true},
		{[]string{"WhenToTransferOutput", `"ON_SUCCESS"`, "SuccessExitCode", "3"}, 0, 0, false},
		{[]string{"WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`}, 1, 0, true},
	} {
		tr := newBench(t).transfer(append([]string{"ShouldTransferFiles", `"YES"`}, c.pairs...)...)
		if got := tr.Wanted(Ended{Code: c.code, Signal: c.signal}); got != c.want {
			t.Errorf("%q: Wanted of code %d, signal %d = %v, want %v", c.pairs, c.code, c.signal, got, c.want)
		}
	}
}

// What an attempt leaves that was made to go is there for the next one, and is
// output when that ends.
func TestKeep(t *testing.T) { bothWays(t, "three attempts", testKeep) }

func testKeep(t *testing.T, b bench) {
	b.write(b.iwd, "same", "S", 0o644)
	b.write(b.iwd, "changed", "C", 0o644)
	a := b.attempt("TransferInput", `"same, changed"`, "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`)
	for attempt := range 3 {
		a.place()
		if attempt > 0 {
			if got, want := tree(t, b.scratch()), "changed=more dir/ dir/ro/ dir/ro/y:r--r--r--=Y dir/x=X link>/no/such new:rwxr-xr-x=N same=S"; got != want {
				t.Errorf("attempt %d finds %s, want %s", attempt, got, want)
			}
			RemoveTree(filepath.Join(b.scratch(), "dir"))
		}
		b.left()
		if attempt == 0 {
			testenv.OK(t, os.Symlink("/no/such", filepath.Join(b.scratch(), "link")))
		}
		if err := a.back(t.Context(), Placed{}, Rest); err != nil {
			t.Fatalf("Keep: %v", err)
		}
		if _, err := os.Lstat(b.scratch()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Keep the scratch directory is there: %v", err)
		}
	}
	placed := a.place()
	if err := a.back(t.Context(), placed, Output); err != nil {
		t.Fatalf("Store: %v", err)
	}
	if got, want := tree(t, b.iwd), "changed=more new:rwxr-xr-x=N same=S"; got != want {
		t.Errorf("Iwd has %s, want %s", got, want)
	}
	RemoveTree(b.scratch())
	RemoveTree(a.job.Transfer.Kept)
	if err := a.back(t.Context(), Placed{}, Rest); err == nil {
		t.Error("Keep of nothing = nil, want an error")
	}
}
