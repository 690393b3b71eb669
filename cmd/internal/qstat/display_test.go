package qstat

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/policy"
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

// Of slots and machines names give way on a narrow terminal, numbers never do.
func TestSlotsFit(t *testing.T) {
	slots := []*instance{
		{name: "slot1_12@node-0123456789.cluster.example.org", kind: "D", reserved: 64.25, used: 1064.75, total: 1129, arch: "aarch64/FREEBSD", states: "dD"},
		{name: "slot2@a", kind: "S", total: 1, arch: unknown},
	}
	list := []machine{{name: "node-0123456789.cluster.example.org", total: 1129}, {name: "a", total: 1}}
	const name, cutName = "slot1_12@node-0123456789.cluster.example.org", "slot1_12@node-0123456789.clust"
	for _, c := range []struct {
		line         int // of the terminal, 0: none
		wide         bool
		slot, system string
		machine      int
		over         int // how wide the line of large numbers may be
	}{
		{0, false, cutName, "aarch64/FREEB", 30, 92},
		{0, true, name, "aarch64/FREEBSD", 35, 120},
		{200, false, name, "aarch64/FREEBSD", 35, 120},
		{80, false, name[:27], "aarch64/FREEBSD", 30, 88},
		{40, false, name[:9], "aarch64/FREEBSD", 13, 80},
	} {
		cs := columns{options: options{Options: policy.Options{Wide: c.wide}, slotless: true}, line: func() int { return c.line }}
		cs.shown = columnsWith(cs.options)
		var b strings.Builder
		table := cs.table(&b, nil)
		table.instances(slots, min(slotRule, table.most()))
		if err := table.flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if fields := strings.Fields(lines[2]); len(fields) != 6 || fields[0] != c.slot || fields[2] != "64.25/1064.75/1129" || fields[4] != c.system {
			t.Errorf("a slot on a line of %d, wide %v = %q, want %q and %q", c.line, c.wide, lines[2], c.slot, c.system)
		}
		if len(lines[2]) > c.over || c.line >= 80 && (len(lines[0]) > c.line || len(lines[4]) > c.line) {
			t.Errorf("slots on a line of %d are too wide:\n%s", c.line, b.String())
		}
		b.Reset()
		if err := cs.writeMachines(&b, list); err != nil {
			t.Fatal(err)
		}
		lines = strings.Split(b.String(), "\n")
		if got := len(strings.Fields(lines[2])[0]); got != c.machine || c.line >= 80 && len(lines[0]) > c.line {
			t.Errorf("machines on a line of %d: name of %d, want %d\n%s", c.line, got, c.machine, b.String())
		}
	}
}

// TestColumns holds each display's columns, as wide as they are.
func TestColumns(t *testing.T) {
	everyKind(t)
	displays(t, "-g c", "-r 10", "-pri 1.500", "-urg 11", "-ext 13", "-ext 12", "-w 5", "-g d 3", "-g t 13 2")
}

// On a terminal columns are as wide as they need to be, and on a narrow one the widest
// give way first.
func TestFitted(t *testing.T) {
	rows := []*row{
		{cells: cells{cluster: 1, name: "simulation-of-everything", user: "bartholomew", state: "r", slot: "slot1@a-machine-with-a-long-name.example.org"}, ranges: []pool.Procs{{First: 0, Last: 0}}},
		{cells: cells{cluster: 2, name: "é", user: "al", state: "qw"}, ranges: []pool.Procs{{First: 1, Last: 1}, {First: 3, Last: 3}, {First: 6, Last: 6}, {First: 8, Last: 8}, {First: 11, Last: 11}, {First: 13, Last: 13}}},
	}
	for _, c := range []struct{ line, name, user, queue, tasks int }{
		{200, 24, 11, 44, 73},
		{130, 24, 11, 37, 10},
		{100, 16, 11, 15, 10},
		{80, 7, 7, 8, 10},
		{20, 6, 6, 8, 10},
	} {
		list, tasks := fitted(columnsWith(options{}), rows, c.line, leastTasks(rows))
		got := map[string]int{}
		sum := 0
		for _, k := range list {
			got[k.head] = k.width
			sum += k.width + 1
		}
		if got["name"] != c.name || got["user"] != c.user || got["queue"] != c.queue || tasks != c.tasks {
			t.Errorf("fitted to %d = name %d, user %d, queue %d, procs %d, want %+v", c.line, got["name"], got["user"], got["queue"], tasks, c)
		}
		if c.line >= 80 && sum+tasks > c.line {
			t.Errorf("fitted to %d is %d wide", c.line, sum+tasks)
		}
	}
	c := columns{shown: columnsWith(options{}), line: func() int { return 80 }}
	var b strings.Builder
	if err := c.list(&b, rows); err != nil || !strings.HasSuffix(b.String(), " 1,3,6,8...\n") {
		t.Errorf("list on a narrow terminal = %v\n%s", err, b.String())
	}
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

// Whatever a job says of itself, the XML is read, and the element holds it.
func TestXMLHoldsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("<>&'\"]]>\x00\t\n\ufffe")))).Draw(t, "text")
		var got struct {
			Name string `xml:"name,attr"`
			Text string `xml:",chardata"`
		}
		if err := xml.Unmarshal(namedElement(nil, "x", text, text), &got); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' && r != '\n' || r == '\ufffd' || r == '\ufffe' || r == '\uffff' {
				return '?'
			}
			return r
		}, text)
		if got.Text != want {
			t.Errorf("element of %q holds %q, want %q", text, got.Text, want)
		}
	})
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
		d, err := displayOf(call)
		if err != nil {
			return err
		}
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
