package starter

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/launch/local"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Jobs that run at the same time have processors of their own for as long as they run; one
// for which none is left may run on all.
func TestAffinity(t *testing.T) {
	t.Parallel()
	here := local.Processors(float64(runtime.NumCPU()), nil)
	const most = 4 // jobs with one of their own
	jobs := min(len(here)+1, most)
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nASSIGN_CPU_AFFINITY = true\n")
	var ids []pool.JobID
	for n := 1; n <= jobs; n++ {
		p.cores(n, 1)
		ids = append(ids, p.match(`grep ^Cpus_allowed_list: /proc/self/status; `+awaitGo, "Out", fmt.Sprintf(`"out.%d"`, n)))
	}
	p.starter(0, jobs)
	var got, want []string
	for n, id := range ids {
		saw := p.affinity(fmt.Sprintf("out.%d", n+1))
		if said := p.queued(id, "CpuAffinity"); said == "CpuAffinity=undefined" {
			saw = "all"
		} else if said != fmt.Sprintf("CpuAffinity=%q", saw) {
			t.Errorf("job %v may run on %s, and its ad has %s", id, saw, said)
		}
		got = append(got, saw)
		if n < len(here) {
			want = append(want, fmt.Sprint(here[n]))
		} else {
			want = append(want, "all")
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the jobs are bound to %v, want %v", got, want)
	}
	p.open()
	p.noClaims()
	if got := p.history(ids[0], "CpuAffinity"); got != "CpuAffinity=undefined" {
		t.Errorf("after its end the job's ad has %s, want none", got)
	}
}

// cores advertises a slot with so many cores.
func (p *testPool) cores(n, cores int) {
	p.Helper()
	p.update(func(tx *spool.Tx) error {
		tx.Op("advertise")
		name := fmt.Sprintf("slot%d@node1", n)
		slot, err := classad.ParseAd(fmt.Sprintf(`[Name = %q; Machine = "node1"; Cpus = %d]`, name, cores))
		if err == nil {
			tx.PutSlot(name, slot)
		}
		return err
	})
}

// affinity waits until a job has written the line of its processors, and returns them.
func (p *testPool) affinity(name string) string {
	p.Helper()
	p.until(name+" is written", func() bool { return strings.HasSuffix(p.read(name), "\n") })
	_, list, _ := strings.Cut(p.read(name), ":")
	return strings.TrimSpace(list)
}

// What the event log calls the scratch directory is what the job is told.
func TestScratchIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.match(`echo "$TMPDIR $_CONDOR_SCRATCH_DIR $A"`, "Environment", `"A=$$(CondorScratchDir)"`)
	p.starter(0, 1, "-wait")
	fields := strings.Fields(p.read("out"))
	if len(fields) != 3 || fields[0] != fields[1] || fields[1] != fields[2] {
		t.Fatalf("the job was told %q, want one directory three times", fields)
	}
	if want := fmt.Sprintf("CondorScratchDir = %q", fields[0]); !strings.Contains(p.read("log"), want) {
		t.Errorf("the event log lacks %s:\n%s", want, p.read("log"))
	}
}
