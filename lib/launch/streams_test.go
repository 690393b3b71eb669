package launch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"golang.org/x/sys/unix"

	"fairspool/internal/testenv"
)

func TestAppends(t *testing.T) {
	for _, c := range []struct {
		name     string
		pairs    []string
		out, err bool
	}{
		{"nothing asked", nil, false, false},
		{"nothing asked, again", []string{"NumJobStarts", "3"}, false, false},
		{"first start", []string{"DontAppend", "false"}, false, false},
		{"not erased, again", []string{"DontAppend", "false", "NumJobStarts", "1"}, true, true},
		{"erased, again", []string{"DontAppend", "true", "NumJobStarts", "1"}, false, false},
		{"checkpoints", []string{"CheckpointExitCode", "85"}, false, false},
		{"checkpoints, again", []string{"CheckpointExitCode", "85", "NumJobStarts", "1"}, true, true},
		{"checkpoints by signal, again", []string{"CheckpointExitBySignal", "true", "NumJobStarts", "1"}, true, true},
		{"by last name", []string{"AppendFiles", `"x, o"`}, true, false},
		{"by name in Iwd", []string{"AppendFiles", `"out/o"`}, true, false},
		{"by path", []string{"AppendFiles", `"/data/err/e,/data/o"`}, false, true},
		{"by pattern", []string{"AppendFiles", `"/data/*/*"`}, true, true},
	} {
		ad := jobAd(t, append([]string{"Cmd", `"/bin/true"`, "Iwd", `"/data"`, "Out", `"out/o"`, "Err", `"err/e"`}, c.pairs...)...)
		job, err := FromAd(ad, Place{Slot: "slot1"}, alice)
		if err != nil || job.AppendOut != c.out || job.AppendErr != c.err {
			t.Errorf("%s: appends to output %v, error %v, %v, want %v, %v", c.name, job.AppendOut, job.AppendErr, err, c.out, c.err)
		}
	}
	if _, err := FromAd(jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`, "AppendFiles", "3"), Place{}, alice); err == nil || err.Error() != "AppendFiles: want a string" {
		t.Errorf("AppendFiles = 3: %v, want an error", err)
	}
}

// A pattern is a regular expression in which only * means something.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,6}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(text)
		if got := matches(pattern, text); got != want {
			t.Fatalf("matches(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name           string
		out, err, both bool // both: in one file
		wantOut        string
		wantErr        string
	}{
		{"neither", false, false, false, "o\n", "e\n"},
		{"output", true, false, false, "old\no\n", "e\n"},
		{"error", false, true, false, "o\n", "old\ne\n"},
		{"one file", false, false, true, "o\ne\n", ""},
		{"one file, for output", true, false, true, "old\no\ne\n", ""},
		{"one file, for error", false, true, true, "old\no\ne\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := shellIn(t.TempDir(), `echo o; echo e >&2`)
			if job.AppendOut, job.AppendErr = c.out, c.err; c.both {
				job.Err = job.Out
			}
			for _, name := range []string{job.Out, job.Err} {
				testenv.OK(t, os.WriteFile(name, []byte("old\n"), 0o644))
			}
			start(t, job, nil).Wait()
			if got := contents(t, job.Out); got != c.wantOut {
				t.Errorf("output = %q, want %q", got, c.wantOut)
			}
			if got := contents(t, job.Err); !c.both && got != c.wantErr {
				t.Errorf("error = %q, want %q", got, c.wantErr)
			}
		})
	}
}

// What is appended to has its end for a position whoever else writes there.
func TestAppendTogether(t *testing.T) {
	dir := t.TempDir()
	more := filepath.Join(dir, "more")
	testenv.OK(t, unix.Mkfifo(more, 0o600))
	job := shellIn(dir, `echo one; read line <more; echo three`)
	job.AppendOut = true
	p := start(t, job, nil)
	testenv.Until(t, "the job has written", func() bool { return strings.HasSuffix(contents(t, job.Out), "one\n") })
	other, err := os.OpenFile(job.Out, os.O_WRONLY|os.O_APPEND, 0)
	testenv.OK(t, err)
	defer other.Close()
	if _, err := other.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	testenv.OK(t, os.WriteFile(more, nil, 0))
	p.Wait()
	if got, want := contents(t, job.Out), "one\ntwo\nthree\n"; got != want {
		t.Errorf("output = %q, want %q", got, want)
	}
}
