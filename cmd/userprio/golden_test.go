package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// goldenStep is one call of HTCondor's userprio, with what it printed.
type goldenStep struct {
	Args   []string
	Time   int64
	Exit   int
	Stdout string
}

// differences are the steps that differ on purpose, and why: the key is what
// the arguments or the output contain.
var differences = []struct{ has, why string }{
	{"Group", "accounting groups are not part of this version"},
	{"Surplus", "accounting groups are not part of this version"},
	{"-quotas", "quotas are not part of this version"},
}

// noLimits takes the floors and ceilings of the session out of what was
// printed: they are not part of this version.
var noLimits = strings.NewReplacer(
	"      7.00\n", "          \n",
	"      2.00          \n", strings.Repeat(" ", 20)+"\n")

func TestGoldenUserprio(t *testing.T) {
	for _, dir := range []string{"testdata/golden", filepath.Join(os.Getenv("FAIRSPOOL_GOLDEN"), "condor")} {
		files, err := filepath.Glob(filepath.Join(dir, "userprio_display*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if os.Getenv("FAIRSPOOL_GOLDEN") == "" && dir != "testdata/golden" {
				continue
			}
			replay(t, file)
		}
	}
}

func replay(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var session struct{ Steps []goldenStep }
	if err := json.Unmarshal(b, &session); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	// HTCondor shows what the collector knows, unless asked for everybody.
	collector, everybody := listed(t, session.Steps, "-l"), listed(t, session.Steps, "-l", "-allusers")
	agree, all := 0, 0
	for i, s := range session.Steps {
		if s.Exit != 0 || !strings.HasPrefix(s.Stdout, "Last Priority Update: ") {
			continue // edits, refusals, ads: their words are ours
		}
		if why := onPurpose(s); why != "" {
			t.Logf("golden %s: step %d %q differs: %s", filepath.Base(file), i, s.Args, why)
			continue
		}
		records := collector
		if slices.Contains(s.Args, "-allusers") {
			records = everybody
		}
		all++
		if got, want := displayed(t, s, records), noLimits.Replace(s.Stdout); got != want {
			t.Errorf("golden %s: step %d %q:\n%swant\n%s", filepath.Base(file), i, s.Args, got, want)
			continue
		}
		agree++
	}
	if all == 0 {
		t.Errorf("golden %s: no table to compare", file)
	}
	t.Logf("golden condor/%s: %d of %d agree", filepath.Base(file), agree, all)
}

func onPurpose(s goldenStep) string {
	for _, d := range differences {
		if strings.Contains(s.Stdout, d.has) || slices.Contains(s.Args, d.has) {
			return d.why
		}
	}
	return ""
}

// listed returns the submitters' records from the ads that the step with
// these arguments printed.
func listed(t *testing.T, steps []goldenStep, args ...string) []accountant.Record {
	t.Helper()
	i := slices.IndexFunc(steps, func(s goldenStep) bool { return slices.Equal(s.Args, args) })
	if i < 0 {
		t.Fatalf("no step %q", args)
	}
	var list []accountant.Record
	ads, ctx := classad.NewReader(strings.NewReader(steps[i].Stdout), "golden"), &classad.Context{}
	for {
		ad, err := ads.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if group, _ := ad.EvalBool(ctx, "IsAccountingGroup"); group {
			continue
		}
		number := func(name string) float64 { x, _ := ad.EvalNumber(ctx, name); return x }
		moment := func(name string) (at time.Time) {
			if x := number(name); x > 0 {
				at = time.Unix(int64(x), 0)
			}
			return at
		}
		r := accountant.Record{
			Priority: number("Priority") / number("PriorityFactor"), // Priority is the EUP here
			Factor:   number("PriorityFactor"), At: moment("LastUpdate"),
			Begin: moment("BeginUsageTime"), Last: moment("LastUsageTime"),
		}
		r.Name, _ = ad.EvalString(ctx, "Name")
		r.InUse, _ = accountant.WeightOf(number("WeightedResourcesUsed"))
		r.Weighted, _ = accountant.UsageOf(number("WeightedAccumulatedUsage"))
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b accountant.Record) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// displayed prints the records as the step's arguments ask for. As in
// HTCondor, the numbers are those of the last update, some seconds before the
// step, while the cut-off counts from the step.
func displayed(t *testing.T, s goldenStep, records []accountant.Record) string {
	t.Helper()
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	var out strings.Builder
	c := cmdline.Command{Name: "userprio", Flags: flags(), Run: func(c *cmdline.Call) error {
		c.Now = time.Unix(s.Time, 0).UTC()
		show, err := selection(c)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			show.now = records[0].At.UTC()
		}
		return show.print(c.Stdout, show.rows(c, records))
	}}
	if status := cmdline.Execute(c, s.Args, nil, &out, &out); status != 0 {
		return fmt.Sprintf("exit status %d\n%s", status, out.String())
	}
	return out.String()
}
