package negotiate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/lifecycle"
	"fairspool/spool"
)

// TestStill holds that a cycle in which nothing is new reports what it does without extracts: then it cannot know which jobs are alike.
func TestStill(t *testing.T) {
	s := fill(t, 5)
	testenv.OK(t, s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		for i := range fewer + 4000 {
			tx.AddCluster(ad(t, fmt.Sprintf(`[Owner = %q; JobStatus = 1; QDate = %d; EnteredCurrentStatus = %[2]d; RequestMemory = %d; Requirements = TARGET.Memory >= RequestMemory]`,
				[]string{"alice", "bob"}[i%2], now-60, 1+i%3)), []spool.NewRun{{Count: 1}})
		}
		return nil
	}))
	if _, err := s.Fold(1, nil); err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("FAIRSPOOL_DIR")
	for range 3 { // matches, no matches, extracts
		if status, _, bad := negotiate("-q"); status != 0 {
			t.Fatal(bad)
		}
	}
	testenv.OK(t, s.View(func(v *spool.View) error {
		if x, ok := lifecycle.ReadingOf(v).Represent(v, s.Domain(), nil, fewer); !ok || len(x.Clusters()) > 4000 {
			t.Errorf("it would look at all jobs: %v", ok)
		}
		return nil
	}))
	reported := func(change func(dir string)) string {
		copied := filepath.Join(t.TempDir(), "spool")
		testenv.OK(t, os.CopyFS(copied, os.DirFS(dir)))
		change(copied)
		t.Setenv("FAIRSPOOL_DIR", copied)
		t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(now+100))
		status, out, bad := negotiate("-json")
		if status != 0 || bad != "" {
			t.Fatal(bad)
		}
		return regexp.MustCompile(`"(Took|Checksum)": *[^,\s]+`).ReplaceAllString(out, "")
	}
	still := reported(func(string) {})
	all := reported(func(dir string) { testenv.OK(t, os.RemoveAll(filepath.Join(dir, "extracts"))) })
	if still != all {
		t.Errorf("where nothing is new it says\n%.3000s\nand else\n%.3000s", still, all)
	}
}
