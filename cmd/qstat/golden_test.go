package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestGoldenQstat holds the table to Grid Engine's layout: what its qstat
// printed is taken apart into cells and printed again. Listings of other
// layouts than the default one belong to options that this version refuses.
//
// Three differences are deliberate. prior is a whole number here, JobPrio, and
// stands in the same seven places; the procs stand in ja-task-ID for every
// job, where Grid Engine leaves blanks for a job that is no array; and jobs that
// do not exist are named on one line, not each on a line of its own.
func TestGoldenQstat(t *testing.T) {
	time.Local = time.UTC
	dirs := []string{"testdata/golden"}
	if d := os.Getenv("FAIRSPOOL_GOLDEN"); d != "" {
		dirs = append(dirs, filepath.Join(d, "sge"))
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "qstat-*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, listing, _ := strings.Cut(string(text), "\n") // behind the command line
			if !strings.HasPrefix(listing, heading+"\n") {
				continue
			}
			lines := strings.Split(strings.TrimSuffix(listing, "\n"), "\n")
			if !plainRows(lines[2:]) {
				continue
			}
			agree := reprinted(t, file, lines)
			t.Logf("golden sge/%s: %d of %d agree", filepath.Base(file), agree, len(lines))
		}
	}
}

// plainRows tells whether the lines are jobs, not details between them.
func plainRows(lines []string) bool {
	for _, l := range lines {
		if len(l) < 103 || strings.TrimSpace(l[:7]) == "" {
			return false
		}
	}
	return true
}

// reprinted prints the jobs of a listing again and counts the equal lines.
func reprinted(t *testing.T, file string, lines []string) (agree int) {
	t.Helper()
	var rows []*row
	for _, l := range lines[2:] {
		r := cellsOf(t, l)
		rows = append(rows, &r)
	}
	var b strings.Builder
	if err := table(&b, rows); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(b.String(), "\n")
	for i, want := range lines {
		if i > 1 {
			// prior and ja-task-ID aside.
			got[i], want = got[i][:8]+got[i][15:103], want[:8]+want[15:103]
		}
		if got[i] != want {
			t.Errorf("golden %s: line %d %q, want %q", filepath.Base(file), i+1, got[i], want)
			continue
		}
		agree++
	}
	return agree
}

// cellsOf takes a line of Grid Engine's table apart at its columns.
func cellsOf(t *testing.T, line string) row {
	t.Helper()
	cell := func(from, to int) string { return strings.TrimSpace(line[from:to]) }
	cluster, err := strconv.Atoi(cell(0, 7))
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("01/02/2006 15:04:05", cell(46, 65))
	if err != nil {
		t.Fatal(err)
	}
	slots, err := strconv.ParseInt(cell(97, 102), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return row{
		cells: cells{cluster: cluster, name: cell(16, 26), user: cell(27, 39), state: cell(40, 45), at: at, slots: slots},
		slot:  cell(66, 96), ranges: []span{{0, 9}},
	}
}
