package launch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"fairspool/internal/testenv"
)

// bench is a job's Iwd and a place for its scratch directory; apart: that is on another machine, and staging is what
// the one has that Iwd is on.
type bench struct {
	*testing.T
	iwd, execute, staging string
	apart                 bool
	account               Account
}

// bothWays runs a test with all on one machine, and with the scratch directory on another.
func bothWays(t *testing.T, name string, test func(t *testing.T, b bench)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { test(t, newBench(t)) })
	t.Run(name+" apart", func(t *testing.T) { test(t, newBench(t).apartFrom()) })
}

func (b bench) apartFrom() bench {
	b.staging, b.apart = b.TempDir(), true
	return b
}

func newBench(t *testing.T) bench {
	t.Helper()
	b := bench{T: t, iwd: filepath.Join(t.TempDir(), "iwd"), execute: t.TempDir(), account: alice}
	b.staging = b.execute
	testenv.OK(t, os.Mkdir(b.iwd, 0o755))
	return b
}

// write makes a file below dir, and the directories that lead to it.
func (b bench) write(dir, name, text string, mode fs.FileMode) {
	b.Helper()
	path := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	testenv.OK(b, err)
}

func (b bench) scratch() string { return filepath.Join(b.execute, "12.0.1") }

// job returns what the attributes ask to be copied.
func (b bench) job(pairs ...string) (Job, error) {
	b.Helper()
	ad := jobAd(b.T, append([]string{"Cmd", `"/bin/true"`, "Iwd", `"` + b.iwd + `"`}, pairs...)...)
	return FromAd(ad, b.where(b.staging), b.account)
}

// where returns where the job runs by what is known on a machine with this folder.
func (b bench) where(folder string) Place {
	return Place{Slot: "slot1@node", Scratch: filepath.Join(folder, "12.0.1"), Kept: filepath.Join(folder, "12.0.kept"), Apart: b.apart}
}

// attempt is an attempt at a job: as it is read where its files are, and as it runs.
type attempt struct {
	bench
	job, there Job
}

func (b bench) attempt(pairs ...string) attempt {
	b.Helper()
	a := attempt{bench: b}
	ad := jobAd(b.T, append([]string{"Cmd", `"/bin/true"`, "Iwd", `"` + b.iwd + `"`}, pairs...)...)
	var err error
	if a.job, err = FromAd(ad, b.where(b.staging), b.account); err != nil {
		b.Fatal(err)
	}
	if a.there = a.job; b.apart {
		if a.there, err = FromAd(ad, b.where(b.execute), b.account); err != nil {
			b.Fatal(err)
		}
		a.there = a.there.There()
	}
	if a.job.Transfer == nil {
		b.Fatal("the job transfers nothing")
	}
	return a
}

// through has one end read what the other one writes, and returns their errors.
func through(send func(io.Writer) error, receive func(io.Reader) error) (sent, received error) {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := send(w)
		w.Close() // which the other end cannot tell from an end
		done <- err
	}()
	received = receive(r)
	r.Close()
	return <-done, received
}

// tryPlace places the inputs.
func (a attempt) tryPlace(ctx context.Context) (placed Placed, err error) {
	if !a.apart {
		return a.job.Place(ctx)
	}
	sent, received := through(
		func(w io.Writer) error { return a.job.Send(ctx, w) },
		func(r io.Reader) (err error) { placed, err = a.there.Receive(ctx, r); return err })
	if _, err := os.Lstat(a.there.Scratch); received != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Errorf("after Receive = %v there is a scratch directory: %v", received, err)
	}
	if sent != nil && received == nil {
		a.Errorf("Receive = nil after Send = %v", sent)
	}
	return placed, cmp.Or(sent, received)
}

func (a attempt) place() Placed {
	a.Helper()
	placed, err := a.tryPlace(context.Background())
	if err != nil {
		a.Fatalf("Place: %v", err)
	}
	return placed
}

// back takes care of files that the job has left.
func (a attempt) back(ctx context.Context, placed Placed, of Files) error {
	switch {
	case a.apart:
		sent, received := through(
			func(w io.Writer) error { return a.there.SendBack(ctx, w, placed, of) },
			func(r io.Reader) error { return a.job.TakeBack(ctx, r, of) })
		if _, err := os.Lstat(a.job.Scratch); !errors.Is(err, fs.ErrNotExist) {
			a.Errorf("after TakeBack its directory is there: %v", err)
		}
		if of == Rest {
			RemoveTree(a.scratch())
		}
		if sent != nil && received == nil {
			a.Errorf("TakeBack = nil after SendBack = %v", sent)
		}
		return cmp.Or(sent, received)
	case of == Checkpoint:
		return a.job.Transfer.Checkpoint(ctx)
	case of == Rest:
		return a.job.Transfer.Keep()
	}
	return a.job.Transfer.Store(ctx, placed)
}

func (b bench) transfer(pairs ...string) *Transfer {
	b.Helper()
	job, err := b.job(pairs...)
	testenv.OK(b, err)
	if job.Transfer == nil {
		b.Fatal("the job transfers nothing")
	}
	return job.Transfer
}

// place places the inputs and returns what became of that.
func (b bench) place(t *Transfer) Placed {
	b.Helper()
	placed, err := t.Place(context.Background())
	if err != nil {
		b.Fatalf("Place: %v", err)
	}
	return placed
}

// tree returns all that is below a directory: files with mode and text, links
// with where they lead, directories with a slash; but not the ads of job and slot.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := path[len(dir)+1:]
		if isNote(name) || isRunFile(name) {
			return nil
		}
		switch {
		case d.IsDir():
			all = append(all, name+"/")
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			all = append(all, name+">"+to)
		default:
			info, _ := d.Info()
			text, _ := os.ReadFile(path)
			mode := ""
			if info.Mode().Perm() != 0o644 {
				mode = ":" + info.Mode().Perm().String()[1:]
			}
			all = append(all, name+mode+"="+string(text))
		}
		return nil
	})
	testenv.OK(t, err)
	return strings.Join(all, " ")
}

func TestWhoTransfers(t *testing.T) {
	for _, c := range []struct {
		should, in, out string
		want            bool
	}{
		{"", "", "", false}, {"", "a", "", true}, {"", "", "b", true},
		{"YES", "", "", true}, {"yes", "", "", true},
		{"NO", "a", "b", false}, {"no", "a", "b", false},
		{"IF_NEEDED", "", "", false}, {"IF_NEEDED", "a", "", true}, {"", " , ,", "", false},
	} {
		job, err := newBench(t).job("ShouldTransferFiles", `"`+c.should+`"`, "TransferInput", `"`+c.in+`"`, "TransferOutput", `"`+c.out+`"`)
		if err != nil || (job.Transfer != nil) != c.want {
			t.Errorf("%q with inputs %q, outputs %q: transfers = %v, %v, want %v", c.should, c.in, c.out, job.Transfer != nil, err, c.want)
		}
	}
}

func TestJobInScratch(t *testing.T) {
	b := newBench(t)
	scratch := b.scratch()
	for _, c := range []struct {
		name     string
		pairs    []string
		dir, cmd string
		env      []string // among others
	}{
		{"in its place", nil, b.iwd, b.iwd + "/run",
			[]string{"_CONDOR_JOB_IWD=" + b.iwd, "_CONDOR_SCRATCH_DIR=" + scratch, "TMPDIR=" + scratch, "_CONDOR_JOB_AD=" + scratch + "/.job.ad"}},
		{"in a scratch directory", []string{"ShouldTransferFiles", `"YES"`}, scratch, b.iwd + "/run",
			[]string{"_CONDOR_JOB_IWD=" + scratch, "_CONDOR_SCRATCH_DIR=" + scratch, "TMPDIR=" + scratch, "TMP=" + scratch, "TEMP=" + scratch}},
		{"it says where to put temporary files", []string{"ShouldTransferFiles", `"YES"`, "Environment", `"TMPDIR=/fast _CONDOR_SCRATCH_DIR=/x"`},
			scratch, b.iwd + "/run", []string{"TMPDIR=/fast", "TMP=" + scratch, "_CONDOR_SCRATCH_DIR=" + scratch}},
		{"comes with its inputs", []string{"ShouldTransferFiles", `"YES"`, "TransferExecutable", "false"}, scratch, scratch + "/run", nil},
		{"stays where it is", []string{"ShouldTransferFiles", `"YES"`, "TransferExecutable", "true"}, scratch, b.iwd + "/run", nil},
		{"nothing is transferred", []string{"TransferExecutable", "false"}, b.iwd, b.iwd + "/run", nil},
	} {
		job, err := b.job(append(c.pairs, "Cmd", `"run"`, "Out", `"out"`, "In", `"in"`)...)
		if err != nil || job.Dir != c.dir || job.Cmd != c.cmd || job.Out != b.iwd+"/out" || job.In != b.iwd+"/in" {
			t.Errorf("%s: FromAd = %+v, %v, want directory %s, executable %s, files in %s", c.name, job, err, c.dir, c.cmd, b.iwd)
		}
		for _, e := range c.env {
			if !slices.Contains(job.Env, e) {
				t.Errorf("%s: environment %q lacks %s", c.name, job.Env, e)
			}
		}
	}
}

func TestTransferRefuses(t *testing.T) {
	for _, c := range []struct {
		attribute, value, want string
		code                   int
	}{
		{"TransferInput", `"a, http://x.example.org/b"`, "input http://x.example.org/b: is a URL, and only files of this machine are copied", HoldInput},
		{"TransferInput", `"osdf:///a/b"`, "input osdf:///a/b: is a URL, and only files of this machine are copied", HoldInput},
		{"TransferInput", `"file://host/a"`, "input file://host/a: want an absolute path behind file://", HoldInput},
		{"TransferInput", `"/"`, "input /: is the root directory", HoldInput},
		{"TransferOutput", `"../a"`, "output ../a: leads out of the scratch directory", HoldOutput},
		{"TransferOutput", `"/etc/passwd"`, "output /etc/passwd: leads out of the scratch directory", HoldOutput},
		{"TransferOutput", `"a/../../b"`, "output a/../../b: leads out of the scratch directory", HoldOutput},
		{"TransferOutputRemaps", `"a"`, "TransferOutputRemaps: a: want NAME = NEWNAME", HoldOutput},
		{"TransferOutputRemaps", `"a = ; b = c"`, "TransferOutputRemaps: a = : want NAME = NEWNAME", HoldOutput},
		{"TransferOutputRemaps", `"a = s3://b/c"`, "TransferOutputRemaps: s3://b/c: is a URL, and only files of this machine are copied", HoldOutput},
		{"OutputDestination", `"s3://b"`, "output destination s3://b: is a URL, and only files of this machine are copied", HoldOutput},
		{"WhenToTransferOutput", `"NEVER"`, `WhenToTransferOutput: "NEVER": want ON_EXIT, ON_EXIT_OR_EVICT or ON_SUCCESS`, 0},
		{"TransferInput", "3", "TransferInput: want a string", 0},
	} {
		_, err := newBench(t).job("ShouldTransferFiles", `"YES"`, c.attribute, c.value)
		var refused *StartError
		code := 0
		if errors.As(err, &refused) {
			code = refused.Code
		}
		if err == nil || err.Error() != c.want || code != c.code {
			t.Errorf("%s = %s: FromAd = %v, code %d, want %s, code %d", c.attribute, c.value, err, code, c.want, c.code)
		}
	}
	b := newBench(t)
	if _, err := b.job("PreserveRelativePaths", "true", "TransferInput", `"../a/b"`); err == nil || err.Error() != "input ../a/b: leads out of the scratch directory" {
		t.Errorf("a relative path that leads up and is preserved: %v, want an error", err)
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  string
	}{
		{"files", []string{"TransferInput", `"a, sub/b,run"`}, "a=A b=B run:rwxr-xr-x=R"},
		{"a directory", []string{"TransferInput", `"sub"`}, "sub/ sub/b=B sub/deep/ sub/deep/c=C"},
		{"what is in a directory", []string{"TransferInput", `"sub/"`}, "b=B deep/ deep/c=C"},
		{"an absolute path", []string{"TransferInput", `"IWD/sub/b"`}, "b=B"},
		{"a path of this machine's as a URL", []string{"TransferInput", `"file://IWD/sub/b"`}, "b=B"},
		{"relative paths", []string{"TransferInput", `"sub/deep/c, a, ./sub/b"`, "PreserveRelativePaths", "true"}, "a=A sub/ sub/b=B sub/deep/ sub/deep/c=C"},
		{"what is in a relative path", []string{"TransferInput", `"sub/deep/"`, "PreserveRelativePaths", "true"}, "sub/ sub/deep/ sub/deep/c=C"},
		{"links are followed", []string{"TransferInput", `"link, dirlink"`}, "dirlink/ dirlink/b=B dirlink/deep/ dirlink/deep/c=C link=A"},
		{"the last of a name counts", []string{"TransferInput", `"a, other/a"`}, "a=A2"},
		{"a directory over a file", []string{"TransferInput", `"a, nested/a"`}, "a/ a/x=X"},
		{"a directory that may not be written to", []string{"TransferInput", `"ro, more/ro"`}, "ro/ ro/a=A ro/b=B"},
		{"links in directories", []string{"TransferInput", `"links"`}, "links/ links/a=A links/gone>nowhere links/up>.."},
		{"nothing", []string{"ShouldTransferFiles", `"YES"`}, ""},
	} {
		bothWays(t, c.name, func(t *testing.T, b bench) {
			b.write(b.iwd, "a", "A", 0o644)
			b.write(b.iwd, "other/a", "A2", 0o644)
			b.write(b.iwd, "nested/a/x", "X", 0o644)
			b.write(b.iwd, "run", "R", 0o755)
			b.write(b.iwd, "sub/b", "B", 0o644)
			b.write(b.iwd, "sub/deep/c", "C", 0o644)
			b.write(b.iwd, "links/.keep", "", 0o644)
			b.write(b.iwd, "ro/a", "A", 0o644)
			b.write(b.iwd, "more/ro/b", "B", 0o644)
			for _, dir := range []string{"ro", "more/ro"} {
				testenv.OK(t, os.Chmod(filepath.Join(b.iwd, dir), 0o500))
			}
			defer RemoveTree(b.iwd)
			defer RemoveTree(b.scratch())
			os.Remove(filepath.Join(b.iwd, "links/.keep"))
			for link, to := range map[string]string{"link": "a", "dirlink": "sub", "links/a": "../a", "links/up": "..", "links/gone": "nowhere"} {
				testenv.OK(t, os.Symlink(to, filepath.Join(b.iwd, link)))
			}
			pairs := slices.Clone(c.pairs)
			for i := range pairs {
				pairs[i] = strings.ReplaceAll(pairs[i], "IWD", b.iwd)
			}
			b.attempt(pairs...).place()
			if got := tree(t, b.scratch()); got != c.want {
				t.Errorf("the scratch directory has %s, want %s", got, c.want)
			}
			if info, err := os.Stat(b.scratch()); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the scratch directory is %v, %v, want mode 0700", info.Mode(), err)
			}
		})
	}
}

func TestPlaceFails(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"gone", "input IWD/gone: no such file or directory"},
		{"file/", "input IWD/file: not a directory"},
		{"pipe", "input IWD/pipe: neither a file nor a directory"},
		{"./", "input IWD: the scratch directory of the job lies in it"},
	} {
		bothWays(t, c.input, func(t *testing.T, b bench) {
			if c.input == "./" {
				if b.apart {
					return // nothing is copied to where it is
				}
				b.execute = filepath.Join(b.iwd, "execute")
				b.staging = b.execute
			}
			b.write(b.execute, ".x", "", 0o644)
			b.write(b.iwd, "file", "", 0o644)
			testenv.OK(t, unix.Mkfifo(filepath.Join(b.iwd, "pipe"), 0o644))
			_, err := b.attempt("TransferInput", `"`+c.input+`"`).tryPlace(context.Background())
			var refused *StartError
			want := strings.ReplaceAll(c.want, "IWD", b.iwd)
			if c.input == "./" {
				want = strings.ReplaceAll(c.want, "IWD", b.execute)
			}
			if !errors.As(err, &refused) || refused.Code != HoldInput || refused.Passing || err.Error() != want {
				t.Errorf("Place of %s = %v, want %s, code %d", c.input, err, want, HoldInput)
			}
		})
	}
	bothWays(t, "no working directory", func(t *testing.T, b bench) {
		a := b.attempt("TransferInput", `"a"`)
		os.Remove(b.iwd)
		if _, err := a.tryPlace(context.Background()); err == nil || err.Error() != "working directory "+b.iwd+": no such file or directory" {
			t.Errorf("Place without the working directory = %v", err)
		}
	})
	bothWays(t, "no folder", func(t *testing.T, b bench) {
		a := b.attempt("ShouldTransferFiles", `"YES"`)
		os.Remove(b.execute)
		var refused *StartError
		_, err := a.tryPlace(context.Background())
		if b.apart { // the other end sees the link end
			_, err = a.there.Receive(context.Background(), strings.NewReader(""))
		}
		if !errors.As(err, &refused) || !refused.Passing {
			t.Errorf("Place without the folder of scratch directories = %v, want an error of the machine's", err)
		}
	})
}

func TestPlaceIsCancelled(t *testing.T) {
	bothWays(t, "a file", func(t *testing.T, b bench) {
		b.write(b.iwd, "a", "A", 0o644)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := b.attempt("TransferInput", `"a"`).tryPlace(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Place with a cancelled context = %v, want that", err)
		}
	})
}

// Whatever names are asked for, nothing is written outside the scratch directory.
func TestInputsStayInside(t *testing.T) {
	part := rapid.SampledFrom([]string{"..", ".", "", "a", "sub", "b", "links", "out"})
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		if rapid.Bool().Draw(rt, "apart") {
			b = b.apartFrom()
		}
		b.write(b.iwd, "a", "A", 0o644)
		b.write(b.iwd, "sub/b", "B", 0o644)
		b.write(b.iwd, "sub/links/out/x", "X", 0o644)
		testenv.OK(t, os.Symlink(b.iwd, filepath.Join(b.iwd, "links")))
		before := tree(t, b.iwd)
		var names []string
		for range rapid.IntRange(1, 4).Draw(rt, "names") {
			names = append(names, strings.Join(rapid.SliceOfN(part, 1, 4).Draw(rt, "name"), "/"))
		}
		preserve := rapid.SampledFrom([]string{"true", "false"}).Draw(rt, "preserve")
		pairs := []string{"TransferInput", `"` + strings.Join(names, ",") + `"`, "PreserveRelativePaths", preserve}
		if job, err := b.job(pairs...); err == nil && job.Transfer != nil {
			b.attempt(pairs...).tryPlace(context.Background())
		}
		if got := tree(t, b.iwd); got != before {
			rt.Fatalf("inputs %q: Iwd was %s and is %s", names, before, got)
		}
		entries, _ := os.ReadDir(b.execute)
		if len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "12.0.1" {
			rt.Fatalf("inputs %q: the folder of scratch directories has %v", names, entries)
		}
		RemoveTree(b.scratch())
	})
}

func FuzzParseRemaps(f *testing.F) {
	for _, text := range []string{"a = b; c = d", "a=b;", `a\=b = c\;d`, "a", "=", ";;", "a = http://x", `\`, "a/../b = c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		remaps, err := parseRemaps(text)
		if err != nil && remaps != nil {
			t.Errorf("parseRemaps(%q) = %q with the error %v", text, remaps, err)
		}
		for name, target := range remaps {
			if target == "" || target != strings.TrimSpace(target) || isURL(target) || name != filepath.Clean(name) {
				t.Errorf("parseRemaps(%q) has %q = %q", text, name, target)
			}
		}
	})
}
