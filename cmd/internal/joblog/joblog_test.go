package joblog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	ad := func(log string) *classad.Ad {
		a := classad.New()
		a.SetString(pool.AttrIwd, dir)
		if log != "" {
			a.SetString(pool.AttrUserLog, log)
		}
		return a
	}
	var v Events
	v.Add(nil, pool.JobID{Cluster: 1}, ad("a.log"), userlog.Released{})
	v.Add(nil, pool.JobID{Cluster: 2}, ad(""), userlog.Released{})
	v.Add(nil, pool.JobID{Cluster: 3}, ad(filepath.Join(dir, "a.log")), userlog.Aborted{Reason: "why"})
	v.Add(nil, pool.JobID{Cluster: 4}, ad("no/such/folder.log"), userlog.Released{})
	var bad bytes.Buffer
	c := &cmdline.Call{Name: "toy", Stderr: &bad, Now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	v.Write(c)
	got, err := os.ReadFile(filepath.Join(dir, "a.log"))
	want := "013 (001.000.000) 2026-11-20 10:00:00 Job was released.\n...\n" +
		"009 (003.000.000) 2026-11-20 10:00:00 Job was aborted.\n\twhy\n...\n"
	if err != nil || string(got) != want {
		t.Errorf("log = %q, %v, want %q", got, err, want)
	}
	want = fmt.Sprintf("toy: job log: %s: no such file or directory; everything else is done\n", filepath.Join(dir, "no/such/folder.log"))
	if bad.String() != want {
		t.Errorf("warning = %q, want %q", bad.String(), want)
	}
}

// logs notes an event of a job for each of so many logs in a folder.
func logs(dir string, n int) (v Events) {
	for proc := range n {
		ad := classad.New()
		ad.SetString(pool.AttrIwd, dir)
		ad.SetString(pool.AttrUserLog, fmt.Sprintf("%d.log", proc))
		v.Add(nil, pool.JobID{Cluster: 1, Proc: proc}, ad, userlog.Released{})
	}
	return v
}

// Of many logs that cannot be written a few are named.
func TestWriteManyBad(t *testing.T) {
	var bad bytes.Buffer
	v := logs(filepath.Join(t.TempDir(), "nowhere"), 1000)
	v.Write(&cmdline.Call{Name: "toy", Stderr: &bad})
	lines := strings.SplitAfter(bad.String(), "\n")
	if last := "toy: job log: 990 more cannot be written either\n"; len(lines) != 12 || lines[10] != last {
		t.Errorf("%d lines of warnings, the last of them %q, want 11 with %q", len(lines)-1, lines[max(0, len(lines)-2)], last)
	}
}

// The locks of all logs take one patience together, not one each.
func TestWriteBesideForeignLocks(t *testing.T) {
	dir := t.TempDir()
	const n = 4
	for proc := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.log", proc)))
		testenv.OK(t, err)
		defer f.Close()
		testenv.OK(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	}
	var bad bytes.Buffer
	v, left := logs(dir, n), 20*time.Millisecond
	v.writeWithin(&left, &cmdline.Call{Name: "toy", Stderr: &bad})
	if left > 0 || bad.Len() > 0 {
		t.Errorf("Write has %v left of its patience and said %q, want neither", left, bad.String())
	}
	for proc := range n {
		if text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.log", proc))); err != nil || !strings.HasSuffix(string(text), "\n...\n") {
			t.Errorf("log %d = %q, %v, want an event", proc, text, err)
		}
	}
}

// A job's own attributes stand behind each event, as they are then.
func TestInformation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	ad := classad.New()
	ad.SetString(pool.AttrUserLog, path)
	ad.SetString("JobAdInformationAttrs", "Site, Nothing  NumJobStarts,")
	ad.SetString("Site", "a\nb")
	ad.SetInt("NumJobStarts", 2)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	id := pool.JobID{Cluster: 3, Proc: 1}
	testenv.OK(t, Of(nil, ad, Operator{}).Append("", userlog.Event{Job: id, At: at, Body: userlog.Released{}}, userlog.Event{Job: id, At: at, Body: userlog.Aborted{}}))
	about := func(number string) string {
		return "028 (003.001.000) 2026-11-20 10:00:00 Job ad information event triggered.\nCluster = 3\nProc = 1\nTriggerEventTypeNumber = " + number +
			"\nSite = \"a b\"\nNumJobStarts = 2\n...\n"
	}
	want := "013 (003.001.000) 2026-11-20 10:00:00 Job was released.\n...\n" + about("13") + "009 (003.001.000) 2026-11-20 10:00:00 Job was aborted.\n...\n" + about("9")
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("log = %q, %v, want %q", got, err, want)
	}
}

// Submitted jobs have what each of them wants.
func TestInformationOfSubmitted(t *testing.T) {
	dir := t.TempDir()
	d, _, err := submitfile.Parse("executable = /bin/sleep\nlog = log\njob_ad_information_attrs = JobPrio\npriority = $(Process)\nqueue 2\n", "a.sub", submitfile.Options{Dir: dir})
	testenv.OK(t, err)
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "root", Domain: "example.org", Dir: dir})
	testenv.OK(t, err)
	c, err := jobs.Expand(1)
	testenv.OK(t, err)
	var v Events
	v.Submitted(1, c, "node1")
	var bad bytes.Buffer
	v.Write(&cmdline.Call{Name: "toy", Stderr: &bad})
	got, err := os.ReadFile(filepath.Join(dir, "log"))
	for _, want := range []string{"Proc = 0\nTriggerEventTypeNumber = 0\nJobPrio = 0\n...\n", "Proc = 1\nTriggerEventTypeNumber = 0\nJobPrio = 1\n...\n"} {
		if err != nil || !bytes.Contains(got, []byte(want)) {
			t.Errorf("log = %q, %v, want %q in it", got, err, want)
		}
	}
	if bad.Len() > 0 {
		t.Errorf("Write said %q, want nothing", bad.String())
	}
}

// What root writes on behalf of a user goes where the user may write, and nowhere
// else.
func TestRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write with the rights of others")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("no user to be: %v", err)
	}
	dir, err := os.MkdirTemp("", "joblog")
	testenv.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range map[string]fs.FileMode{"": 0o755, "roots": 0o755, "all": 0o777} {
		testenv.OK(t, errors.Join(os.MkdirAll(filepath.Join(dir, name), mode), os.Chmod(filepath.Join(dir, name), mode)))
	}
	logOf := func(path, owner string) Log {
		ad := classad.New()
		ad.SetString(pool.AttrIwd, dir)
		ad.SetString(pool.AttrUserLog, path)
		ad.SetString(pool.AttrOwner, owner)
		return Of(nil, ad, Operator{})
	}
	event := userlog.Event{At: time.Unix(0, 0).UTC(), Body: userlog.Released{}}
	if err := logOf("roots/log", "nobody").Append("", event); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Append for nobody in a folder of root = %v, want permission denied", err)
	}
	if err := logOf("all/log", "nobody").Append("", event); err != nil {
		t.Errorf("Append for nobody in a folder for all = %v, want none", err)
	}
	info, err := os.Stat(filepath.Join(dir, "all", "log"))
	testenv.OK(t, err)
	if uid := info.Sys().(*syscall.Stat_t).Uid; strconv.Itoa(int(uid)) != nobody.Uid {
		t.Errorf("owner of the log = %d, want %s", uid, nobody.Uid)
	}
	if err := logOf("roots/log", "root").Append("", event); err != nil {
		t.Errorf("Append for root = %v, want none", err)
	}
}

// What a log shows of a job is evaluated while the spool is not locked.
func TestShownOutsideLock(t *testing.T) {
	s, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{Program: "test"})
	testenv.OK(t, err)
	ad, err := classad.ParseAd(`[ UserLog = strcat("/tmp/", Foo); Foo = "log"; Bar = Foo; JobAdInformationAttrs = "Bar" ]`)
	testenv.OK(t, err)
	var forked []bool
	var log Log
	testenv.OK(t, lifecycle.Update(s, func(tx *spool.Tx) error {
		log = Of(tx, ad, Operator{})
		forked = append(forked, tx.Forked)
		return nil
	}))
	if want := (Log{Path: "/tmp/log", Shown: `Bar = "log"`}); log != want || !slices.Equal(forked, []bool{true, false}) {
		t.Errorf("the log is %v, found in runs that were forks' %v, want %v, in a fork first", log, forked, want)
	}
}
