package jobpolicy

import (
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
)

// cronAd is an ad with the parts of a line of crontab(5); - is one that is missing.
func cronAd(line string) *classad.Ad {
	ad := classad.New()
	for i, text := range strings.Fields(line) {
		if text != "-" {
			ad.SetString(fields[i].Attr, strings.ReplaceAll(text, "_", " "))
		}
	}
	return ad
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("no time zones here: %v", err)
	}
	return z
}

func TestNext(t *testing.T) {
	for _, c := range []struct{ cron, zone, now, want string }{
		{"* * * * *", "UTC", "2026-11-21 12:00:00", "2026-11-21 12:01:00"}, {"* * * * *", "UTC", "2026-11-21 12:00:59", "2026-11-21 12:01:00"},
		{"0 - - - -", "UTC", "2026-11-21 09:30:00", "2026-11-21 10:00:00"}, {"0 - - - -", "UTC", "2026-11-21 10:00:00", "2026-11-21 11:00:00"},
		{"23 0-23/2 * * *", "UTC", "2026-11-21 12:23:00", "2026-11-21 14:23:00"}, {"30 22 - - 1-5", "UTC", "2026-11-21 12:00:00", "2026-11-23 22:30:00"},
		{"*/15,_3-5 - - - -", "UTC", "2026-11-21 12:01:00", "2026-11-21 12:03:00"}, {"1-10/3 - - - -", "UTC", "2026-11-21 12:05:00", "2026-11-21 12:07:00"},
		{"59 23 31 12 *", "UTC", "2026-12-31 23:59:00", "2027-12-31 23:59:00"}, {"- 5 - - -", "UTC", "2026-11-21 12:00:00", "2026-11-22 05:00:00"},

		// Days of the month and of the week.
		{"0 0 1 - 0", "UTC", "2026-11-21 12:00:00", "2026-11-22 00:00:00"}, {"0 0 1 - 0", "UTC", "2026-11-29 12:00:00", "2026-12-01 00:00:00"},
		{"0 0 - - 7", "UTC", "2026-11-21 12:00:00", "2026-11-22 00:00:00"}, {"0 0 1-31 - 3", "UTC", "2026-11-21 12:00:00", "2026-11-25 00:00:00"},
		{"0 0 30 - 1-7", "UTC", "2026-11-21 12:00:00", "2026-11-30 00:00:00"}, {"0 0 30 - 0-6", "UTC", "2026-11-21 12:00:00", "2026-11-30 00:00:00"}, {"0 0 31 4,6,7 -", "UTC", "2026-11-21 12:00:00", "2027-07-31 00:00:00"},
		{"0 0 29 2 -", "UTC", "2026-11-21 12:00:00", "2028-02-29 00:00:00"}, {"0 0 29 2 -", "UTC", "2096-02-29 12:00:00", "2104-02-29 00:00:00"},

		// When the clocks are set.
		{"30 2 - - -", "Europe/Berlin", "2026-03-28 12:00:00", "2026-03-29 03:00:00"}, {"30 2 - - -", "Europe/Berlin", "2026-03-29 03:00:00", "2026-03-30 02:30:00"},
		{"*/20 - - - -", "Europe/Berlin", "2026-03-29 01:40:00", "2026-03-29 03:00:00"}, {"30 2 - - -", "Europe/Berlin", "2026-10-24 12:00:00", "2026-10-25 02:30:00"},
		{"0 0 - - -", "America/Sao_Paulo", "2018-11-03 12:00:00", "2018-11-04 01:00:00"}, {"30 0 4 11 -", "America/Sao_Paulo", "2018-11-03 12:00:00", "2018-11-04 01:00:00"},
		{"0 12 30 12 -", "Pacific/Apia", "2011-12-29 13:00:00", "2012-12-30 12:00:00"}, {"0 9 - - -", "Asia/Kathmandu", "2026-11-21 12:00:00", "2026-11-22 09:00:00"},
	} {
		z := zone(t, c.zone)
		now, err := time.ParseInLocation(time.DateTime, c.now, z)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Next(&classad.Context{Now: now}, cronAd(c.cron))
		if err != nil || got.Format(time.DateTime) != c.want || !got.After(now) {
			t.Errorf("Next of %q after %s in %s = %s, %v, want %s", c.cron, c.now, c.zone, got.Format(time.DateTime), err, c.want)
		}
	}
}

func TestNextRefuses(t *testing.T) {
	for _, c := range []struct{ cron, want string }{
		{"60 - - - -", `CronMinute: "60": want numbers from 0 to 59 as in crontab(5)`}, {"- 1- - - -", `CronHour: "1-": want numbers from 0 to 23 as in crontab(5)`},
		{"- - 0 - -", `CronDayOfMonth: "0": want numbers from 1 to 31 as in crontab(5)`}, {"- - - jan -", `CronMonth: "jan": want numbers from 1 to 12 as in crontab(5)`},
		{"- - - - 8", `CronDayOfWeek: "8": want numbers from 0 to 7 as in crontab(5)`}, {"*/0 - - - -", `CronMinute: "*/0": want numbers from 0 to 59 as in crontab(5)`},
		{"5-3 - - - -", `CronMinute: "5-3": want numbers from 0 to 59 as in crontab(5)`}, {"1,,2 - - - -", `CronMinute: "1,,2": want numbers from 0 to 59 as in crontab(5)`},
		{"- - 30 2 -", "CronDayOfMonth, CronMonth: no month has such a day"}, {"0 0 31 2,4,6,9,11 *", "CronDayOfMonth, CronMonth: no month has such a day"},
	} {
		if when, err := Next(at(), cronAd(c.cron)); errText(err) != c.want || !when.IsZero() {
			t.Errorf("Next of %q = %v, %v, want %s", c.cron, when, err, c.want)
		}
	}
	if when, err := Next(at(), classad.New()); err != nil || !when.IsZero() {
		t.Errorf("Next of no times = %v, %v, want the zero time", when, err)
	}
	for text, want := range map[string]string{"CronMinute = 5": "", "CronMinute = undefined": `CronMinute: "": want numbers from 0 to 59 as in crontab(5)`} {
		if _, err := Next(at(), job(t, text)); errText(err) != want {
			t.Errorf("Next(%q) = %v, want %s", text, err, want)
		}
	}
}

func TestOverdue(t *testing.T) {
	for _, c := range []struct {
		ad   string
		want bool
	}{
		{"DeferralTime = 5", false}, {`CronHour = "5"`, true}, {`CronHour = "5"; DeferralTime = 1700000000`, false},
		{`CronHour = "5"; DeferralTime = 1699999999`, true}, {`CronHour = "5"; DeferralTime = 1699999999; DeferralWindow = 1`, false},
		{`CronHour = "5"; DeferralTime = 9223372036854775807; DeferralWindow = 60`, true}, {`CronHour = "5"; DeferralTime = undefined`, true},
	} {
		if got := Overdue(at(), job(t, c.ad)); got != c.want {
			t.Errorf("Overdue(%q) = %t, want %t", c.ad, got, c.want)
		}
	}
}
