package jobpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

func sprint(x any) string { return fmt.Sprint(x) }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// texts are values that people, and others, give to attributes.
var texts = []string{
	"true", "false", "(true)", "1", "0", "0.5", "-3", "undefined", "error", `"x"`, `"a\nb"`, "{1}", "[a = 1]", "Missing", "JobStatus == 5", "NumJobStarts > 2",
	"time() - EnteredCurrentStatus > 600", "CurrentTime % 2 == 0", "PeriodicHold", "random() < 0.5", `strcat("a", "b")`, "9223372036854775807", "1e300", "ExitCode =!= 0",
	"1699999999", "1700000001", "real(\"NaN\")",
}

// anyAd draws an ad of a job with some of the attributes that matter.
func anyAd(t *rapid.T) *classad.Ad {
	ad := classad.New()
	for _, name := range []string{
		"PeriodicHold", "PeriodicRelease", "PeriodicRemove", "PeriodicVacate", "TimerRemove", "OnExitHold", "OnExitRemove", "LeaveJobInQueue",
		"PeriodicHoldReason", "PeriodicHoldSubCode", "OnExitHoldReason", "AllowedJobDuration", "WallTimeLimit", "DeferralTime", "DeferralWindow", "AfterOk", "DependenciesMet",
	} {
		if !rapid.Bool().Draw(t, "has "+name) {
			continue
		}
		text := rapid.SampledFrom(texts).Draw(t, name)
		e, err := classad.ParseExpr(text)
		if err != nil {
			t.Fatalf("ParseExpr(%q) = %v", text, err)
		}
		ad.Set(name, e)
	}
	ad.SetInt("JobStatus", int64(rapid.IntRange(0, 8).Draw(t, "JobStatus")))
	ad.SetInt("HoldReasonCode", int64(rapid.IntRange(0, 4).Draw(t, "HoldReasonCode")))
	ad.SetInt("NumJobStarts", int64(rapid.IntRange(0, 4).Draw(t, "NumJobStarts")))
	ad.SetInt("EnteredCurrentStatus", now.Unix()-int64(rapid.IntRange(0, 1200).Draw(t, "age")))
	ad.SetInt("ExitCode", int64(rapid.IntRange(0, 2).Draw(t, "ExitCode")))
	return ad
}

// TestVerdictLaws holds what is true of all verdicts.
func TestVerdictLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ad := anyAd(t)
		before := ad.String()
		c := &classad.Context{Now: now.Add(time.Duration(rapid.IntRange(-900, 900).Draw(t, "seconds")) * time.Second), Seed: rapid.Uint64().Draw(t, "seed")}
		n, _ := ad.EvalInt(c, "JobStatus")
		status, v := pool.Status(n), Periodic(c, ad)
		allowed := map[pool.Status][]Action{
			pool.Idle: {Stay, Hold, Remove}, pool.Running: {Stay, Hold, Remove, Vacate}, pool.Suspended: {Stay, Hold, Remove, Vacate},
			pool.Held: {Stay, Release, Remove}, pool.Completed: {Stay, Remove},
		}[status]
		if !slices.Contains(allowed, v.Action) && v.Action != Stay {
			t.Errorf("Periodic of status %v = %v, want one of %v", status, v, allowed)
		}
		sound(t, v)
		if Never(ad) && v != (Verdict{}) {
			t.Errorf("Never is true, and Periodic gives %+v", v)
		}
		exit := OnExit(c, ad)
		if exit.Action != Remove && exit.Action != Again && exit.Action != Hold {
			t.Errorf("OnExit = %+v, want Remove, Again or Hold", exit)
		}
		if exit.Action != Remove {
			sound(t, exit)
		} else if exit != (Verdict{Action: Remove}) {
			t.Errorf("OnExit = %+v, want a bare Remove", exit)
		}
		if got := ad.String(); got != before {
			t.Errorf("the ad became %s, want %s", got, before)
		}
		limits := Limits(c, ad)
		for i, l := range limits {
			if l.For < 0 || i > 0 && l.For < limits[i-1].For {
				t.Errorf("Limits = %+v, want the shortest first, none below 0", limits)
			}
		}
		Deferral(c, ad)
		Overdue(c, ad)
	})
}

// sound holds what is true of each verdict: who does something says why, in a line.
func sound(t *rapid.T, v Verdict) {
	if (v.Action == Stay) != (v.Reason == "") || strings.ContainsAny(v.Reason, "\r\n") || len(v.Reason) > maxReason || !utf8.ValidString(v.Reason) {
		t.Errorf("%v has the reason %q, want one line exactly if something is done", v.Action, v.Reason)
	}
	if (v.Action == Hold) != (v.Code != 0) || v.Action != Hold && v.Subcode != 0 {
		t.Errorf("%v has the codes %d and %d, want codes of a hold only", v.Action, v.Code, v.Subcode)
	}
}

// TestReasonIsBounded gives expressions and reasons without end.
func TestReasonIsBounded(t *testing.T) {
	ad := job(t, `JobStatus = 1; PeriodicHold = true || X =?= "`+strings.Repeat("ü", 5000)+`"`)
	v := Periodic(at(), ad)
	if len(v.Reason) > maxReason || !strings.HasSuffix(v.Reason, "...' evaluated to TRUE") || !utf8.ValidString(v.Reason) {
		t.Errorf("reason of a long expression = %d bytes, ...%q, want at most %d and its end", len(v.Reason), v.Reason[len(v.Reason)-30:], maxReason)
	}
	ad.SetString("PeriodicHoldReason", strings.Repeat("ü ", 5000))
	if v = Periodic(at(), ad); len(v.Reason) > maxReason || !utf8.ValidString(v.Reason) || !strings.HasPrefix(v.Reason, "ü ü") {
		t.Errorf("own reason = %d bytes, want at most %d", len(v.Reason), maxReason)
	}
	ad.SetString("PeriodicHoldReason", strings.Repeat("\xff", 5000))
	if v = Periodic(at(), ad); len(v.Reason) > maxReason || !utf8.ValidString(v.Reason) {
		t.Errorf("own reason of bytes that are no text = %d bytes, %q, want at most %d", len(v.Reason), v.Reason[:9], maxReason)
	}
}

// TestNextLaws holds Next to the meaning of the parts, minute by minute.
func TestNextLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var line []string
		for _, f := range fields {
			part := rapid.Custom(func(t *rapid.T) string {
				from := rapid.IntRange(f.Least, f.Most).Draw(t, "from")
				to := rapid.IntRange(from, f.Most).Draw(t, "to")
				return rapid.SampledFrom([]string{"*", "*/2", fmt.Sprint(from), fmt.Sprintf("%d-%d", from, to), fmt.Sprintf("%d-%d/3", from, to), fmt.Sprintf("%d,%d", from, to)}).Draw(t, "part")
			})
			line = append(line, part.Draw(t, f.Attr))
		}
		ad, table := cronAd(strings.Join(line, " ")), newCrontab(line)
		c := &classad.Context{Now: now.Add(time.Duration(rapid.Int64Range(0, 4*365*86400).Draw(t, "later")) * time.Second)}
		got, err := Next(c, ad)
		if err != nil {
			return // a date that never comes
		}
		if !table.matches(got) || got.Second() != 0 || !got.After(c.Now) {
			t.Fatalf("Next of %q after %v = %v, want a time of these", line, c.Now, got)
		}
		first := c.Now.Truncate(time.Minute).Add(time.Minute)
		for at := first; at.Before(got) && at.Before(first.Add(25*time.Hour)); at = at.Add(time.Minute) {
			if table.matches(at) {
				t.Fatalf("Next of %q after %v = %v, want %v", line, c.Now, got, at)
			}
		}
	})
}

// crontab has the numbers that each field of a line of crontab(5) stands for.
type crontab []map[int]bool

func newCrontab(line []string) (c crontab) {
	for i, field := range line {
		c = append(c, map[int]bool{})
		for _, item := range strings.Split(field, ",") {
			from, to, step := fields[i].Least, fields[i].Most, 1
			if _, err := fmt.Sscanf(item, "*/%d", &step); err != nil && item != "*" {
				if k, _ := fmt.Sscanf(item, "%d-%d/%d", &from, &to, &step); k < 2 {
					to = from
				}
			}
			for m := from; m <= to; m += step {
				c[i][m] = true
			}
		}
	}
	return c
}

// matches reports whether a time is one of a line.
func (c crontab) matches(at time.Time) bool {
	in := func(i, n int) bool { return c[i][n] }
	whole := func(i int) bool {
		for n := fields[i].Least; n <= fields[i].Most; n++ {
			if !in(i, n) && !(i == weekdays && (n == 0 && in(i, 7) || n == 7)) {
				return false
			}
		}
		return true
	}
	byMonth, byWeek := in(days, at.Day()), in(weekdays, int(at.Weekday())) || at.Weekday() == time.Sunday && in(weekdays, 7)
	day := byMonth || byWeek
	if whole(days) || whole(weekdays) {
		day = byMonth && byWeek
	}
	return day && in(minutes, at.Minute()) && in(hours, at.Hour()) && in(months, int(at.Month()))
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{"*", "*/5", "1-5/2", "0,7", "60", "5-3", "", "1/99999999999999999999", "٣"} {
		f.Add(s, s, s, "*", s, int64(1700000000))
	}
	f.Fuzz(func(t *testing.T, minute, hour, day, month, weekday string, unix int64) {
		ad := classad.New()
		for i, text := range []string{minute, hour, day, month, weekday} {
			ad.SetString(fields[i].Attr, text)
		}
		unix = min(max(unix, -1<<40), 1<<40)
		c := &classad.Context{Now: time.Unix(unix, 0).UTC()}
		got, err := Next(c, ad)
		switch {
		case err != nil && (strings.ContainsAny(err.Error(), "\r\n") || !got.IsZero()):
			t.Errorf("Next of %s = %v, %q, want an error of one line", ad, got, err)
		case err == nil && (!got.After(c.Now) || got.Second() != 0):
			t.Errorf("Next of %s after %v = %v, want a minute behind it", ad, c.Now, got)
		}
	})
}

func FuzzParseClusters(f *testing.F) {
	for _, s := range []string{"12", "12, 13", "", "x", "0", "-1", "99999999999999999999", "1\n2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseClusters(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") || list != nil {
				t.Errorf("ParseClusters(%q) = %v, %q, want an error of one line", text, list, err)
			}
			return
		}
		again, err := ParseClusters(numbers(list))
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("ParseClusters(%q) = %v, and of that %v, %v", text, list, again, err)
		}
		ad := classad.New()
		ad.SetString(AttrAfterOk, numbers(list))
		if ok, _ := After(ad); !slices.Equal(ok, list) {
			t.Errorf("After of %v = %v", list, ok)
		}
	})
}

// TestPeriodicAttributesLaw holds that Periodic asks for nothing beside
// PeriodicAttributes and what is the pool's own: whatever else two ads say, it gives the
// same for both.
func TestPeriodicAttributesLaw(t *testing.T) {
	listed := PeriodicAttributes()
	rapid.Check(t, func(t *rapid.T) {
		ad := anyAd(t)
		for _, name := range []string{"PeriodicRemoveReason", "PeriodicReleaseReason", "PeriodicVacateReason"} {
			ad.SetString(name, rapid.SampledFrom([]string{"", "why"}).Draw(t, name))
		}
		same := ad.Clone()
		for _, name := range ad.Names() {
			if !slices.Contains(listed, name) && !slices.Contains([]string{"JobStatus", "HoldReasonCode"}, name) && !asked(ad, listed, name) {
				same.Delete(name)
			}
		}
		c := &classad.Context{Now: now}
		if a, b := Periodic(c, ad), Periodic(c, same); a != b {
			t.Errorf("Periodic = %+v, and %+v without what is none of PeriodicAttributes: %s", a, b, ad)
		}
	})
}

// asked reports whether an expression of the list asks for an attribute, or may do so.
func asked(ad *classad.Ad, list []string, name string) bool {
	return slices.ContainsFunc(list, func(x string) bool {
		e, ok := ad.Lookup(x)
		if !ok {
			return false
		}
		own, external := classad.References(e, ad)
		return own == nil && external == nil || slices.ContainsFunc(own, func(ref string) bool { return strings.EqualFold(ref, name) })
	})
}
