package starter

import (
	"strings"
	"testing"
)

// A job that takes more than it asked for is held, where that is asked for, and its ad says
// what kept it.
func TestEnforced(t *testing.T) {
	t.Parallel()
	const fill = `x=$(head -c 60000000 /dev/zero | tr '\0' a); `
	const write = `i=0; while [ $i -lt 6 ]; do head -c 500000 /dev/zero >"$_CONDOR_SCRATCH_DIR/$i"; i=$((i+1)); done; `
	const wait = hang
	for _, c := range []struct {
		name, script, conf string
		pairs              []string
		want               string
	}{
		{"memory", fill + wait, `CGROUP_MEMORY_LIMIT_POLICY = "hard"`, []string{"RequestMemory", "20"},
			`JobStatus=5 HoldReasonCode=34 HoldReasonSubCode=102`},
		{"disk", write + wait, `STARTD_ENFORCE_DISK_LIMITS = true`, []string{"RequestDisk", "1000"},
			`JobStatus=5 HoldReasonCode=34 HoldReasonSubCode=104`},
		{"one file", `exec head -c 2000000 /dev/zero >"$_CONDOR_SCRATCH_DIR/file"`, `STARTD_ENFORCE_DISK_LIMITS = true`, []string{"RequestDisk", "1000"},
			`JobStatus=5 HoldReasonCode=34 HoldReasonSubCode=104`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t)
			p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\n"+c.conf+"\n")
			id := p.match(c.script, c.pairs...)
			p.starter(0, 1)
			p.noClaims()
			if got := p.queued(id, "JobStatus", "HoldReasonCode", "HoldReasonSubCode"); got != c.want {
				t.Errorf("the job: %s, want %s", got, c.want)
			}
			if got := p.queued(id, "MemoryLimitedBy", "DiskLimitedBy"); strings.Count(got, "undefined") != 1 {
				t.Errorf("the job: %s, want that one of them is known", got)
			}
			p.reason(id, "HoldReason")
		})
	}
}

// Without enforcement the same job runs to its end.
func TestNotEnforced(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	id := p.match(`head -c 2000000 /dev/zero >"$_CONDOR_SCRATCH_DIR/file" && exit 3`, "RequestDisk", "1000", "RequestMemory", "1")
	p.starter(0, 1, "-wait")
	const want = "JobStatus=4 ExitCode=3 MemoryLimitedBy=undefined DiskLimitedBy=undefined"
	if got := p.history(id, "JobStatus", "ExitCode", "MemoryLimitedBy", "DiskLimitedBy"); got != want {
		t.Errorf("the job's ad: %s, want %s", got, want)
	}
}
