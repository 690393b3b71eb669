package qstat

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// everyKind makes a spool with a pool of two machines, and jobs in every state: clusters 1
// to 5 of fill, and 6 to 14.
func everyKind(t *testing.T) {
	t.Helper()
	fill(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for _, more := range []string{
			`JobStatus = 5; HoldReasonCode = 6`,                                                    // 6: broken
			`JobStatus = 5; HoldReasonCode = 1; HoldReason = "via qhold (by user root)"`,           // 7: by an administrator
			`JobStatus = 5; HoldReasonCode = 1; HoldReason = "via qhold (by user erin)"`,           // 8: by its owner
			`JobStatus = 5; HoldReasonCode = 3`,                                                    // 9: by policy
			`AfterOk = "2,99"; RequestMemory = 512; Rank = Memory`,                                 // 10: waits for others
			fmt.Sprintf(`DeferralTime = %d; Deadline = DeferralTime; Project = "atlas"`, now+3600), // 11: waits for a time
			`JobStatus = 4; LeaveJobInQueue = true; RemoteUserCpu = 90061.5; BytesSent = 0`,        // 12: has ended
			`JobStatus = 2; NumJobStarts = 2; ResidentSetSize = 1048576; RequestCpus = 2`,          // 13: on a part of a slot
			`JobStatus = 5; HoldReasonCode = 1`,                                                    // 14: still runs
		} {
			tx.AddCluster(job(t, "erin", more), []spool.NewRun{{Count: 1}})
		}
		tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 13}, Attempt: 2, Slot: "slot1_1@big", Machine: "big", Submitter: "erin@pool", State: pool.RunningClaim,
			Weight: accountant.One, MatchedAt: time.Unix(now-60, 0), StartedAt: time.Unix(now-30, 0), Piece: pool.Piece{Of: "slot1@big", Takes: "Cpus=2 Memory=512"}})
		tx.PutClaim(pool.Claim{Job: pool.JobID{Cluster: 14}, Attempt: 1, Slot: "slot4@node", Machine: "node", Submitter: "erin@pool", State: pool.Vacating,
			Weight: accountant.One, MatchedAt: time.Unix(now-60, 0), StartedAt: time.Unix(now-30, 0)})
		for _, text := range []string{
			`[Name = "slot1@big"; Machine = "big"; Cpus = 8; Memory = 4096; PartitionableSlot = true; LoadAvg = 1.5; Arch = "X86_64"; OpSys = "LINUX"]`,
			`[Name = "slot2@node"; Machine = "node"; Cpus = 1]`,
			`[Name = "slot3@node"; Machine = "node"; Cpus = 4]`,
			`[Name = "slot4@node"; Machine = "node"; Cpus = 1]`,
			fmt.Sprintf(`[Name = "slot5@node"; Machine = "node"; Cpus = 1; LastHeardFrom = %d; ClassAdLifetime = 60]`, now-61),
			`[Name = "slot6@node"; Machine = "node"; Cpus = 1]`,
		} {
			ad := cmdtest.Ad(t, text)
			name, _ := ad.EvalString(&classad.Context{}, "Name")
			tx.PutSlot(name, ad)
		}
	})
}

func TestStatesShown(t *testing.T) {
	everyKind(t)
	const (
		placed  = "13.0 Rr, 1.2 dr, 1.0 t, 14.0 hr, 1.1 r"
		waiting = "2.0 qw, 5.0 qw, 11.0 qw, 1.500 qw, 3.0-1:1 qw, 1.3-499:1,501-999:1 qw"
		held    = "4.0 hqw, 6.0 Eqw, 7.0 hqw, 8.0 hqw, 9.0 hqw, 10.0 hqw"
	)
	for _, c := range []struct{ args, want string }{
		{"", "placed, waiting, held, 12.0 z"},
		{"-s p", "waiting, held"},
		{"-s r", "placed"},
		{"-s s", ""},
		{"-s z", "12.0 z"},
		{"-s a", "placed, waiting, held"},
		{"-s hu", "14.0 hr, 8.0 hqw"},
		{"-s ho", "7.0 hqw"},
		{"-s hs", "4.0 hqw, 9.0 hqw"},
		{"-s hj", "10.0 hqw"},
		{"-s ha", "11.0 qw"},
		{"-s hd", ""},
		{"-s h", "14.0 hr, 11.0 qw, 4.0 hqw, 7.0 hqw, 8.0 hqw, 9.0 hqw, 10.0 hqw"},
		{"-s zhoha", "11.0 qw, 7.0 hqw, 12.0 z"},
		{"-s p -u bob", "2.0 qw"},
		{"-constraint ProcId==500||RequestMemory>100", "1.500 qw, 10.0 hqw"},
		{"-constraint NoSuch", ""},
		{"-q slot1@big", "13.0 Rr"},
		{"-q slot1_?@*,slot3@node", "13.0 Rr, 1.0 t"},
		{"-q node", "1.2 dr, 1.0 t, 14.0 hr, 1.1 r"},
		{"-s h -q node", "14.0 hr"},
	} {
		want := strings.NewReplacer("placed", placed, "waiting", waiting, "held", held).Replace(c.want)
		if got := ids(t, c.args); got != want {
			t.Errorf("qstat %s lists %s, want %s", c.args, got, want)
		}
	}
	if _, out, _ := qstat("-s", "hj", "-af", "ClusterId"); out != "10\n" {
		t.Errorf("qstat -s hj -af ClusterId = %q, want 10", out)
	}
}

func TestBySlot(t *testing.T) {
	everyKind(t)
	displays(t, "-f 1.0 1.1 1.2 13 14 2", "-f -ne -q node", "-f 12")
}

// TestColumns holds each display's columns, as wide as they are.
func TestColumns(t *testing.T) {
	everyKind(t)
	displays(t, "-g c", "-r 10", "-pri 1.500", "-urg 11", "-ext 13", "-ext 12", "-w 5", "-g d 3", "-g t 13 2")
}

// wellFormed reads XML to its end.
func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestXML(t *testing.T) {
	everyKind(t)
	for _, args := range []string{"", "-f", "-r", "-f -r -g d", "-pri -urg -ext", "-g c", "-g t", "dave", "-j 1,10,13"} {
		_, out, bad := qstat(append(strings.Fields(args), "-xml")...)
		if err := wellFormed(out); err != nil || bad != "" {
			t.Errorf("qstat %s -xml = %v %s\n%s", args, err, bad, out)
		}
	}
	reported(t, `{"Cycle":1,"Time":1795217646,"Rejections":[{"Job":"1.3","Count":2,"Jobs":["1.3-4"],"Reason":"a < b & c"}]}`)
	displays(t, "-xml 10 -r -urg", "-xml -j 1.3-5")
}

// A display can be written again on the spool that is open, as of another time.
func TestShownAgain(t *testing.T) {
	fill(t)
	var first, second strings.Builder
	status, _, bad := cmdtest.Run(twice(&first, &second), "-w", "2")
	if status != 0 || bad != "" {
		t.Fatalf("qstat = %d, %s", status, bad)
	}
	if !strings.Contains(first.String(), " 0+01:00:00 ") || !strings.Contains(second.String(), " 1+01:00:00 ") {
		t.Errorf("shown twice =\n%s\nand a day later\n%s", first.String(), second.String())
	}
}

// twice is qstat that shows the same display twice, a day apart.
func twice(first, second io.Writer) cmdline.Command {
	c := Command()
	c.Run = func(call *cmdline.Call) error {
		o, err := optionsOf(call)
		if err != nil {
			return err
		}
		d := display{call, o}
		if err := d.show(first, call.Now); err != nil {
			return err
		}
		return d.show(second, call.Now.AddDate(0, 0, 1))
	}
	return c
}

// Every job stands in the table once, however its procs share lines.
func TestEachJobOnce(t *testing.T) {
	everyKind(t)
	for _, more := range []string{"", "-w", "-urg -ext -pri", "-g d", "-s p", "-u alice,erin"} {
		args := strings.Fields(more)
		listed := map[string]int{}
		_, out, _ := qstat(args...)
		for _, line := range strings.Split(strings.TrimSpace(out), "\n")[2:] {
			fields := strings.Fields(line)
			cluster, proc, one := strings.Cut(fields[0], ".")
			if one && fields[len(fields)-1] != proc {
				t.Errorf("qstat %s: %q: the job-ID and the task are not of one job", more, line)
			}
			for _, part := range strings.Split(fields[len(fields)-1], ",") {
				first, last := 0, 0
				if n, _ := fmt.Sscanf(part, "%d-%d:1", &first, &last); n == 1 {
					last = first
				}
				for p := first; p <= last; p++ {
					listed[fmt.Sprintf("%s %d", cluster, p)]++
				}
			}
		}
		var filters []string
		for i := 0; i < len(args); i++ {
			if args[i] == "-s" || args[i] == "-u" {
				filters = append(filters, args[i:i+2]...)
			}
		}
		_, out, _ = qstat(append(filters, "-af", "ClusterId", "ProcId")...)
		jobs := strings.Split(strings.TrimSpace(out), "\n")
		for _, id := range jobs {
			if listed[id] != 1 {
				t.Errorf("qstat %s lists job %s %d times, want once", more, id, listed[id])
			}
		}
		if len(listed) != len(jobs) {
			t.Errorf("qstat %s lists %d jobs, want %d", more, len(listed), len(jobs))
		}
	}
}
