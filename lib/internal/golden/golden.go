// Package golden gives tests the cases that were observed on real systems: those in a package's
// testdata/golden, and all in FAIRSPOOL_GOLDEN. It is for tests only, and knows the content of no case but a RealRun.
package golden

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Each runs a test for each case, by the name of its file. The cases are the JSON files that
// match pattern (path/filepath.Match), in testdata/golden and, if FAIRSPOOL_GOLDEN names a folder,
// in its folder system, such as "sge", where there may be none of them. A folder that is not there
// fails the test, and so do a testdata/golden without any and a file that is no Case.
func Each[Case any](t *testing.T, system, pattern string, test func(t *testing.T, file string, c *Case)) {
	t.Helper()
	each(t, filepath.Join("testdata", "golden"), system, pattern, test)
}

// each does as Each, with another folder in place of testdata/golden.
func each[Case any](t *testing.T, folder, system, pattern string, test func(t *testing.T, file string, c *Case)) {
	t.Helper()
	folders := []string{folder}
	if all := os.Getenv("FAIRSPOOL_GOLDEN"); all != "" {
		folders = append(folders, filepath.Join(all, system))
	}
	for i, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || i == 0 && len(files) == 0 {
			t.Fatalf("%s: no cases %s: %v", folder, pattern, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := new(Case)
			if err := json.Unmarshal(text, c); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			file := filepath.Base(path)
			t.Run(file, func(t *testing.T) { test(t, file, c) })
		}
	}
}
