package jobad

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
)

// evict has a job leave for want of a resource, sets what that sets, and tells it.
func evict(t *testing.T, ad *classad.Ad, subcode int) string {
	t.Helper()
	set, again, err := Evicted(&classad.Context{Now: time.Unix(0, 0)}, ad, OutOfResources, subcode)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, a := range set {
		ad.Set(a.Name, a.Value)
		out = append(out, a.Name+"="+a.Value.String())
	}
	if again {
		out = append(out, "again")
	}
	return strings.Join(out, " ")
}

// submitted returns the ad of the first job of a description.
func submitted(t *testing.T, text string) *classad.Ad {
	t.Helper()
	d, _ := parse(t, sleep+text+"\nqueue\n")
	cluster, err := d.Expand(1)
	if err != nil {
		t.Fatalf("Expand of %q = %v", text, err)
	}
	return cluster.Runs[0].Ad().Chain(cluster.Ad).Flat()
}

// What a job asks for from attempt to attempt: as HTCondor's own test of retries has it,
// where it is about the same.
func TestEvicted(t *testing.T) {
	for _, c := range []struct {
		text    string
		subcode int
		want    []string // of one eviction after the other
	}{
		{"request_memory = 1GB\nretry_request_memory = 2GB", OutOfMemory, []string{"RequestMemory=2048 again", "", ""}},
		{"request_memory = 128\nretry_request_memory = 250 MB, 500 MB", OutOfMemory,
			[]string{"RequestMemory=250 RetryRequestMemoryIndex=1 again", "RequestMemory=500 again", "", ""}},
		{"request_memory = 128, 250, 500", OutOfMemory, []string{"RequestMemory=250 RetryRequestMemoryIndex=1 again", "RequestMemory=500 again", ""}},
		{"request_memory = 50\nretry_request_memory_increase = 200MB\nretry_request_memory_max = 300MB", OutOfMemory,
			[]string{"RequestMemory=250 again", "RequestMemory=300 again", "", ""}},
		{"request_memory = 100\nretry_request_memory_increase = RequestMemory * 2\n+x = 1", OutOfMemory, []string{"RequestMemory=200 again", ""}},
		{"retry_request_memory_increase = MemoryUsage * 3\n+MemoryUsage = 100", OutOfMemory, []string{"RequestMemory=300 again", ""}},
		{"retry_request_memory_increase = NoSuch * 3", OutOfMemory, []string{"TransformBody_RequestMemory: RequestMemory: NextRequestMemory is undefined"}},
		{"request_memory = 1GB\nretry_request_memory = 2GB", OutOfDisk, []string{""}},
		{bigger + "\nrequest_memory = 1GB, 2GB", OutOfMemory, []string{"Tries=1 RequestMemory=2048 again", ""}},
		{"request_disk = 10MB\nretry_request_disk = 20MB", OutOfDisk, []string{"RequestDisk=20480 again", ""}},
		{"request_disk = 10MB, 20MB\nrequest_memory = 128, 256", OutOfDisk, []string{"RequestDisk=20480 again", ""}},
		{"request_memory = 1GB", OutOfMemory, []string{""}},
		{"+TransformOnEvict = \"a, b a\"\n+TransformBody_a = \"SET x 5\"\n+TransformBody_b = \"evalset Y MY.x + 1\"", 0, []string{"x=5 Y=6", ""}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET x 5\\036SET X 6\"", 0, []string{"X=6", ""}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"REQUIREMENTS MY.NoSuch\\036SET x 5\"", 0, []string{""}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"REQUIREMENTS VacateReasonCode == 34\\036SET x VacateReasonCode\"", 0, []string{"x=VacateReasonCode", ""}},
		{"+TransformOnEvict = \"a\"", 0, []string{""}}, {"+TransformOnEvict = 7", 0, []string{""}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"DELETE x\"", 0, []string{`TransformBody_a: "DELETE": want REQUIREMENTS, SET or EVALSET`}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET x\"", 0, []string{"TransformBody_a: x: "}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET x 1 +\"", 0, []string{"TransformBody_a: x: "}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET y 1\\036EVALSET x 1/0\"", 0, []string{"TransformBody_a: x: 1/0 is error"}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET Owner \\\"root\\\"\"", 0, []string{"TransformBody_a: Owner: says which job it is, and whose: it cannot be changed"}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET DiskLimitedBy \\\"/etc\\\"\"", 0, []string{"TransformBody_a: DiskLimitedBy: is the pool's own record"}},
		{"+TransformOnEvict = \"a\"\n+TransformBody_a = \"SET RequestMemory -1\"", 0, []string{"TransformBody_a: RequestMemory: -1: want a number from 0 up"}},
	} {
		ad := submitted(t, c.text)
		for i, want := range c.want {
			got := evict(t, ad, c.subcode)
			if got != want && (want == "" || !strings.HasPrefix(want, "TransformBody_") || !strings.HasPrefix(got, want)) {
				t.Errorf("eviction %d of %q sets %q, want %q", i+1, c.text, got, want)
			}
		}
	}
}

// A machine's policy that names the resource is as good as the end of the resource;
// anything else is not.
func TestEvictedForOtherReasons(t *testing.T) {
	ad := submitted(t, "request_memory = 1GB\nretry_request_memory = 2GB")
	for _, c := range []struct {
		code, subcode int
		want          bool
	}{
		{34, 102, true}, {21, 102, true}, {34, 104, false}, {21, 0, false}, {1019, 102, false}, {0, 0, false},
	} {
		if _, again, err := Evicted(&classad.Context{}, ad, c.code, c.subcode); again != c.want || err != nil {
			t.Errorf("Evicted(%d, %d) = %v, %v, want %v", c.code, c.subcode, again, err, c.want)
		}
	}
}

// Whatever a job says, it gets nothing that its owner could not set, and the ad that it is
// asked of stays as it is.
func FuzzEvicted(f *testing.F) {
	f.Add("a", "REQUIREMENTS true\x1eSET RequestMemory 5\x1eEVALSET X RequestMemory * 2")
	f.Add("a,a", "SET a strcat(TransformBody_a, a)\x1e\x1e  SET\tJobPrio 3")
	f.Add("a", "EVALSET Owner \"root\"")
	f.Fuzz(func(t *testing.T, list, body string) {
		ad := classad.New()
		ad.SetString("TransformOnEvict", list)
		ad.SetString("TransformBody_a", body)
		ad.SetInt("RequestMemory", 4)
		before := fmt.Sprint(ad)
		set, again, err := Evicted(&classad.Context{}, ad, OutOfResources, OutOfMemory)
		if after := fmt.Sprint(ad); after != before {
			t.Errorf("Evicted changed the ad from %s to %s", before, after)
		}
		if err != nil && (len(set) > 0 || again || strings.Contains(err.Error(), "\n")) {
			t.Errorf("Evicted = %v, %v, %q, want nothing and one line", set, again, err)
		}
		for _, a := range set {
			if err := CheckEdit(a.Name, a.Value, false); err != nil {
				t.Errorf("Evicted sets %s to %s: %v", a.Name, a.Value, err)
			}
		}
	})
}
