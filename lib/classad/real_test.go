package classad

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// realFolder is where the ads of real pools are; the test is skipped without.
func realFolder(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("FAIRSPOOL_SHARED")
	if shared == "" {
		t.Skip("FAIRSPOOL_SHARED is not set: real ads are not read")
	}
	return filepath.Join(shared, "real")
}

func realFiles(t *testing.T, kind string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.ads", "*.ad"} {
		names, err := filepath.Glob(filepath.Join(realFolder(t), kind, pattern))
		testenv.OK(t, err)
		files = append(files, names...)
	}
	if len(files) == 0 {
		t.Fatalf("no %s in %s", kind, realFolder(t))
	}
	return files
}

func realAds(t *testing.T, kind string) []*Ad {
	t.Helper()
	var all []*Ad
	for _, file := range realFiles(t, kind) {
		in, err := os.Open(file)
		testenv.OK(t, err)
		ads, bad := readAll(t, NewReader(in, filepath.Base(file)))
		in.Close()
		if len(bad) > 0 || len(ads) == 0 {
			t.Errorf("%s has %d ads and the errors %v, want some ads and no errors", file, len(ads), bad)
		}
		all = append(all, ads...)
	}
	return all
}

func TestRealAdsReadBack(t *testing.T) {
	for _, kind := range []string{"slots", "jobs"} {
		for _, ad := range realAds(t, kind) {
			long := string(ad.AppendLong(nil))
			again, err := NewReader(strings.NewReader(long), "again").Next()
			testenv.OK(t, err)
			if got := string(again.AppendLong(nil)); got != long {
				t.Errorf("long form read back = %s, want %s", got, long)
			}
			spool := ad.Format(StyleSpool)
			again, err = ParseAd(spool)
			if err != nil {
				t.Fatalf("ParseAd(%s): %v", spool, err)
			}
			if !equalAds(again, ad) {
				t.Errorf("spool form read back = %s, want %s", again.Format(StyleSpool), spool)
			}
		}
	}
}

func TestRealJobsAgainstRealSlots(t *testing.T) {
	c := &Context{Now: time.Unix(1_700_000_000, 0).UTC()}
	jobs, slots := realAds(t, "jobs"), realAds(t, "slots")
	matches := 0
	for _, job := range jobs {
		for _, slot := range slots {
			left, right := job.Eval(c, "Requirements", slot).True(), slot.Eval(c, "Requirements", job).True()
			if got := Match(c, job, slot); got != (left && right) {
				t.Errorf("Match = %v, want %v and %v", got, left, right)
			} else if got {
				matches++
			}
			for _, name := range job.Names() {
				job.Eval(c, name, slot)
			}
			for _, name := range slot.Names() {
				slot.Eval(c, name, job)
			}
		}
	}
	t.Logf("%d jobs, %d slots, %d matches", len(jobs), len(slots), matches)
}
