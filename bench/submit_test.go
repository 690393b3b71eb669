package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
)

// submissions are descriptions of very many procs, some with items in files that
// stand beside them.
var submissions = []struct{ name, commands, queue string }{
	{"100k-equal", "", "queue 100000"},
	{"100k-arguments-output", "arguments = $(Process)\noutput = out.$(Process)", "queue 100000"},
	{"100k-arguments-output-log", "arguments = $(Process)\noutput = out.$(Process)\nerror = err.$(Process)\nlog = job.log", "queue 100000"},
	{"100k-memory", "request_memory = $(Process)", "queue 100000"},
	{"100k-memory-worked-out", "request_memory = $INT(m) MB\nm = 100 + $(Process) % 1000", "queue 100000"},
	{"100k-inputs", "transfer_input_files = in.$(Process)", "queue 100000"},
	{"100k-from-1", "arguments = $(x)\nlog = job.log", "queue x from one.txt"},
	{"100k-from-3", "arguments = --a $(a) --b $(b)\noutput = out.$(a)\nenvironment = \"C=$(c)\"\nlog = job.log", "queue a,b,c from three.txt"},
	{"20k-matching", "arguments = $(f)", "queue f matching files data/*.dat"},
	{"1M-equal", "", "queue 1000000"},
	{"1M-arguments", "arguments = $(Process)", "queue 1000000"},
	{"1M-late", "arguments = $(Process)\nmax_materialize = 1000", "queue 1000000"},
}

// BenchmarkSubmitMany is one submit of very many procs into an empty queue, with
// the most memory that it had and the least processor time that it took.
func BenchmarkSubmitMany(b *testing.B) {
	testenv.Commands(b)
	dir := testenv.OnDisk(b)
	b.Chdir(dir)
	items(b)
	for _, s := range submissions {
		file := filepath.Join(dir, s.name+".sub")
		testenv.OK(b, os.WriteFile(file, []byte("executable = /bin/true\n"+s.commands+"\n"+s.queue+"\n"), 0o600))
		b.Run(s.name, func(b *testing.B) {
			measure(b, "-terse", file)
		})
	}
	b.Run("100k-arguments-output/dry-run", func(b *testing.B) {
		measure(b, "-dry-run", "ads", "100k-arguments-output.sub")
	})
}

// measure runs submit with such arguments, into a new spool every time.
func measure(b *testing.B, args ...string) {
	b.Helper()
	most, least := 0.0, time.Hour
	for b.Loop() {
		mb, processor := spent(b, "spool", "submit", args...)
		most, least = max(most, mb), min(least, processor)
		b.StopTimer()
		testenv.OK(b, errors.Join(os.RemoveAll("spool"), os.RemoveAll("job.log")))
		b.StartTimer()
	}
	b.ReportMetric(most, "MB")
	b.ReportMetric(float64(least.Microseconds())/1000, "ms-cpu")
}

// items writes what the descriptions read their items from.
func items(b *testing.B) {
	b.Helper()
	var one, three strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&one, "item%d\n", i)
		fmt.Fprintf(&three, "a%d, b%d, c%d\n", i, i*7, i%100)
	}
	for name, text := range map[string]string{"one.txt": one.String(), "three.txt": three.String(), "in.0": ""} {
		testenv.OK(b, os.WriteFile(name, []byte(text), 0o600))
	}
	testenv.OK(b, os.Mkdir("data", 0o700))
	for i := range 20_000 {
		testenv.OK(b, os.WriteFile(fmt.Sprintf("data/%d.dat", i), nil, 0o600))
	}
}
