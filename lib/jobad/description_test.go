package jobad

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
)

// expand returns one line a run: its procs, then what it differs in.
func expand(t *testing.T, text string) (*classad.Ad, []string) {
	t.Helper()
	d, _ := parse(t, text)
	c, err := d.Expand(12)
	if err != nil {
		t.Fatalf("Expand of %q = %v", text, err)
	}
	var lines []string
	for _, r := range c.Runs {
		line := fmt.Sprint(r.Count)
		ad := r.Ad()
		for _, name := range ad.OwnNames() {
			e, _ := ad.Lookup(name)
			line += " " + name + "=" + e.String()
		}
		lines = append(lines, line)
	}
	return c.Ad, lines
}

// first returns an attribute of the first job.
func first(t *testing.T, text, name string) string {
	t.Helper()
	d, _ := parse(t, text)
	c, err := d.Expand(12)
	if err != nil {
		t.Fatalf("Expand of %q = %v", text, err)
	}
	e, ok := c.Runs[0].Ad().Chain(c.Ad).Lookup(name)
	if !ok {
		return "-"
	}
	return e.String()
}

const sleep = "executable = /bin/sleep\n"

func TestAttributes(t *testing.T) {
	for _, c := range []struct {
		text, name, want string
	}{
		// what every job has
		{"", "MyType", `"Job"`}, {"", "Owner", `"alice"`}, {"", "User", `"alice@example.org"`},
		{"", "QDate", "1700000000"}, {"", "EnteredCurrentStatus", "1700000000"}, {"", "JobStatus", "1"},
		{"", "JobUniverse", "5"}, {"", "JobPrio", "0"}, {"", "Rank", "0.0"},
		{"", "RequestCpus", "1"}, {"", "RequestMemory", "128"}, {"", "RequestDisk", "1024"},
		{"", "In", `"/dev/null"`}, {"", "Out", `"/dev/null"`}, {"", "Err", `"/dev/null"`},
		{"", "Arguments", `""`}, {"", "UserLog", "-"}, {"", "AccountingGroup", "-"}, {"", "ClusterId", "-"},
		{"", "Cmd", `"/bin/sleep"`}, {"", "Iwd", `"/home/alice"`}, {"", "NumJobStarts", "0"},
		{"", "RemoteWallClockTime", "0.0"},

		// paths
		{"initialdir = run", "Iwd", `"/home/alice/run"`}, {"iwd = /tmp", "Iwd", `"/tmp"`},
		{"executable = ./x\ninitialdir = run", "Cmd", `"/home/alice/./x"`},
		{"log = a.log\ninitial_dir = run", "UserLog", `"/home/alice/run/a.log"`},
		{"output = out # no comment", "Out", `"out # no comment"`}, {"stdout = o", "Out", `"o"`},
		{"input = in.txt", "In", `"in.txt"`}, {"error = e", "Err", `"e"`},

		// lines
		{"# x\n\n  OUTPUT\t=  o  ", "Out", `"o"`}, {"output = a\noutput = b", "Out", `"b"`},
		{"arguments = a \\\n   # dropped\n   b \\  \n c\n", "Args", `"a b c"`}, {"output = o\r", "Out", `"o"`},
		{"args = x\narguments = y", "Args", `"y"`}, {"output =\n", "Out", `"/dev/null"`},

		// macros
		{"arguments = $(Cluster).$(ProcId) $(CLUSTERID).$(process)", "Args", `"12.0 12.0"`},
		{"A = x$(B)\nB = y\narguments = $(a)", "Args", `"xy"`},
		{"arguments = [$(none)] $(none:d) $(none:$(B)) $(none:f(x))\nB = y", "Args", `"[] d y f(x)"`},
		{"A = 1\nA = $(A)2\nA = $(A)3\narguments = $(A)", "Args", `"123"`},
		{"A = $(A:0)1\narguments = $(A)", "Args", `"01"`},
		{"arguments = $(DOLLAR)(A) $ $( $(a b) $x(1) 5$", "Args", `"$(A) $ $( $(a b) $x(1) 5$"`},
		{"arguments = $ENV(PREFIX)/lib $ENV(NONE:none)", "Args", `"/opt/lib none"`},
		{"arguments = $(output).x\noutput = o", "Args", `"o.x"`},
		{"+Foo = 3\narguments = $(MY.Foo)", "Args", `"3"`},
		{"a0 = zero\narguments = $(a$(Process)) $(A$(n)) $(b$(Process):none)\nn = 0", "Args", `"zero zero none"`},
		{"a = b\nb = c\nc = d\narguments = $($($(a))) $($(a)) $($(none)a)", "Args", `"d c b"`},
		{"w = PREFIX\narguments = $ENV($(w)) $ENV(N$(w):$(w)) $($ENV(NONE:w))", "Args", `"/opt PREFIX PREFIX"`},
		{"w = x y\narguments = $(a$(w)) $(a$(w):$(w)) $(a$w) $(a $(w)) $(a$(w", "Args", `"$(ax y) $(ax y:x y) $(a$w) $(a x y) $(a$(w"`},
		{"A = 1\nA1 = x\nA = $(A$(A))\narguments = $(A)", "Args", `"x"`},
		{"request_cpus = 2\n+Twice = $(request_cpus) * 2", "Twice", "2 * 2"},

		// arguments and environment
		{`arguments = -n 'x y' \"z\"`, "Args", `"-n 'x y' \"z\""`},
		{`arguments = "-n 'x y' ""z"""`, "Arguments", `"-n x' 'y \"z\""`},
		{`arguments = "-n 'x y'"`, "Args", "-"}, {"arguments = a\t $(none) b", "Args", `"a b"`},
		{"args2 = \"a 'b c'\"", "Arguments", `"a b' 'c"`}, {"arguments = old\narguments2 = \"new\"\nallow_arguments_v1 = true", "Arguments", `"new"`},
		{"environment = A=1\nenvironment2 = \"B=2\"\nallow_environment_v1 = true", "Environment", `"B=2"`},
		{"environment = A=1;B=x y", "Env", `"A=1;B=x y"`}, {`env = "A=1 B='x y'"`, "Environment", `"A=1 B=x' 'y"`},
		{"getenv = true", "Environment", `"HOME=/home/alice LANG=C"`},
		{"getenv = true\nenvironment = LANG=de", "Environment", `"HOME=/home/alice LANG=de"`},
		{"getenv = false", "Environment", "-"}, {"getenv = LANG, NONE", "Environment", `"LANG=C"`},
		{"get_env = h*", "Environment", `"HOME=/home/alice"`}, {"getenv = !H*E", "Environment", `"LANG=C"`},
		{"getenv = *, !LANG\nenvironment = A=1", "Environment", `"HOME=/home/alice A=1"`}, {"getenv = None", "Environment", `""`},

		// paths: of slashes in a row one is left, but in what the starter joins
		{"executable = run//me", "Cmd", `"/home/alice/run/me"`}, {"executable = /opt///x//./y", "Cmd", `"/opt/x/./y"`},
		{"executable = a//b\ntransfer_executable = false", "Cmd", `"a//b"`}, {"output = o//x", "Out", `"o//x"`},
		{"initialdir = //tmp//w//", "Iwd", `"/tmp/w/"`}, {"initialdir = a//b\nlog = .//c/", "UserLog", `"/home/alice/a/b/./c/"`},
		{"log = /tmp//x.log", "UserLog", `"/tmp/x.log"`}, {"x509userproxy = p//q", "x509userproxy", `"/home/alice/p/q"`},

		// requests
		{"request_memory = 2G", "RequestMemory", "2048"}, {"request_memory = 64 GB", "RequestMemory", "65536"},
		{"request_memory = 1.5k", "RequestMemory", "1"}, {"request_memory = 700", "RequestMemory", "700"},
		{"request_memory = 1T", "RequestMemory", "1048576"}, {"request_memory = 1.5", "RequestMemory", "2"},
		{"request_memory = MAX({2048, MemoryUsage})", "RequestMemory", "MAX({ 2048,MemoryUsage })"},
		{"request_disk = 1MB", "RequestDisk", "1024"}, {"request_disk = 5", "RequestDisk", "5"},
		{"request_disk = 2000b", "RequestDisk", "2"}, {"Request_GPUS = 1", "RequestGPUs", "1"},
		{"request_boats = 3", "RequestBoats", "3"},

		// rank; requests has Requirements
		{"+Requirements = false\nrequest_memory = 9", "Requirements", "false"},
		{"preferences = Memory", "Rank", "Memory"}, {"rank = Mips\npreferences = Memory", "Rank", "Mips"},

		// file transfer
		{"should_transfer_files = if_needed", "ShouldTransferFiles", `"IF_NEEDED"`}, {"should_transfer_files = Yes", "ShouldTransferFiles", `"YES"`},
		{"WhenToTransferOutput = on_exit", "WhenToTransferOutput", `"ON_EXIT"`}, {"when_to_transfer_output = ON_SUCCESS", "WhenToTransferOutput", `"ON_SUCCESS"`},
		{"transfer_executable = false\ncmd = x", "Cmd", `"/bin/sleep"`}, {"transfer_executable = no", "TransferExecutable", "false"},
		{"executable = x\ntransfer_executable = false", "Cmd", `"x"`}, {"executable = x\ntransfer_executable = True", "Cmd", `"/home/alice/x"`},
		{"transfer_output = false", "TransferOut", "false"}, {"", "TransferExecutable", "-"}, {"copy_to_spool = False", "Cmd", `"/bin/sleep"`},

		// who is charged
		{"accounting_group = physics", "AccountingGroup", `"physics.alice"`}, {"accounting_group = physics", "AcctGroup", `"physics"`},
		{"accounting_group = physics\naccounting_group_user = newton", "AccountingGroup", `"physics.newton"`},
		{"accounting_group_user = newton", "AccountingGroup", `"newton"`},
		{"accounting_group = \"physics\"\naccounting_group_user = \"newton\"", "AccountingGroup", `"physics.newton"`},
		{"accounting_group = ligo.sim.o2.cbc.explore.test.long\naccounting_group_user = albert.einstein", "AccountingGroup", `"ligo.sim.o2.cbc.explore.test.long.albert.einstein"`},
		{"accounting_group = " + strings.Repeat("g", 250), "AccountingGroup", `"` + strings.Repeat("g", 250) + `.alice"`},
		{`+AccountingGroup = "physics.newton"`, "AccountingGroup", `"physics.newton"`},
		{"+AccountingGroup = physics.newton", "AccountingGroup", "physics.newton"}, {"+AccountingGroup =", "AccountingGroup", "undefined"},
		{"nice_user = True", "AccountingGroup", `"nice-user.alice"`}, {"nice_user = false", "AccountingGroup", "-"},
		{"nice_user = true", "MaxJobRetirementTime", "0"}, {"nice_user = true\nmax_job_retirement_time = 60", "MaxJobRetirementTime", "60"},
		{"nice_user = true\naccounting_group = g", "AccountingGroup", `"g.alice"`}, {"nice_user = true\n+AccountingGroup = \"g\"", "AccountingGroup", `"g"`},

		// limits
		{"concurrency_limits = sw.Matlab:2,  license", "ConcurrencyLimits", `"license,sw.Matlab:2"`}, {`ConcurrencyLimits = "a"`, "ConcurrencyLimits", `"a"`},
		{"", "ConcurrencyLimits", "-"}, {"concurrency_limits =", "ConcurrencyLimits", "-"}, {"concurrency_limits = a:0.5 a", "ConcurrencyLimits", `"a,a:0.5"`},
		{`concurrency_limits_expr = strcat("user_", Owner)`, "ConcurrencyLimits", `strcat("user_",Owner)`},
		{"+ConcurrencyLimits = \"x\"\nconcurrency_limits = a", "ConcurrencyLimits", `"x"`},

		// what other policies reckon by
		{"qos = high", "QOS", `"high"`}, {"class = batch", "Class", `"batch"`}, {"Unix_Group = staff", "UnixGroup", `"staff"`},
		{`project = "atlas"`, "Project", `"atlas"`}, {"department = physics", "Department", `"physics"`}, {"qos =", "QOS", "-"},
		{"account = p1", "AcctGroup", `"p1"`}, {"accounting_group = physics\naccount = p1", "AcctGroup", `"p1"`},
		{"account = p1\nnice_user = true", "AcctGroup", `"p1"`}, {"account = p1", "AccountingGroup", "-"},
		{"+Project = \"cms\"\nproject = atlas", "Project", `"cms"`}, {"project = atlas\nargs = $(project)", "Args", `"atlas"`},

		// the rest
		{"priority = -5", "JobPrio", "-5"}, {"prio = +5", "JobPrio", "5"}, {"prio = 10 * $(Process) - 3", "JobPrio", "-3"},
		{"kill_sig = 3", "KillSig", `"SIGQUIT"`}, {"remove_kill_sig = sigint", "RemoveKillSig", `"SIGINT"`},
		{"kill_sig_timeout = 20", "KillSigTimeout", "20"}, {"kill_sig_timeout = 0", "KillSigTimeout", "0"},
		{"+Patience = 5\nkill_sig_timeout = Patience", "KillSigTimeout", "Patience"}, {"job_max_vacate_time = MY.Patience", "JobMaxVacateTime", "MY.Patience"},
		{"request_cpus = 0", "RequestCpus", "0"}, {"request_cpus = 2.0", "RequestCpus", "2.0"}, {"job_max_vacate_time = 5*60", "JobMaxVacateTime", "5 * 60"},
		{`batch_name = "my run"`, "JobBatchName", `"my run"`}, {"description = two words", "JobDescription", `"two words"`},
		{"notification = Never", "JobNotification", "0"},
		{"universe = Vanilla", "JobUniverse", "5"}, {"universe = 5", "JobUniverse", "5"},
		{"+Foo = 1 + 2", "Foo", "1 + 2"}, {"my.Foo = \"x\"", "Foo", `"x"`}, {"+Foo =", "Foo", "undefined"},
		{"+Rank = 7\nrank = 8", "Rank", "7"}, {"+JobPrio = 7\nprio = $(Process)", "JobPrio", "7"},
	} {
		if got := first(t, sleep+c.text+"\nqueue\n", c.name); got != c.want {
			t.Errorf("%s of %q = %s, want %s", c.name, c.text, got, c.want)
		}
	}
}

// TestByteOrderMark reads a file that begins with one.
func TestByteOrderMark(t *testing.T) {
	if got := first(t, "\uFEFF"+sleep+"queue", "Cmd"); got != `"/bin/sleep"` {
		t.Errorf("Cmd behind a byte order mark = %s, want \"/bin/sleep\"", got)
	}
}

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"queue", []string{"1"}},
		{"queue 1000000", []string{"1000000"}},
		{"queue 2\nqueue 3", []string{"5"}},
		{"n = 4\nQueue $(n) * 2", []string{"8"}},
		{"queue 0", nil},
		{"arguments = $(Process)\nqueue 3", []string{`1 Args="0"`, `1 Args="1"`, `1 Args="2"`}},
		{"arguments = $(A)\nA = $(B)\nB = $(Process:x)\nqueue 2", []string{`1 Args="0"`, `1 Args="1"`}},
		{"arguments = $(a$(Process))\na0 = x\na1 = y\na2 = y\nqueue 3", []string{`1 Args="x"`, `2 Args="y"`}},
		{"arguments = $(A:$(Process))\nA = x\nqueue 9", []string{"9"}},
		{"+Even = $(Process) % 2 == 0\noutput = o\nqueue 2", []string{"1 Even=0 % 2 == 0", "1 Even=1 % 2 == 0"}},
		{"args = a\nqueue 2\nargs = b\nqueue 3\nargs = a\nqueue", []string{`2 Args="a"`, `3 Args="b"`, `1 Args="a"`}},
		{"args = $(Process)\nqueue 2\nqueue", []string{`1 Args="0"`, `1 Args="1"`, `1 Args="2"`}},
		{"queue\n+Foo = 1\nqueue", []string{"1", "1 Foo=1"}},
		{"args = x\nqueue\nargs = \"x y\"\nqueue", []string{`1 Args="x"`, `1 Arguments="x y"`}},
		{"prio = $(Process)\nrequest_memory = 1\nqueue 2", []string{"1 JobPrio=0", "1 JobPrio=1"}},
	} {
		ad, got := expand(t, sleep+c.text)
		if !slices.Equal(got, c.want) {
			t.Errorf("runs of %q = %q, want %q", c.text, got, c.want)
		}
		if len(c.want) > 0 && !ad.Has("Cmd") {
			t.Errorf("cluster ad of %q lacks Cmd", c.text)
		}
	}
}

// TestEqualProcsMerge checks that procs whose text differs only by macros
// that come to the same are one run.
func TestEqualProcsMerge(t *testing.T) {
	_, got := expand(t, sleep+"a0 = x\na1 = x\na2 = y\na3 = y\n+P = strcat($(Process))\noutput = o\nqueue 2")
	if len(got) != 2 {
		t.Errorf("runs = %q, want 2", got)
	}
	_, got = expand(t, sleep+"priority = 5$(none:)\nA = $(Process)\nqueue 100")
	if !slices.Equal(got, []string{"100"}) {
		t.Errorf("runs where nothing uses A = %q, want one of 100", got)
	}
}

func TestExpandIsRepeatable(t *testing.T) {
	d, _ := parse(t, sleep+"arguments = $(Cluster) $(Process)\n+A = 1\n+B = 2\nqueue 3")
	for cluster, want := range map[int]string{7: `"7 0"`, 9: `"9 0"`} {
		c, err := d.Expand(cluster)
		if err != nil || len(c.Runs) != 3 {
			t.Fatalf("Expand(%d) = %d runs, %v, want 3", cluster, len(c.Runs), err)
		}
		e, _ := c.Runs[0].Ad().Lookup("Args")
		if e.String() != want {
			t.Errorf("Args of cluster %d = %s, want %s", cluster, e, want)
		}
		if again, _ := d.Expand(cluster); again.Ad.Format(classad.StyleSpool) != c.Ad.Format(classad.StyleSpool) {
			t.Errorf("Expand(%d) twice = %v and %v", cluster, c.Ad, again.Ad)
		}
	}
}

func TestDomain(t *testing.T) {
	d, _ := parse(t, sleep+"queue")
	d.SetDomain("cluster.example.org")
	c, err := d.Expand(1)
	if err != nil {
		t.Fatal(err)
	}
	if user, _ := c.Ad.EvalString(&classad.Context{}, "User"); user != "alice@cluster.example.org" {
		t.Errorf("User = %q, want alice@cluster.example.org", user)
	}
}
