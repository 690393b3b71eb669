package jobpolicy

import (
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
)

// now is the moment of the tests, 1700000000.
var now = time.Unix(1700000000, 0).UTC()

func at() *classad.Context { return &classad.Context{Now: now} }

// job reads an ad in the new form, without the brackets.
func job(t *testing.T, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd("[" + text + "]")
	if err != nil {
		t.Fatalf("ParseAd(%q) = %v", text, err)
	}
	return ad
}

func held(reason string, code, subcode int) Verdict {
	return Verdict{Action: Hold, Reason: reason, Code: code, Subcode: subcode}
}

func fired(a Action, attr, text string) Verdict {
	v := Verdict{Action: a, Reason: "The job attribute " + attr + " expression '" + text + "' evaluated to TRUE"}
	if a == Hold {
		v.Code = ByPolicy
	}
	return v
}

func TestPeriodic(t *testing.T) {
	for _, c := range []struct {
		ad   string
		want Verdict
	}{
		{"", Verdict{}},
		{"PeriodicHold = true", Verdict{}}, // no state
		{"JobStatus = 1; PeriodicHold = true", fired(Hold, "PeriodicHold", "true")},
		{"JobStatus = 1; PeriodicHold = 1", fired(Hold, "PeriodicHold", "1")},
		{"JobStatus = 1; PeriodicHold = -1.5", fired(Hold, "PeriodicHold", "-1.5")},
		{"JobStatus = 1; PeriodicHold = 0.5", Verdict{}},
		{"JobStatus = 1; PeriodicHold = false", Verdict{}},
		{`JobStatus = 1; PeriodicHold = "true"`, Verdict{}},
		{"JobStatus = 1; PeriodicHold = undefined", Verdict{}},
		{"JobStatus = 1; PeriodicHold = Missing > 3", Verdict{}},
		{"JobStatus = 1; PeriodicHold = error", Verdict{}},
		{"JobStatus = 1; PeriodicHold = {true}", Verdict{}},
		{"JobStatus = 1; NumJobStarts = 4; PeriodicHold = NumJobStarts > 3", fired(Hold, "PeriodicHold", "NumJobStarts > 3")},
		{"JobStatus = 2; PeriodicHold = true", fired(Hold, "PeriodicHold", "true")},
		{"JobStatus = 7; PeriodicHold = true", fired(Hold, "PeriodicHold", "true")},
		{"JobStatus = 3; PeriodicHold = true; PeriodicRemove = true; TimerRemove = 0", Verdict{}},
		{"JobStatus = 4; PeriodicHold = true", Verdict{}},
		{"JobStatus = 5; PeriodicHold = true", Verdict{}},
		{"JobStatus = 9; PeriodicHold = true; PeriodicRemove = true", Verdict{}},

		// The job's own reason and subcode.
		{`JobStatus = 1; PeriodicHold = true; PeriodicHoldReason = strcat("too ", "old"); PeriodicHoldSubCode = 40 + 2`, held("too old", ByPolicy, 42)},
		{`JobStatus = 1; PeriodicHold = true; PeriodicHoldReason = "a\nb\t "; PeriodicHoldSubCode = "x"`, held("a b", ByPolicy, 0)},
		{`JobStatus = 1; PeriodicHold = true; PeriodicHoldReason = ""; PeriodicHoldSubCode = 7.9`,
			held("The job attribute PeriodicHold expression 'true' evaluated to TRUE", ByPolicy, 7)},
		{`JobStatus = 1; PeriodicHold = true; PeriodicHoldReason = 7; PeriodicHoldSubCode = 1099511627776`,
			held("The job attribute PeriodicHold expression 'true' evaluated to TRUE", ByPolicy, 0)},
		{`JobStatus = 1; PeriodicRemove = true; PeriodicRemoveReason = "enough"; PeriodicRemoveSubCode = 5`, Verdict{Action: Remove, Reason: "enough"}},

		// Release, but not of what somebody held by hand.
		{"JobStatus = 5; HoldReasonCode = 3; PeriodicRelease = true", fired(Release, "PeriodicRelease", "true")},
		{"JobStatus = 5; HoldReasonCode = 1; PeriodicRelease = true", Verdict{}},
		{"JobStatus = 5; HoldReasonCode = 15; PeriodicRelease = true", fired(Release, "PeriodicRelease", "true")},
		{"JobStatus = 5; PeriodicRelease = true", fired(Release, "PeriodicRelease", "true")},
		{"JobStatus = 5; HoldReasonCode = 1; PeriodicRelease = true; PeriodicRemove = true", fired(Remove, "PeriodicRemove", "true")},
		{"JobStatus = 1; PeriodicRelease = true", Verdict{}},
		{"JobStatus = 2; PeriodicRelease = true", Verdict{}},
		{"JobStatus = 5; HoldReasonCode = 3; EnteredCurrentStatus = 1699999000; PeriodicRelease = time() - EnteredCurrentStatus > 900",
			fired(Release, "PeriodicRelease", "time() - EnteredCurrentStatus > 900")},
		{"JobStatus = 5; HoldReasonCode = 3; EnteredCurrentStatus = 1699999000; PeriodicRelease = CurrentTime - EnteredCurrentStatus > 1000", Verdict{}},

		// Order.
		{"JobStatus = 1; PeriodicHold = true; PeriodicRemove = true", fired(Hold, "PeriodicHold", "true")},
		{"JobStatus = 5; PeriodicRelease = true; PeriodicRemove = true", fired(Release, "PeriodicRelease", "true")},
		{"JobStatus = 2; PeriodicVacate = true; PeriodicHold = true; TimerRemove = 1", fired(Vacate, "PeriodicVacate", "true")},
		{"JobStatus = 7; PeriodicVacate = true; PeriodicHold = true", fired(Vacate, "PeriodicVacate", "true")},
		{"JobStatus = 1; PeriodicVacate = true", Verdict{}},
		{"JobStatus = 5; PeriodicVacate = true", Verdict{}},
		{"JobStatus = 4; PeriodicRemove = true", fired(Remove, "PeriodicRemove", "true")},

		// The time from which a job is removed.
		{"JobStatus = 1; TimerRemove = 1699999999; PeriodicHold = true", fired(Remove, "TimerRemove", "1699999999")},
		{"JobStatus = 1; TimerRemove = 1700000000", Verdict{}},
		{"JobStatus = 5; TimerRemove = 0; PeriodicRelease = true", fired(Remove, "TimerRemove", "0")},
		{"JobStatus = 4; TimerRemove = 0", fired(Remove, "TimerRemove", "0")},
		{"JobStatus = 1; TimerRemove = -1", Verdict{}},
		{"JobStatus = 1; QDate = 5; TimerRemove = QDate + 10", fired(Remove, "TimerRemove", "QDate + 10")},
		{`JobStatus = 2; TimerRemove = "soon"`, held(`The job attribute TimerRemove expression '"soon"' evaluated to UNDEFINED`, PolicyUndefined, 0)},
		{"JobStatus = 5; TimerRemove = undefined; PeriodicRelease = true", Verdict{}},
	} {
		ad := job(t, c.ad)
		if got := Periodic(at(), ad); got != c.want {
			t.Errorf("Periodic(%q) = %+v, want %+v", c.ad, got, c.want)
		}
		if Never(ad) && c.want != (Verdict{}) {
			t.Errorf("Never(%q) = true, want false: Periodic gives %+v", c.ad, c.want)
		}
	}
}

func TestNever(t *testing.T) {
	for _, c := range []struct {
		ad   string
		want bool
	}{
		{"", true}, {"PeriodicHold = false; PeriodicRelease = false; PeriodicRemove = false; PeriodicVacate = false", true},
		{"PeriodicHold = (false)", true}, {"PeriodicHold = undefined; PeriodicRemove = 0", true}, {"PeriodicRelease = true", false},
		{"PeriodicVacate = 1", false}, {"PeriodicHold = (true)", false}, {"PeriodicRemove = X", false}, {"OnExitHold = true", true},
		{"TimerRemove = -1", true}, {"TimerRemove = 1", false}, {"TimerRemove = undefined", false}, {"TimerRemove = X", false},
	} {
		if got := Never(job(t, c.ad)); got != c.want {
			t.Errorf("Never(%q) = %t, want %t", c.ad, got, c.want)
		}
	}
	chained := job(t, "PeriodicHold = NumJobStarts > 3").Chain(nil)
	if child := classad.New().Chain(chained); Never(child) {
		t.Error("Never of an ad with PeriodicHold in its parent = true, want false")
	}
}

func TestOnExit(t *testing.T) {
	const retries = "OnExitRemove = NumJobCompletions > JobMaxRetries || ExitCode =?= 0; JobMaxRetries = 2; "
	again := func(text string) Verdict {
		return Verdict{Action: Again, Reason: "The job attribute OnExitRemove expression '" + text + "' evaluated to FALSE"}
	}
	for _, c := range []struct {
		ad   string
		want Verdict
	}{
		{"ExitCode = 1", Verdict{Action: Remove}},
		{"ExitCode = 1; OnExitRemove = true", Verdict{Action: Remove}},
		{"ExitCode = 1; OnExitRemove = false", again("false")},
		{"ExitCode = 1; OnExitRemove = 0", again("0")},
		{"ExitCode = 1; OnExitRemove = undefined", Verdict{Action: Remove}},
		{"ExitCode = 1; OnExitRemove = Missing == 3", Verdict{Action: Remove}},
		{"ExitCode = 1; OnExitRemove = error", Verdict{Action: Remove}},
		{`ExitCode = 1; OnExitRemove = "false"`, Verdict{Action: Remove}},
		{retries + "ExitCode = 1; NumJobCompletions = 2", again("NumJobCompletions > JobMaxRetries || ExitCode =?= 0")},
		{retries + "ExitCode = 1; NumJobCompletions = 3", Verdict{Action: Remove}},
		{retries + "ExitCode = 0; NumJobCompletions = 1", Verdict{Action: Remove}},
		{retries + "ExitBySignal = true; ExitSignal = 9; NumJobCompletions = 1", again("NumJobCompletions > JobMaxRetries || ExitCode =?= 0")},
		{"ExitCode = 3; OnExitHold = ExitCode == 3; OnExitRemove = false", fired(Hold, "OnExitHold", "ExitCode == 3")},
		{`ExitCode = 3; OnExitHold = true; OnExitHoldReason = "look"; OnExitHoldSubCode = ExitCode`, held("look", ByPolicy, 3)},
		{"ExitCode = 3; OnExitHold = Missing; OnExitRemove = true", Verdict{Action: Remove}},
		{"JobStatus = 2; ExitCode = 3; PeriodicHold = true; OnExitHold = true", fired(Hold, "PeriodicHold", "true")},
		{"JobStatus = 2; ExitCode = 3; PeriodicRemove = true; OnExitHold = true; OnExitRemove = false", Verdict{Action: Remove}},
		{"JobStatus = 2; ExitCode = 3; TimerRemove = 1; PeriodicHold = true; OnExitHold = true", Verdict{Action: Remove}},
		{"JobStatus = 2; ExitCode = 3; PeriodicRelease = true; PeriodicVacate = true; OnExitRemove = false", again("false")},
	} {
		if got := OnExit(at(), job(t, c.ad)); got != c.want {
			t.Errorf("OnExit(%q) = %+v, want %+v", c.ad, got, c.want)
		}
	}
}

func TestSucceeded(t *testing.T) {
	for _, c := range []struct {
		ad   string
		want bool
		how  string
	}{
		{"ExitCode = 0; ExitBySignal = false", true, "ended with exit code 0"}, {"ExitCode = 1", false, "ended with exit code 1"},
		{"ExitCode = 0; JobSuccessExitCode = 4", false, "ended with exit code 0"}, {"ExitCode = 4; JobSuccessExitCode = 4", true, "ended with exit code 4"},
		{"ExitCode = 0; ExitBySignal = true; ExitSignal = 9", false, "ended by signal 9"}, {"", false, "ended, its exit code is not known"},
	} {
		if got := Succeeded(at(), job(t, c.ad)); got != c.want {
			t.Errorf("Succeeded(%q) = %t, want %t", c.ad, got, c.want)
		}
		if got := How(at(), job(t, c.ad)); got != c.how {
			t.Errorf("How(%q) = %q, want %q", c.ad, got, c.how)
		}
	}
}

func TestStays(t *testing.T) {
	for _, c := range []struct {
		ad   string
		want bool
	}{
		{"", false}, {"LeaveJobInQueue = true", true}, {"LeaveJobInQueue = false", false}, {"LeaveJobInQueue = undefined", false},
		{"JobStatus = 4; CompletionDate = 1699999000; LeaveJobInQueue = JobStatus == 4 && time() - CompletionDate < 3600", true},
		{"JobStatus = 4; CompletionDate = 1699990000; LeaveJobInQueue = JobStatus == 4 && time() - CompletionDate < 3600", false},
	} {
		if got := Stays(at(), job(t, c.ad)); got != c.want {
			t.Errorf("Stays(%q) = %t, want %t", c.ad, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	over := func(reason string, code int) Verdict { return held(reason, code, 0) }
	for _, c := range []struct {
		ad   string
		want []Limit
	}{
		{"", nil}, {"AllowedJobDuration = undefined", nil}, {`AllowedJobDuration = "1 h"`, nil}, {"AllowedJobDuration = 9223372036854775807", nil},
		{"AllowedJobDuration = 7200", []Limit{{2 * time.Hour, false, over("The job exceeded allowed job duration of 2:00:00", JobDuration)}}},
		{"AllowedExecuteDuration = 303", []Limit{{303 * time.Second, true, over("The job exceeded allowed execute duration of 5:03", ExecuteDuration)}}},
		{"WallTimeLimit = 86400 + 7325", []Limit{{93725 * time.Second, false, over("The job exceeded wall time limit of 1+02:02:05", WallTime)}}},
		{"AllowedJobDuration = -5", []Limit{{0, false, over("The job exceeded allowed job duration of 0:00", JobDuration)}}},
		{"Deadline = 1700000060; AllowedExecuteDuration = Deadline - time(); AllowedJobDuration = 30.7", []Limit{
			{30 * time.Second, false, over("The job exceeded allowed job duration of 0:30", JobDuration)},
			{60 * time.Second, true, over("The job exceeded allowed execute duration of 1:00", ExecuteDuration)},
		}},
	} {
		got := Limits(at(), job(t, c.ad))
		if len(got) != len(c.want) {
			t.Errorf("Limits(%q) = %+v, want %+v", c.ad, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("Limits(%q)[%d] = %+v, want %+v", c.ad, i, got[i], c.want[i])
			}
		}
	}
}

func TestDeferral(t *testing.T) {
	const noTime = "The job has a DeferralTime that is no time"
	for _, c := range []struct {
		ad     string
		at     int64 // 0: none
		missed Verdict
	}{
		{"", 0, Verdict{}}, {"DeferralTime = 1700000060", 1700000060, Verdict{}}, {"DeferralTime = 1700000000", 1700000000, Verdict{}},
		{"QDate = 1700000000; DeferralTime = (QDate + 60)", 1700000060, Verdict{}},
		{"DeferralTime = 1699999970; DeferralWindow = 30", 1699999970, Verdict{}},
		{"DeferralTime = 1699999969; DeferralWindow = 30", 1699999969, held("The job missed its execution time, 2023-11-14 22:12:49, by 0:31", MissedTime, 0)},
		{"DeferralTime = 1699999999", 1699999999, held("The job missed its execution time, 2023-11-14 22:13:19, by 0:01", MissedTime, 0)},
		{"DeferralTime = 1699999999; DeferralWindow = -5", 1699999999, held("The job missed its execution time, 2023-11-14 22:13:19, by 0:01", MissedTime, 0)},
		{"DeferralTime = undefined", 0, held(noTime, MissedTime, 0)}, {`DeferralTime = "noon"`, 0, held(noTime, MissedTime, 0)},
		{"DeferralTime = 0", 0, held(noTime, MissedTime, 0)}, {"DeferralTime = 9223372036854775807", 0, held(noTime, MissedTime, 0)},
		{"DeferralTime = 5; DeferralWindow = 9223372036854775807", 5, Verdict{}},
	} {
		when, missed := Deferral(at(), job(t, c.ad))
		if missed != c.missed || when.IsZero() != (c.at == 0) || c.at != 0 && when.Unix() != c.at {
			t.Errorf("Deferral(%q) = %v, %+v, want %d, %+v", c.ad, when, missed, c.at, c.missed)
		}
	}
}

func TestDependencies(t *testing.T) {
	for _, c := range []struct {
		ad      string
		ok, any string // as fmt prints them
		waits   bool
	}{
		{"", "", "", false}, {`AfterOk = "12,13"`, "12 13", "", true}, {`AfterAny = "14"`, "", "14", true},
		{`AfterOk = "12"; AfterAny = "14 12"; DependenciesMet = true`, "12", "14 12", false},
		{`AfterOk = "12"; DependenciesMet = false`, "12", "", true}, {`AfterOk = "12"; DependenciesMet = X; X = true`, "12", "", true},
		{`AfterOk = "12,12, 0,-3,x,13"`, "12 13", "", true}, {"AfterOk = 12", "12", "", true}, {"AfterAny = undefined", "", "", false}, {"AfterOk = undefined; AfterAny = 3", "", "3", true}, {"AfterOk = X", "", "", true},
	} {
		ad := job(t, c.ad)
		ok, any := After(ad)
		if got := numbers(ok); got != c.ok {
			t.Errorf("After(%q) with success = %s, want %s", c.ad, got, c.ok)
		}
		if got := numbers(any); got != c.any {
			t.Errorf("After(%q) in any way = %s, want %s", c.ad, got, c.any)
		}
		if got := Waits(ad); got != c.waits {
			t.Errorf("Waits(%q) = %t, want %t", c.ad, got, c.waits)
		}
	}
}

func TestParseClusters(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"12", "12", ""}, {"12 13", "12 13", ""}, {" 13,12,,13\t4 ", "13 12 4", ""}, {"2147483647", "2147483647", ""},
		{"", "", `"": want numbers of clusters, such as 12, 13`}, {", ,", "", `", ,": want numbers of clusters, such as 12, 13`},
		{"12.0", "", `"12.0": want numbers of clusters, such as 12, 13`}, {"0", "", `"0": want numbers of clusters, such as 12, 13`},
		{"-1", "", `"-1": want numbers of clusters, such as 12, 13`}, {"12 ok", "", `"ok": want numbers of clusters, such as 12, 13`},
		{"2147483648", "", `"2147483648": want numbers of clusters, such as 12, 13`},
	} {
		list, err := ParseClusters(c.text)
		if got := numbers(list); got != c.want || errText(err) != c.err {
			t.Errorf("ParseClusters(%q) = %s, %v, want %s, %s", c.text, got, err, c.want, c.err)
		}
	}
	var many strings.Builder
	for n := range MaxClusters {
		many.WriteString(numbers([]int{n + 1}) + " 1,")
	}
	if list, err := ParseClusters(many.String()); len(list) != MaxClusters || err != nil {
		t.Errorf("ParseClusters of %d clusters = %d, %v, want all", MaxClusters, len(list), err)
	}
	if _, err := ParseClusters(many.String() + "1001"); errText(err) != "want at most 1000 clusters" {
		t.Errorf("ParseClusters of %d clusters = %v, want an error", MaxClusters+1, err)
	}
}

func TestActionString(t *testing.T) {
	for a, want := range map[Action]string{Stay: "stay", Hold: "hold", Release: "release", Remove: "remove", Vacate: "vacate", Again: "again", 6: "action 6", -1: "action -1"} {
		if got := a.String(); got != want {
			t.Errorf("Action(%d).String() = %q, want %q", int(a), got, want)
		}
	}
}

func numbers(list []int) string {
	return strings.Trim(strings.ReplaceAll(sprint(list), "  ", " "), "[]")
}
