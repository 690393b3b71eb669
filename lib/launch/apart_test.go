package launch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

func TestApartTransfers(t *testing.T) {
	for _, c := range []struct {
		should, in string
		want       bool
	}{{"", "", true}, {"IF_NEEDED", "", true}, {"YES", "", true}, {"", "a", true}, {"NO", "", false}, {"no", "a", false}} {
		b := newBench(t).apartFrom()
		job, err := b.job("ShouldTransferFiles", `"`+c.should+`"`, "TransferInput", `"`+c.in+`"`, "Out", `"out"`)
		if err != nil || (job.Transfer != nil) != c.want {
			t.Errorf("%q with inputs %q: transfers = %v, %v, want %v", c.should, c.in, job.Transfer != nil, err, c.want)
		}
		if there := job.There(); !c.want && (there.Cmd != job.Cmd || there.Dir != b.iwd || there.Out != job.Out) {
			t.Errorf("%q: There = %+v, want the job as it was", c.should, there)
		}
	}
}

func TestThere(t *testing.T) {
	b := newBench(t).apartFrom()
	scratch := b.scratch()
	for _, c := range []struct {
		name                      string
		pairs                     []string
		cmd, arg0, in, out, error string
	}{
		{"nothing but a program", nil, scratch + "/condor_exec.exe", b.iwd + "/run", os.DevNull, os.DevNull, os.DevNull},
		{"all files", []string{"In", `"in"`, "Out", `"out"`, "Err", `"err"`}, scratch + "/condor_exec.exe", b.iwd + "/run",
			scratch + "/_condor_stdin", scratch + "/_condor_stdout", scratch + "/_condor_stderr"},
		{"one file for both", []string{"Out", `"o"`, "Err", `"./o"`}, scratch + "/condor_exec.exe", b.iwd + "/run", os.DevNull, scratch + "/_condor_stdout", scratch + "/_condor_stdout"},
		{"it comes with the inputs", []string{"TransferExecutable", "false"}, scratch + "/run", "", os.DevNull, os.DevNull, os.DevNull},
		{"it is there", []string{"TransferExecutable", "false", "Cmd", `"/bin/run"`}, "/bin/run", "", os.DevNull, os.DevNull, os.DevNull},
	} {
		got := b.attempt(append([]string{"Cmd", `"run"`}, c.pairs...)...).there
		if got.Cmd != c.cmd || got.Arg0 != c.arg0 || got.In != c.in || got.Out != c.out || got.Err != c.error || got.Dir != scratch {
			t.Errorf("%s: There = %+v, want %+v in %s", c.name, got, c, scratch)
		}
		for _, e := range []string{"_CONDOR_JOB_IWD=" + scratch, "_CONDOR_SCRATCH_DIR=" + scratch} {
			if !slices.Contains(got.Env, e) {
				t.Errorf("%s: environment %q lacks %s", c.name, got.Env, e)
			}
		}
	}
}

// run runs the job and waits for its end.
func (a attempt) run() {
	a.Helper()
	if end := start(a.T, a.there, nil).Wait(); end.Code != 0 || end.Signal != 0 {
		a.Fatalf("the job has ended with %+v", end)
	}
}

// whole has an attempt run from its inputs to its output.
func (a attempt) whole() {
	a.Helper()
	placed := a.place()
	a.run()
	if err := a.back(context.Background(), placed, Output); err != nil {
		a.Errorf("the output: %v", err)
	}
}

// TestApartRuns has jobs run whose files are elsewhere as they run where they are.
func TestApartRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		pairs  []string
		want   string // in Iwd afterwards
	}{
		{"all of it", `tr a-z A-Z; cat data; echo e >&2; echo made >made`, nil, "err=e\n in=in\n made=made\n out=IN\ndata\n"},
		{"one file", `echo 1; echo 2 >&2; echo 3`, []string{"Err", `"out"`}, "in=in\n out=1\n2\n3\n"},
		{"one file by a link", `echo 1; echo 2 >&2`, []string{"Err", `"alias"`}, "alias>out in=in\n out=1\n2\n"},
		{"it appends", `echo more`, []string{"AppendFiles", `"out"`}, "err= in=in\n out=before\nmore\n"},
		{"it appends to one file", `echo more; echo e >&2`, []string{"AppendFiles", `"out"`, "Err", `"out"`}, "in=in\n out=before\nmore\ne\n"},
		{"nobody wants it", `echo lost`, []string{"Out", `"/dev/null"`, "Err", `""`}, "in=in\n out=before\n"},
		{"output that is listed", `echo a >a; mkdir d; echo b >d/b`, []string{"TransferOutput", `"d, out, a"`}, "a=a\n d/ d/b=b\n err= in=in\n out="},
	} {
		bothWays(t, c.name, func(t *testing.T, b bench) {
			b.write(b.iwd, "run", "#!/bin/sh\n"+c.script+"\n", 0o755)
			b.write(b.iwd, "in", "in\n", 0o644)
			b.write(b.iwd, "data", "data\n", 0o644)
			b.write(b.iwd, "out", "before\n", 0o640)
			if strings.Contains(c.name, "link") {
				testenv.OK(t, os.Symlink("out", filepath.Join(b.iwd, "alias")))
			}
			a := b.attempt(append([]string{"Cmd", `"run"`, "In", `"in"`, "Out", `"out"`, "Err", `"err"`, "TransferInput", `"data"`}, c.pairs...)...)
			a.whole()
			for _, name := range []string{"run", "data"} {
				os.Remove(filepath.Join(b.iwd, name))
			}
			if got := strings.ReplaceAll(tree(t, b.iwd), ":rw-r-----", ""); got != c.want {
				t.Errorf("Iwd has %q, want %q", got, c.want)
			}
			if info, err := os.Stat(filepath.Join(b.iwd, "out")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the output has mode %v, %v, want that it had", info.Mode(), err)
			}
		})
	}
}

func TestApartArgument0(t *testing.T) {
	bothWays(t, "it", func(t *testing.T, b bench) {
		testenv.OK(t, os.Symlink("/bin/sh", filepath.Join(b.iwd, "shell")))
		b.attempt("Cmd", `"shell"`, "Arguments", `"-c 'echo $0'"`, "Out", `"out"`, "ShouldTransferFiles", `"YES"`).whole()
		if got, want := contents(t, b.iwd+"/out"), b.iwd+"/shell\n"; got != want {
			t.Errorf("argument 0 is %q, want %q", got, want)
		}
	})
}

// What a job has written to files that it appends to is there once, whatever became of its attempts.
func TestApartAppends(t *testing.T) {
	b := newBench(t).apartFrom()
	b.write(b.iwd, "out", "before\n", 0o644)
	again := []string{"Cmd", `"/bin/sh"`, "Out", `"out"`, "Err", `"err"`, "CheckpointExitCode", "85", "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`}
	try := func(word string, of Files, pairs ...string) {
		t.Helper()
		a := b.attempt(slices.Concat(again, pairs, []string{"Arguments", `"-c 'echo ` + word + `'"`})...)
		placed := a.place()
		a.run()
		if of < 0 { // the attempt is lost
			return
		}
		for range 2 { // the answer to the first is lost
			if err := a.back(t.Context(), placed, of); err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			if of != Checkpoint {
				break
			}
		}
	}
	has := func(want string) {
		t.Helper()
		if got := contents(t, b.iwd+"/out"); got != want {
			t.Errorf("the output is %q, want %q", got, want)
		}
	}
	try("one", Checkpoint)
	has("one\n")
	try("two", Checkpoint, "NumJobStarts", "1")
	try("lost", -1, "NumJobStarts", "2")
	has("one\n")
	try("three", Rest, "NumJobStarts", "2")
	has("one\n")
	if _, err := os.Lstat(filepath.Join(b.staging, "12.0.kept", executableName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program is kept: %v", err)
	}
	try("four", Output, "NumJobStarts", "3", "TransferOutput", `""`)
	has("one\ntwo\nthree\nfour\n")
	try("five", Output, "NumJobStarts", "4", "TransferOutput", `""`) // it ran again after its end
	has("one\ntwo\nthree\nfour\nfive\n")
}

// Which files are meant may come from another machine, too.
func TestApartUnknownFiles(t *testing.T) {
	a := newBench(t).apartFrom().attempt()
	placed := a.place()
	for _, of := range []Files{-1, Rest + 1} {
		if err := a.there.SendBack(t.Context(), io.Discard, placed, of); err == nil {
			t.Errorf("SendBack of %d = nil, want an error", of)
		}
		if err := a.job.TakeBack(t.Context(), strings.NewReader(""), of); err == nil || isLink(err) {
			t.Errorf("TakeBack of %d = %v, want an error", of, err)
		}
	}
	none := Job{}
	if err := none.TakeBack(t.Context(), strings.NewReader(""), Output); err == nil {
		t.Error("TakeBack for a job that transfers nothing = nil, want an error")
	}
}

// A job that transfers nothing gets a scratch directory, and nothing else.
func TestApartInPlace(t *testing.T) {
	b := newBench(t).apartFrom()
	job, err := b.job("ShouldTransferFiles", `"NO"`)
	testenv.OK(t, err)
	there := job.There()
	sent, received := through(
		func(w io.Writer) error { return job.Send(t.Context(), w) },
		func(r io.Reader) error { _, err := there.Receive(t.Context(), r); return err })
	entries, _ := os.ReadDir(there.Scratch)
	if sent != nil || received != nil || len(entries) != 2 {
		t.Errorf("Send = %v, Receive = %v, %v is there, want the two notes", sent, received, entries)
	}
}

// An output that cannot be stored is no reason to lose or repeat what the job wrote.
func TestApartOutputFails(t *testing.T) {
	for _, appends := range []bool{false, true} {
		b := newBench(t).apartFrom()
		b.write(b.iwd, "out", "before\n", 0o644)
		pairs := []string{"Cmd", `"/bin/sh"`, "Out", `"out"`, "TransferOutput", `"gone"`, "Arguments", `"-c 'echo it'"`}
		want := "it\n"
		if appends {
			pairs, want = append(pairs, "AppendFiles", `"out"`), "before\nit\n"
		}
		a := b.attempt(pairs...)
		placed := a.place()
		a.run()
		err := a.back(t.Context(), placed, Output)
		if want := "output gone: the job has left no such file"; err == nil || err.Error() != want {
			t.Errorf("Output = %v, want %s", err, want)
		}
		if err := a.back(t.Context(), placed, Rest); err != nil {
			t.Errorf("Rest = %v, want nil", err)
		}
		if got := contents(t, b.iwd+"/out"); got != want {
			t.Errorf("the output is %q, want %q", got, want)
		}
	}
}

func TestSendRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  string
		code  int
	}{
		{"no program", []string{"Cmd", `"gone"`}, "executable IWD/gone: no such file or directory", HoldStart},
		{"a directory", []string{"Cmd", `"dir"`}, "executable IWD/dir: is a directory", HoldStart},
		{"no executable", []string{"Cmd", `"file"`}, "executable IWD/file: no user may execute it: chmod +x it", HoldStart},
		{"no input", []string{"In", `"gone"`}, "input IWD/gone: no such file or directory", HoldStdin},
		{"a pipe as input", []string{"In", `"pipe"`}, "input IWD/pipe: neither a file nor a directory", HoldStdin},
		{"no directory for output", []string{"Out", `"no/out"`}, "output IWD/no/out: the directory IWD/no does not exist", HoldStdout},
		{"a device as error", []string{"Err", `"/dev/full"`}, "error /dev/full: neither a file nor a directory", HoldStdout},
		{"output is input", []string{"In", `"file"`, "Out", `"file"`}, "output IWD/file: is the input as well", HoldStdout},
		{"output is the program", []string{"Cmd", `"run"`, "Out", `"run"`}, "output IWD/run: is the executable", HoldStdout},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t).apartFrom()
			b.write(b.iwd, "file", "F", 0o644)
			b.write(b.iwd, "run", "R", 0o755)
			b.write(b.iwd, "dir/x", "X", 0o755)
			testenv.OK(t, unix.Mkfifo(filepath.Join(b.iwd, "pipe"), 0o644))
			_, err := b.attempt(c.pairs...).tryPlace(t.Context())
			var refused *StartError
			want := strings.ReplaceAll(c.want, "IWD", b.iwd)
			if !errors.As(err, &refused) || err.Error() != want || refused.Code != c.code {
				t.Errorf("Send = %v (%+v), want %s, code %d", err, refused, want, c.code)
			}
		})
	}
}

// Names, sizes, modes and times of files are the same behind both hops.
func TestApartKeepsFiles(t *testing.T) {
	b := newBench(t).apartFrom()
	at := time.Unix(1_000_000_000, 123_456_789)
	sizes := map[string]int{
		"empty": 0, "one": 1, "block": 512, "buffer": bufferSize, "more": bufferSize + 1, "much": 17*bufferSize + 3,
		"\xff\xfe": 3, "a\nb": 3, strings.Repeat("x", 255): 3, "end": 3, "kept": 3, " ": 3, "ü": 3,
	}
	for name, size := range sizes {
		b.write(b.iwd, "d/"+name, strings.Repeat(string(rune('a'+size%26)), size), 0o640)
		testenv.OK(t, os.Chtimes(filepath.Join(b.iwd, "d", name), at, at))
	}
	a := b.attempt("TransferInput", `"d"`, "TransferOutput", `"d"`, "TransferOutputRemaps", `"d = e"`, "TransferExecutable", "false")
	placed := a.place()
	testenv.OK(t, a.back(t.Context(), placed, Output))
	for name, size := range sizes {
		for _, path := range []string{filepath.Join(b.scratch(), "d", name), filepath.Join(b.iwd, "e", name)} {
			info, err := os.Stat(path)
			if err != nil || info.Size() != int64(size) || info.Mode().Perm() != 0o640 {
				t.Errorf("%q: %v, %v, want %d bytes, mode 0640", path, info, err, size)
			} else if got := contents(t, path); got != contents(t, filepath.Join(b.iwd, "d", name)) {
				t.Errorf("%q holds something else", path)
			} else if strings.HasPrefix(path, b.scratch()) && !info.ModTime().Equal(at) {
				t.Errorf("%q has the time %v, want %v", path, info.ModTime(), at)
			}
		}
	}
	var total int64
	for _, size := range sizes {
		total += int64(size)
	}
	for _, j := range []Job{a.job, a.there} {
		if received, sent := j.Transfer.Copied(); received != total || sent != total {
			t.Errorf("Copied = %d, %d, want %d each", received, sent, total)
		}
	}
}

// A stream that is cut anywhere is an error, and nothing comes of it.
func TestCutStream(t *testing.T) {
	b := newBench(t).apartFrom()
	b.write(b.iwd, "a", strings.Repeat("a", 700), 0o644)
	b.write(b.iwd, "sub/b", "B", 0o644)
	a := b.attempt("TransferInput", `"a, sub"`, "TransferOutput", `"a, sub"`, "TransferOutputRemaps", `"a = new; sub = news"`,
		"TransferExecutable", "false", "Out", `"out"`, "WhenToTransferOutput", `"ON_EXIT_OR_EVICT"`)
	var sent, back bytes.Buffer
	testenv.OK(t, a.job.Send(t.Context(), &sent))
	whole := sent.Bytes()
	// The blocks of zeros behind the last entry are no loss.
	end := bytes.LastIndex(whole, []byte("ustar")) / 512 * 512
	for n := 0; n < len(whole); n += 64 {
		_, err := a.there.Receive(t.Context(), bytes.NewReader(whole[:n]))
		if _, e := os.Lstat(a.there.Scratch); n < end+512 && (err == nil || !isLink(err) || !errors.Is(e, fs.ErrNotExist)) {
			t.Errorf("Receive of %d of %d bytes = %v, scratch directory: %v", n, len(whole), err, e)
		}
	}
	placed, err := a.there.Receive(t.Context(), &sent)
	testenv.OK(t, err)
	before := tree(t, b.iwd)
	for _, of := range []Files{Output, Checkpoint, Rest} {
		back.Reset()
		testenv.OK(t, a.there.SendBack(t.Context(), &back, placed, of))
		for n := 0; n < bytes.LastIndex(back.Bytes(), []byte("ustar"))/512*512; n += 64 {
			if err := a.job.TakeBack(t.Context(), bytes.NewReader(back.Bytes()[:n]), of); !isLink(err) {
				t.Errorf("TakeBack of %d bytes = %v, want an error of the link", n, err)
			}
		}
		if entries, _ := os.ReadDir(b.staging); len(entries) > 0 || tree(t, b.iwd) != before {
			t.Errorf("streams that were cut have left %v, and Iwd %s, want %s", entries, tree(t, b.iwd), before)
		}
	}
}

// A link that fails is no fault of the files.
func TestBrokenLink(t *testing.T) {
	b := newBench(t).apartFrom()
	b.write(b.iwd, "a", strings.Repeat("a", 3*bufferSize), 0o644)
	a := b.attempt("TransferInput", `"a"`, "TransferExecutable", "false")
	r, w := io.Pipe()
	r.CloseWithError(unix.EPIPE)
	var refused *StartError
	if err := a.job.Send(t.Context(), w); !errors.Is(err, unix.EPIPE) || errors.As(err, &refused) {
		t.Errorf("Send into a broken link = %v, want its error", err)
	}
	if err := a.there.SendBack(t.Context(), w, a.place(), Rest); !errors.Is(err, unix.EPIPE) || errors.As(err, &refused) {
		t.Errorf("SendBack into a broken link = %v, want its error", err)
	}
	r, w = io.Pipe()
	w.CloseWithError(unix.ECONNRESET)
	if _, err := a.there.Receive(t.Context(), r); !errors.Is(err, unix.ECONNRESET) || errors.As(err, &refused) {
		t.Errorf("Receive from a broken link = %v, want its error", err)
	}
}

// An output that its machine cannot read is told of by it, and the others come.
func TestSendBackUnreadable(t *testing.T) {
	b, account := benchOf(t)
	b.staging, b.apart = filepath.Join(filepath.Dir(b.execute), "staging"), true
	a := b.attempt("TransferOutput", `"closed, open"`, "TransferExecutable", "false")
	placed := a.place()
	account.As(func() error {
		b.write(b.scratch(), "closed", "C", 0)
		b.write(b.scratch(), "open", "O", 0o644)
		return nil
	})
	err := a.back(t.Context(), placed, Output)
	if want := "output " + b.scratch() + "/closed: permission denied"; err == nil || err.Error() != want {
		t.Errorf("SendBack = %v, want %s", err, want)
	}
	if got, want := tree(t, b.iwd), "open=O"; got != want {
		t.Errorf("Iwd has %s, want %s", got, want)
	}
}

// isLink reports whether an error is of the stream.
func isLink(err error) bool {
	var e *linkError
	return errors.As(err, &e)
}

// Of the links that a job leaves in an output those stay that lead to something there.
func TestApartLinks(t *testing.T) {
	b := newBench(t).apartFrom()
	a := b.attempt("TransferOutput", `"d"`)
	placed := a.place()
	b.write(b.scratch(), "d/e/x", "X", 0o644)
	for name, to := range map[string]string{"d/file": "e/x", "d/dir": "e", "d/e/up": "..", "d/out": "../..", "d/gone": "nothing", "d/root": "/"} {
		testenv.OK(t, os.Symlink(to, filepath.Join(b.scratch(), name)))
	}
	testenv.OK(t, a.back(t.Context(), placed, Output))
	if got, want := tree(t, b.iwd), "d/ d/dir>e d/e/ d/e/up>.. d/e/x=X d/file=X d/gone>nothing"; got != want {
		t.Errorf("Iwd has %s, want %s", got, want)
	}
}

// All is read, made and written with the rights of the account.
func TestApartRunsAsItsOwner(t *testing.T) {
	bothWaysAs(t, func(t *testing.T, b bench, account Account) {
		b.write(b.iwd, "run", "#!/bin/sh\ncat; id -u\necho made >made\n", 0o655) // others may execute it, its owner not
		b.write(b.iwd, "in", "in\n", 0o644)
		a := b.attempt("Cmd", `"run"`, "In", `"in"`, "Out", `"out"`, "ShouldTransferFiles", `"YES"`)
		a.whole()
		if got := contents(t, filepath.Join(b.iwd, "out")); got != "in\n65534\n" {
			t.Errorf("the output is %q, want its input and who it was", got)
		}
		for _, name := range []string{"out", "made"} {
			if got := ownerOf(t, filepath.Join(b.iwd, name)); got != account.UID {
				t.Errorf("%s belongs to %d, want %d", name, got, account.UID)
			}
		}
		b.write(b.iwd, "closed", "#!/bin/sh\n", 0o711)
		_, err := b.attempt("Cmd", `"closed"`, "ShouldTransferFiles", `"YES"`).tryPlace(t.Context())
		if want := "executable " + b.iwd + "/closed: permission denied"; b.apart && (err == nil || err.Error() != want) {
			t.Errorf("Send of a program that may only be executed = %v, want %s", err, want)
		}
	})
}

// BenchmarkApart copies an input of 256 MB to a scratch directory by way of a pipe of the system's.
func BenchmarkApart(b *testing.B) {
	const size = 256 << 20
	dir := b.TempDir()
	testenv.OK(b, os.WriteFile(filepath.Join(dir, "big"), make([]byte, size), 0o644))
	here := Job{Dir: dir, In: os.DevNull, Out: os.DevNull, Err: os.DevNull, Scratch: filepath.Join(dir, "there")}
	here.Transfer = &Transfer{Iwd: dir, Scratch: here.Scratch, apart: true,
		inputs: []parcel{{name: "big", from: filepath.Join(dir, "big"), to: filepath.Join(here.Scratch, "big")}}}
	b.SetBytes(size)
	for b.Loop() {
		r, w, err := os.Pipe()
		testenv.OK(b, err)
		sent := make(chan error, 1)
		go func() {
			err := here.Send(context.Background(), w)
			w.Close()
			sent <- err
		}()
		if _, err := here.There().Receive(context.Background(), r); err != nil {
			b.Fatal(err, <-sent)
		}
		r.Close()
	}
	RemoveTree(here.Scratch)
}
