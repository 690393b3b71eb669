package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/page"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// job returns the ad of a job, of an owner.
func job(t *testing.T, owner, more string) spool.NewRun {
	t.Helper()
	ad := cmdtest.Ad(t, `[Cmd = "/bin/true"; JobStatus = 1; QDate = `+strconv.Itoa(cmdtest.Now-100)+`; RequestCpus = 1; Requirements = true; `+more+`]`)
	ad.SetString(pool.AttrOwner, owner)
	ad.SetString(pool.AttrUser, owner+"@pool")
	return spool.NewRun{Count: 1, Ad: ad}
}

// small makes a pool in which alice's job 1.0 runs and 1.1 starts, 1.2 waits, bob's 2.0 is held; the last cycle has left a
// report.
func small(t *testing.T) {
	t.Helper()
	cmdtest.Spool(t, func(tx *spool.Tx) {
		tx.PutSlot("slot1@node", cmdtest.Ad(t, `[MyType = "Machine"; Name = "slot1@node"; Machine = "node"; Cpus = 1; Memory = 10; Requirements = true]`))
		alice := job(t, "alice", "").Ad
		tx.AddCluster(alice, []spool.NewRun{{Count: 3}})
		tx.AddCluster(job(t, "bob", `JobStatus = 5; HoldReasonCode = 3; HoldReason = "The job attribute PeriodicHold expression 'true' evaluated to TRUE"`).Ad, []spool.NewRun{{Count: 1}})
		cmdtest.Claims(tx)
		tx.PutSubmitter(accountant.Record{Name: "bob@pool", Priority: 8, At: time.Unix(cmdtest.Now, 0), Weighted: accountant.Usage{Millis: 7_200_000}, Begin: time.Unix(cmdtest.Now-9000, 0), Last: time.Unix(cmdtest.Now-60, 0)})
	})
	if status, _, bad := cmdtest.Run(negotiate.Command(), "-q"); status != 0 {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
}

// written runs the command and returns what it prints.
func written(t *testing.T, args ...string) string {
	t.Helper()
	status, out, bad := cmdtest.Run(Command(), args...)
	if status != 0 || bad != "" {
		t.Fatalf("report %q = %d, %s", args, status, bad)
	}
	return out
}

// line is a line of a metric.
var line = regexp.MustCompile(`^([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})? (-?[0-9.e+-]+)$`)

// values returns the metrics in a text, and fails for one that is not in the format: a family without HELP and TYPE,
// in two places, or a series that is there twice.
func values(t *testing.T, text string) map[string]float64 {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line has no end: %q", text)
	}
	all, families, family := map[string]float64{}, map[string]bool{}, ""
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		if name, ok := strings.CutPrefix(l, "# HELP "); ok {
			name, help, _ := strings.Cut(name, " ")
			if families[name] || !strings.HasPrefix(name, "fairspool_") || !strings.HasSuffix(help, ".") {
				t.Errorf("%s: twice, or without a sentence", l)
			}
			families[name], family = true, name
			continue
		}
		if name, ok := strings.CutPrefix(l, "# TYPE "); ok {
			if kind := strings.TrimPrefix(name, family+" "); kind != gauge && kind != counter || (kind == counter) != strings.HasSuffix(family, "_total") {
				t.Errorf("%s: behind %s", l, family)
			}
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil || m[1] != family {
			t.Errorf("%q is no metric of %s", l, family)
			continue
		}
		if _, twice := all[m[1]+m[2]]; twice {
			t.Errorf("%s is there twice", m[1]+m[2])
		}
		all[m[1]+m[2]], _ = strconv.ParseFloat(m[3], 64)
	}
	return all
}

func TestMetrics(t *testing.T) {
	small(t)
	got := values(t, written(t, "-prometheus", "-"))
	for name, want := range map[string]float64{
		`fairspool_info{version="0.1.0",domain="pool",policy="condor"}`: 1,
		`fairspool_jobs{submitter="alice@pool",state="running"}`:        1,
		`fairspool_jobs{submitter="alice@pool",state="starting"}`:       1,
		`fairspool_jobs{submitter="alice@pool",state="waiting"}`:        1,
		`fairspool_jobs{submitter="bob@pool",state="held"}`:             1,
		`fairspool_submitter_real_priority{submitter="bob@pool"}`:       8,
		`fairspool_submitter_usage_seconds_total{submitter="bob@pool"}`: 7200,
		`fairspool_submitter_slots_in_use{submitter="alice@pool"}`:      2,
		`fairspool_cores{state="used"}`:                                 2,
		`fairspool_machines`:                                            1,
		`fairspool_cycles_total`:                                        1,
		`fairspool_last_cycle_age_seconds`:                              0,
		`fairspool_last_cycle_timestamp_seconds`:                        cmdtest.Now,
		`fairspool_last_cycle_matches`:                                  0,
		`fairspool_pilots{state="live"}`:                                0,
		`fairspool_health_finding{code="Damage"}`:                       0,
	} {
		if x, ok := got[name]; !ok || x != want {
			t.Errorf("%s = %v, %v, want %v", name, x, ok, want)
		}
	}
	again := values(t, written(t, "-prometheus", "-"))
	for name := range got {
		if _, ok := again[name]; !ok {
			t.Errorf("%s is gone the next time", name)
		}
	}
}

// TestMetricsTogether holds that submitters without metrics of their own are summed up: nothing is lost.
func TestMetricsTogether(t *testing.T) {
	small(t)
	cmdtest.Update(t, func(tx *spool.Tx) {
		for i := range 20 {
			name := fmt.Sprintf("user%02d", i)
			tx.AddCluster(job(t, name, "").Ad, []spool.NewRun{{Count: i + 1}})
			tx.PutSubmitter(accountant.Record{Name: name + "@pool", Priority: float64(1 + i%7), At: time.Unix(cmdtest.Now, 0), Weighted: accountant.Usage{Millis: int64(i) * 1000}, Begin: time.Unix(cmdtest.Now-9, 0)})
		}
	})
	sums := func(text string) (sum map[string]float64, labels map[string]bool) {
		sum, labels = map[string]float64{}, map[string]bool{}
		for name, x := range values(t, text) {
			family, rest, _ := strings.Cut(name, "{")
			if _, of, ok := strings.Cut(rest, `submitter="`); ok {
				labels[of[:strings.Index(of, `"`)]] = true
				sum[family] += x
			}
		}
		delete(sum, "fairspool_submitter_effective_priority")
		delete(sum, "fairspool_submitter_real_priority")
		delete(sum, "fairspool_submitter_priority_factor")
		return sum, labels
	}
	all, named := sums(written(t, "-prometheus", "-"))
	if len(named) != 22 || named[rest] {
		t.Errorf("%d submitters, want 22: %v", len(named), named)
	}
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	for most, labels := range map[int]int{0: 1, 1: 2, 5: 6, 21: 22, 22: 22} {
		testenv.OK(t, os.WriteFile(config, []byte(fmt.Sprintf("METRICS_SUBMITTERS = %d\n", most)), 0o600))
		some, named := sums(written(t, "-prometheus", "-", "-config", config))
		if len(named) != labels || named[rest] != (most < 22) {
			t.Errorf("METRICS_SUBMITTERS = %d: %v", most, named)
		}
		for family, want := range all {
			if some[family] != want {
				t.Errorf("METRICS_SUBMITTERS = %d: %s sums up to %v, want %v", most, family, some[family], want)
			}
		}
	}
}

// hostile are names that may not break the page or the metrics.
var hostile = []string{`"><script>alert(1)</script>`, "a\nfairspool_jobs 7", `back\slash"quote`, "</title></style>&amp;{{.}}", "tab\tbell\a", "\xff\xfe", "\u202eright to left", strings.Repeat("long", 500)}

// TestHostile holds that no name of a user, group, job or machine, and no reason, breaks the page or the metrics.
func TestHostile(t *testing.T) {
	small(t)
	now := time.Unix(cmdtest.Now, 0)
	var records []accountant.Record
	cmdtest.Update(t, func(tx *spool.Tx) {
		for i, name := range hostile {
			ad := job(t, name, "").Ad
			ad.SetString("JobBatchName", name)
			ad.SetString(pool.AttrArgs, name)
			if i%2 == 0 {
				ad.SetInt(pool.AttrJobStatus, int64(pool.Held))
				ad.SetString(pool.AttrHoldReason, name)
			}
			tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
			tx.PutSlot(fmt.Sprintf("slot%d@evil", i), cmdtest.Ad(t, `[MyType = "Machine"; Name = "x"; Cpus = 1; Requirements = false; Machine = `+strconv.QuoteToASCII(strings.ToValidUTF8(name, "?"))+`]`))
			if r := (accountant.Record{Name: "x" + strings.NewReplacer("\n", "", "\xff", "", "\t", "").Replace(name) + "@pool", Priority: 3, At: now, Last: now, Begin: now}); len(name) < 100 {
				records = append(records, r)
				tx.PutSubmitter(r)
			}
		}
	})
	if status, _, bad := cmdtest.Run(negotiate.Command(), "-q"); status != 0 {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	metrics := values(t, written(t, "-prometheus", "-"))
	if x := metrics[`fairspool_jobs{submitter="`+label.Replace(hostile[0])+`@pool",state="held"}`]; x != 1 {
		t.Errorf("the metrics lack the job of %q", hostile[0])
	}
	for _, args := range [][]string{{"-html", "-"}, {"-html", "-", "-u", hostile[0]}} {
		text := written(t, args...)
		cmdtest.WellFormed(t, text)
		for _, no := range []string{"<script", "</title></style>", "\a", "\u202e", "\xff"} {
			if strings.Contains(text, no) {
				t.Errorf("the page has %q", no)
			}
		}
		if !strings.Contains(text, "&gt;&lt;script&gt;") {
			t.Error("the page lacks the user's name")
		}
	}
}

func TestPage(t *testing.T) {
	small(t)
	text := written(t, "-html", "-")
	cmdtest.WellFormed(t, text)
	for _, want := range []string{"<h1>pool</h1>", "lower goes first", "Jobs by submitter and state", "alice<wbr>@pool", "by its PeriodicHold", "Cores by machine", "The last cycles, the latest first"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	own := written(t, "-html", "-", "-u", "bob")
	cmdtest.WellFormed(t, own)
	cmdtest.Accessible(t, own)
	if !strings.Contains(own, "Jobs of bob") || !strings.Contains(own, ">2.0</th>") || strings.Contains(own, "alice") {
		t.Errorf("bob's page is not of bob alone:\n%s", own)
	}
}

// TestPagePictures holds that the page draws what samples there are, and sums them up in words.
func TestPagePictures(t *testing.T) {
	small(t)
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	for i := range 48 {
		now := time.Unix(cmdtest.Now-100000, 0).Add(time.Duration(i) * 2000 * time.Second)
		err := s.AddSamples(history.Moment{Now: now, Params: accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1}, Records: []accountant.Record{
			{Name: "alice@pool", Priority: 1 + float64(i), At: now, HalfLife: 24 * time.Hour, InUse: accountant.One, Weighted: accountant.Usage{Millis: int64(i) * 2_000_000}},
			{Name: "bob@pool", Priority: 0.5, At: now, HalfLife: 24 * time.Hour},
		}})
		testenv.OK(t, err)
	}
	testenv.OK(t, s.Close())
	text := written(t, "-html", "-")
	cmdtest.WellFormed(t, text)
	cmdtest.Accessible(t, text)
	if n := strings.Count(text, "<svg "); n != 3 || !strings.Contains(text, "var(--axis)") || strings.Contains(text, "#FFFFFF") {
		t.Errorf("%d pictures, want 3 that follow the page's colours", n)
	}
	if !strings.Contains(text, "Usage in slot hours") {
		t.Error("the page lacks the sums of usage")
	}
}

// crowd makes a pool of n submitters with procs jobs each, on n/4 machines.
func crowd(t *testing.T, n, procs int) {
	for from := 0; from < n; from += 1000 {
		cmdtest.Update(t, func(tx *spool.Tx) {
			for i := from; i < min(from+1000, n); i++ {
				owner := fmt.Sprintf("user%06d", i)
				ad := cmdtest.Ad(t, `[Cmd = "/bin/true"; Args = "7"; JobStatus = 1; QDate = `+strconv.Itoa(cmdtest.Now-100)+`; RequestCpus = 1; Requirements = true; RequestMemory = `+strconv.Itoa(i)+`]`)
				ad.SetString(pool.AttrOwner, owner)
				ad.SetString(pool.AttrUser, owner+"@pool")
				for range procs {
					tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
				}
				now := time.Unix(cmdtest.Now, 0)
				tx.PutSubmitter(accountant.Record{Name: owner + "@pool", Priority: 1 + float64(i), At: now, Last: now, Begin: now.Add(-time.Hour), Weighted: accountant.Usage{Millis: int64(i)}})
				if i%4 == 0 {
					name := fmt.Sprintf("slot1@node%06d", i)
					tx.PutSlot(name, cmdtest.Ad(t, fmt.Sprintf(`[MyType = "Machine"; Name = %q; Machine = "node%06d"; Cpus = 1; Memory = %d; Requirements = true]`, name, i, i)))
				}
			}
		})
	}
}

// TestPageBounded holds that the page of a large pool is no longer than that of a small one, but for the figures.
func TestPageBounded(t *testing.T) {
	sizes := map[int]int{}
	for _, n := range []int{200, 2000} {
		cmdtest.Spool(t, func(*spool.Tx) {})
		crowd(t, n, 2)
		if status, _, bad := cmdtest.Run(negotiate.Command(), "-q"); status != 0 {
			t.Fatalf("negotiate = %d, %s", status, bad)
		}
		text := written(t, "-html", "-")
		cmdtest.WellFormed(t, text)
		if !strings.Contains(text, fmt.Sprintf("%d other submitters", n-page.MostRows)) {
			t.Errorf("%d submitters: it is not said how many are left out", n)
		}
		sizes[n] = len(text)
	}
	if sizes[2000] > 500_000 || sizes[2000] > sizes[200]+2000 {
		t.Errorf("the page has %d bytes for 200 submitters and %d for 2000", sizes[200], sizes[2000])
	}
}

// TestDamaged holds that the page and the metrics of a damaged spool show the damage, and that the
// command fails.
func TestDamaged(t *testing.T) {
	small(t)
	journals, err := filepath.Glob(filepath.Join(os.Getenv("FAIRSPOOL_DIR"), "journal*"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals: %q, %v", journals, err)
	}
	journal := journals[0]
	text, err := os.ReadFile(journal)
	testenv.OK(t, err)
	text[len(text)/3] ^= 1
	testenv.OK(t, os.WriteFile(journal, text, 0o600))
	status, out, bad := cmdtest.Run(Command(), "-html", "-")
	if status != 1 || strings.Count(bad, "\n") != 1 || !strings.Contains(out, "CRITICAL") || !strings.Contains(out, "spool check") {
		t.Errorf("report -html = %d, %q, %s", status, bad, out)
	}
	status, out, bad = cmdtest.Run(Command(), "-prometheus", "-")
	if got := values(t, out); status != 1 || bad == "" || got[`fairspool_health_finding{code="Damage"}`] != 2 || got["fairspool_health_status"] != 2 {
		t.Errorf("report -prometheus = %d, %q, %s", status, bad, out)
	}
}

// promtool runs Prometheus' promtool. Without one, the test is skipped.
func promtool(t *testing.T, input string, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	c := exec.Command(tool, args...)
	c.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out.String())
	}
}

// TestPromtool holds that Prometheus takes the metrics and finds nothing to say against their names.
func TestPromtool(t *testing.T) {
	small(t)
	promtool(t, written(t, "-prometheus", "-"), "check", "metrics")
}

const monitoring = "../../../docs/monitoring.md"

// rules returns the alert rules that the page of documentation has.
func rules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(monitoring)
	testenv.OK(t, err)
	_, yaml, ok := strings.Cut(string(text), "```yaml\ngroups:")
	yaml, _, end := strings.Cut(yaml, "```")
	if !ok || !end {
		t.Fatalf("%s has no rules", monitoring)
	}
	return "groups:" + yaml
}

func TestAlertRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yml")
	testenv.OK(t, os.WriteFile(file, []byte(rules(t)), 0o600))
	promtool(t, "", "check", "rules", file)
}

// TestNamesInDocs holds that what the documentation asks Prometheus for is what the command writes, and that it tells of all of that.
func TestNamesInDocs(t *testing.T) {
	small(t)
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	testenv.OK(t, os.WriteFile(config, []byte("GROUP_NAMES = [\"g\"]\n"), 0o600))
	if status, _, bad := cmdtest.Run(negotiate.Command(), "-q", "-config", config); status != 0 {
		t.Fatalf("negotiate = %d, %s", status, bad)
	}
	there := map[string]bool{}
	for name := range values(t, written(t, "-prometheus", "-", "-config", config)) {
		family, _, _ := strings.Cut(name, "{")
		there[family] = true
	}
	told := map[string]bool{}
	for _, file := range []string{monitoring, "../../../docs/grafana.json", "../../../man/report.1"} {
		text, err := os.ReadFile(file)
		testenv.OK(t, err)
		for _, name := range regexp.MustCompile(`\bfairspool_[a-z_]+`).FindAllString(string(text), -1) {
			if !there[name] {
				t.Errorf("%s: %s is no metric", file, name)
			}
			if filepath.Ext(file) == ".1" {
				told[name] = true
			}
		}
	}
	for name := range there {
		if !told[name] {
			t.Errorf("report(1) does not tell of %s", name)
		}
	}
}

// TestVisible holds what a user of another account sees through the door: no details of others' jobs, and with QUEUE_VISIBLE =
// "own" only the user's own page.
func TestVisible(t *testing.T) {
	small(t)
	const own = "QUEUE_VISIBLE = \"own\"\n"
	for _, c := range []struct {
		user, config, args string
		status             int
		has, lacks         string
	}{
		{"bob", "", "-html -", 0, "alice", "/bin/true"},
		{"bob", "", "-html - -u alice", 0, "Jobs of alice", ">true<"},
		{"alice", "", "-html - -u alice", 0, ">true<", "bob<wbr>"},
		{"alice", own, "-html -", 0, "Jobs of alice", "bob"},
		{"alice", own, "-html - -u bob", 1, "", "bob"},
		{"alice", own, "-prometheus -", 1, "", "bob"},
		{"alice", "ADMINISTRATORS = [\"alice\"]\n" + own, "-prometheus -", 0, "bob@pool", "Jobs of"},
	} {
		status, out, bad := cmdtest.RunFor(t, c.user, c.config, Command(), strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(out, c.has) || strings.Contains(out, c.lacks) {
			t.Errorf("report %s of %s with %q = %d, %s: want %d, %q and not %q in\n%.3000s", c.args, c.user, c.config, status, bad, c.status, c.has, c.lacks, out)
		}
	}
}
