package submit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// started returns what the starter makes of an ad, as the spool keeps it, with a slot.
func started(t *rapid.T, ad *classad.Ad, proc int) launch.Job {
	kept, err := classad.ParseAd(ad.Flat().Format(classad.StyleSpool))
	if err != nil {
		t.Fatalf("the ad is not read again: %v", err)
	}
	kept.SetInt(pool.AttrClusterID, 12)
	kept.SetInt(pool.AttrProcID, int64(proc))
	slot := classad.New()
	slot.SetString("Name", "slot1@node1")
	expanded, _, err := launch.Expand(kept, slot, nil)
	testenv.OK(t, err)
	job, err := launch.FromAd(expanded, launch.Place{Scratch: "/scratch", SlotAd: slot}, launch.Account{Name: "alice", Home: "/home/alice"})
	testenv.OK(t, err)
	return job
}

// TestCommandLineWords is a law: a job is started with the very words of the command line, and a
// variable of the environment is what it was, whether the job is there at once or appears late.
func TestCommandLineWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{"$", "$$(Name)", "$$(CondorScratchDir)", "$(Process)", "$ENV(HOME)", "'", "\"", " ", "\n", "\t", "\\", "\xff", "#", "=", "-"}),
			rapid.StringMatching(`[^\x00]*`))
		word := rapid.Map(rapid.SliceOfN(piece, 0, 4), func(list []string) string { return strings.Join(list, "") })
		words := rapid.SliceOf(word).Draw(t, "words")
		variable := "A=" + word.Draw(t, "variable")
		d, _, err := submitfile.Parse("", commandLine, submitfile.Options{Define: []string{"max_materialize = 1"}, Queue: "2", HasQueue: true})
		testenv.OK(t, err)
		jobs, _, err := jobad.New(d, jobad.Options{
			Owner: "alice", Domain: "example.org", Dir: "/data", Environ: []string{variable}, Getenv: true,
			Command: submitfile.Exactly(append([]string{"/bin/echo"}, words...)), KeepOutput: "echo",
		})
		testenv.OK(t, err)
		at, digest, offset, err := jobs.Begin(12)
		testenv.OK(t, err)
		late, _, err := jobad.Materialize(bytes.NewReader(digest), "example.org", 12, 1, 1, offset, time.Unix(0, 0))
		testenv.OK(t, err)
		for proc, c := range []jobad.Cluster{at, late} {
			job := started(t, c.Runs[0].Ad().Chain(c.Ad), proc)
			if job.Cmd != "/bin/echo" || !slices.Equal(job.Args, words) || !slices.Contains(job.Env, variable) {
				t.Errorf("proc %d is started as %s %q with %q, want %q and %q", proc, job.Cmd, job.Args, job.Env, words, variable)
			}
			if want := [...]string{"/data/echo.12.0.out", "/data/echo.12.1.out"}[proc]; job.Out != want {
				t.Errorf("proc %d writes %s, want %s", proc, job.Out, want)
			}
		}
	})
}

func TestFileName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"echo", "echo"}, {"a b", "a_b"}, {"a/b", "a_b"}, {"a\nb", "a_b"}, {".hidden", "_hidden"}, {"..", "_."}, {"-rf", "_rf"},
		{"", "_"}, {"/", "_"}, {"$(Process)", "__Process_"}, {"\xff", "_"}, {"größe-1.5", "größe-1.5"}, {"g++", "g++"}, {`"x"`, "_x_"},
		{strings.Repeat("x", 300), strings.Repeat("x", maxFileName)}, {"x" + strings.Repeat("ü", 100), "x" + strings.Repeat("ü", 49)},
	} {
		if got := fileName(c.name); got != c.want {
			t.Errorf("fileName(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	err := errors.Join(os.Mkdir("bin", 0o755), os.Mkdir("bin/folder", 0o755), os.WriteFile("bin/there", nil, 0o755),
		os.WriteFile("bin/plain", nil, 0o644), os.WriteFile("run", nil, 0o755), os.WriteFile("a.sub", nil, 0o644))
	testenv.OK(t, err)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for _, c := range []struct{ name, want string }{
		{"there", dir + "/bin/there"}, {"./run", dir + "/run"}, {"bin/there", dir + "/bin/there"},
		{"bin/../run", dir + "/bin/../run"}, {dir + "/run", dir + "/run"},
	} {
		if got, err := lookUp(c.name, dir); got != c.want || err != nil {
			t.Errorf("lookUp(%s) = %s, %v, want %s", c.name, got, err, c.want)
		}
	}
	for _, name := range []string{"none", "plain", "folder", "run", "a.sub", "./none", "./a.sub", "./bin", "run/x", "-x"} {
		_, err := lookUp(name, dir)
		refusal(t, "submit -- "+name, err)
	}
	t.Setenv("PATH", ".")
	if got, err := lookUp("run", dir); got != dir+"/run" || err != nil {
		t.Errorf("lookUp(run) in the current folder, which is in PATH, = %s, %v", got, err)
	}
}

func TestWallTime(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1", "1"}, {"90", "90"}, {"90s", "90"}, {"90m", "5400"}, {"2h", "7200"}, {"1h30m", "5400"}, {"2d", "172800"}, {"1d1h1m1s", "90061"},
		{"1:30:00", "5400"}, {"100:00:01", "360001"}, {"36500d", "3153600000"},
		{"", ""}, {"0", ""}, {"0h", ""}, {"1:30", ""}, {"1:60:00", ""}, {"1.5h", ""}, {"h", ""}, {"1m1h", ""}, {"-1", ""}, {"1 h", ""},
		{"2H", ""}, {"36501d", ""}, {strings.Repeat("9", 400), ""}, {"1:00:00:00", ""},
	} {
		if got, err := wallTime(c.text); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("wallTime(%q) = %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

// TestRequests holds that each flag sets what its command sets, over what the description says.
func TestRequests(t *testing.T) {
	for _, c := range []struct{ flag, value, lines, attr, want string }{
		{"cpus", "2", "request_cpus = 8", "RequestCpus", "2"},
		{"cpus", "2", "RequestCpus = 8", "RequestCpus", "2"},
		{"memory", "4G", "request_memory = 1", "RequestMemory", "4096"},
		{"memory", "1.5 GB", "", "RequestMemory", "1536"},
		{"gpus", "1", "request_gpus = 2", "RequestGPUs", "1"},
		{"time", "2h", "wall_time = 1", "WallTimeLimit", "7200"},
		{"after", "1", "", "AfterOk", `"1"`},
		{"output", "o.$(Process)", "stdout = x", "Out", `"o.0"`},
		{"error", "e", "error = x", "Err", `"e"`},
		{"name", `my "own"`, "batch_name = x", "JobBatchName", `"my \"own\""`},
		{"name", "mine", "+JobBatchName = \"x\"", "JobBatchName", `"mine"`},
	} {
		ad := submitted(t, c.lines, "-"+c.flag, c.value)
		if got := ad.Eval(&classad.Context{}, c.attr, nil).String(); got != c.want {
			t.Errorf("-%s %s over %q: %s = %s, want %s", c.flag, c.value, c.lines, c.attr, got, c.want)
		}
	}
}

// submitted returns the ad of the job that a description with these lines makes, as cluster 2.
func submitted(t *testing.T, lines string, flags ...string) *classad.Ad {
	t.Helper()
	t.Chdir(t.TempDir())
	testenv.OK(t, os.WriteFile("a.sub", []byte("executable = /bin/true\n"+lines+"\nqueue\n"), 0o644))
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.AddCluster(cmdtest.Ad(t, `[Owner = "alice"; JobStatus = 1]`), []spool.NewRun{{Count: 1}})
	})
	if status, _, bad := cmdtest.Run(Command(), append(flags, "a.sub")...); status != 0 {
		t.Fatalf("submit %q = %d, %s", flags, status, bad)
	}
	ad := classad.New()
	cmdtest.View(t, func(v *spool.View) {
		for _, job := range v.Jobs() {
			if id, _ := job.EvalInt(&classad.Context{}, pool.AttrClusterID); id == 2 {
				ad = job
			}
		}
	})
	return ad
}
