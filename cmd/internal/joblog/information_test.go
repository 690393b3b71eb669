package joblog

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/lib/userlog"
)

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
	if err := Of(ad).Append("", userlog.Event{Job: id, At: at, Body: userlog.Released{}}, userlog.Event{Job: id, At: at, Body: userlog.Aborted{}}); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "root", Domain: "example.org", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c, err := jobs.Expand(1)
	if err != nil {
		t.Fatal(err)
	}
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
