package jobad

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/sge"
)

// berlin has a summer time from the end of March to the end of October.
func berlin(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("no time zones on this machine: %v", err)
	}
	return zone
}

func TestReadDeadline(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, berlin(t))
	for _, c := range []struct {
		text, want string // in UTC
		local      bool
	}{
		{"0", "1970-01-01 00:00:00", false}, {"60", "1970-01-01 00:01:00", false}, {"123456789", "1973-11-29 21:33:09", false},
		{"1800000000", "2027-01-15 08:00:00", false}, {"9999999999", "2286-11-20 17:46:39", false}, {"10000000000", "2286-11-20 17:46:40", false},
		{"11221530", "2026-11-22 14:30:00", true}, {"07011200", "2026-07-01 10:00:00", true}, {"11221530.59", "2026-11-22 14:30:59", true},
		{"0111221530", "2001-11-22 14:30:00", true}, {"2611221530.00", "2026-11-22 14:30:00", true}, {"6911221530.00", "1969-11-22 14:30:00", true},
		{"202611221530", "2026-11-22 14:30:00", true}, {"202611221530.07", "2026-11-22 14:30:07", true}, {"202402291200", "2024-02-29 11:00:00", true},
		{"2026-11-22 15:30", "2026-11-22 14:30:00", true}, {"2026-11-22 15:30:07", "2026-11-22 14:30:07", true}, {"2026-11-22T15:30", "2026-11-22 14:30:00", true},
		{"2026-11-22T15:30:00", "2026-11-22 14:30:00", true}, {"2026-11-22T15:30:00Z", "2026-11-22 15:30:00", false}, {"2026-11-22T15:30:00-05:00", "2026-11-22 20:30:00", false},
	} {
		want := c.want
		got, err := ReadDeadline(c.text, now)
		if strings.HasPrefix(want, "1969") {
			if err == nil {
				t.Errorf("ReadDeadline(%q) = %v, want an error", c.text, got)
			}
			continue
		}
		if s := time.Unix(got.Unix, 0).UTC().Format(time.DateTime); s != want || got.Local != c.local || err != nil || got.Doubt != "" {
			t.Errorf("ReadDeadline(%q) = %s, %+v, %v, want %s, local: %v", c.text, s, got, err, want, c.local)
		}
	}
}

// TestDoubtfulDeadline holds that ten digits are Unix seconds, and that it is said where they
// are a date as well.
func TestDoubtfulDeadline(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	got, err := ReadDeadline("2611221530", now)
	want := Deadline{2611221530, false, "2611221530: taken for Unix seconds, 2052-09-29 11:18:50; for 2026-11-22 15:30 write 202611221530"}
	if got != want || err != nil {
		t.Errorf("ReadDeadline of ten digits = %+v, %v, want %+v", got, err, want)
	}
	_, warnings := parse(t, sleep+"deadline = 2611221530\nqueue")
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0].String(), "a.sub:2: deadline: 2611221530: taken for Unix seconds, ") {
		t.Errorf("warnings of ten digits = %q", warnings)
	}
}

func TestNoDeadline(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, text := range []string{
		"", "tomorrow", "-5", "+5", "1.5", "13011200", "11311200", "11222430", "11221560", "11221530.60", "11221530.5", "202502291200", "00000000", "000000000000",
		"253402300800", "9999999999999", "99999999999999999999", "2026-11-22", "2026-13-22 15:30", "196911221530", "1960-01-01 00:00", "2026-11-22 25:30", "1122 1530", "\n",
	} {
		got, err := ReadDeadline(text, now)
		if err == nil || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("ReadDeadline(%q) = %+v, %v, want an error in one line", text, got, err)
		}
	}
}

// TestNoSuchDate holds that digits of a date that does not exist are not taken for Unix
// seconds, which a number that is no date may be.
func TestNoSuchDate(t *testing.T) {
	for _, text := range []string{"202613010000", "13010000", "02300000", "\"202611312500\"", "0013010000"} {
		_, _, err := read(sleep+"deadline = "+text+"\nqueue", testOptions())
		if err == nil || !strings.Contains(err.Error(), "a.sub:2: deadline: ") || !strings.Contains(err.Error(), ": want Unix seconds, or a time") {
			t.Errorf("deadline = %s: %v, want an error", text, err)
		}
	}
}

// TestLateDeadline holds that local time means the same for jobs that appear later, where the
// time zone is another.
func TestLateDeadline(t *testing.T) {
	o := testOptions()
	o.Now = time.Date(2026, 3, 1, 9, 0, 0, 0, berlin(t)) // in winter
	d, _, err := read(sleep+"deadline = 2026-07-01 12:00\nmax_materialize = 1\nqueue 2\n", o)
	testenv.OK(t, err)
	first, digest, offset, err := d.Begin(7)
	testenv.OK(t, err)
	late, _, err := Materialize(bytes.NewReader(digest), "example.org", 7, 1, 1, offset, o.Now.UTC())
	testenv.OK(t, err)
	want := time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC).Unix()
	for _, c := range []Cluster{first, late} {
		if got, _ := c.Ad.EvalInt(&classad.Context{}, sge.AttrDeadline); got != want {
			t.Errorf("Deadline = %d, want %d", got, want)
		}
	}
}

// TestSettled holds that what has to be the same for all jobs is, where some appear later.
func TestSettled(t *testing.T) {
	o := testOptions()
	o.Settled = []string{"JobPrio", "Project", "RequestLic"}
	const why = ": has to be the same for all jobs with max_materialize or max_idle: leave these out"
	for _, c := range []struct{ text, want string }{
		{"priority = -$(Process)\nmax_materialize = 1\nqueue 3", "a.sub:2: priority" + why},
		{"P = p$(Process)\nproject = $(P)\nmax_idle = 1\nqueue 3", "a.sub:3: project" + why},
		{"+Project = \"$(Item)\"\nmax_idle = 1\nqueue in (a b)", "a.sub:2: +Project" + why},
		{"request_lic = $(Process)\nmax_idle = 1\nqueue 2", "a.sub:2: request_lic" + why},
		{"priority = -$(Process)\nproject = p$(Process)\nqueue 3", ""},
		{"priority = -3\nargs = $(Process)\n+Note = $(Process)\nproject = pa\nmax_idle = 1\nqueue 3", ""},
		{"+JobPrio = 7\npriority = $(Process)\nmax_idle = 1\nqueue 3", ""},
	} {
		_, _, err := read(sleep+c.text, o)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("read(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

// TestRefuse holds that a refusal names the line, and the command as it was written.
func TestRefuse(t *testing.T) {
	why := errors.New("no")
	for _, c := range []struct {
		text, attr string
		proc       int
		want       string
	}{
		{"priority = 5\nqueue", "JobPrio", 0, "a.sub:2: priority: no"}, {"prio = 5\nqueue", "JobPrio", 0, "a.sub:2: prio: no"},
		{"+JobPrio = 5\nprio = 4\nqueue", "JobPrio", 0, "a.sub:2: +JobPrio: no"}, {"queue\nMY.Project = \"x\"\nqueue", "Project", 0, "a.sub:3: +Project: no"},
		{"request_slots = 4\nqueue", "RequestSlots", 0, "a.sub:2: request_slots: no"}, {"queue", "Project", 0, "Project: no"},
		{"priority = 5\nqueue 2\npriority = 6\nqueue 2", "JobPrio", 1, "a.sub:2: priority: no"}, {"priority = 5\nqueue 2\npriority = 6\nqueue 2", "JobPrio", 2, "a.sub:4: priority: no"},
	} {
		d, _ := parse(t, sleep+c.text)
		if got := d.Refuse(c.attr, c.proc, why); got.Error() != c.want || !errors.Is(got, why) {
			t.Errorf("Refuse(%s) of %q = %v, want %s", c.attr, c.text, got, c.want)
		}
	}
}

func FuzzReadDeadline(f *testing.F) {
	for _, text := range []string{"1800000000", "11221530", "2611221530.59", "202611221530", "2026-11-22 15:30", "2026-11-22T15:30:00+01:00", "0"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ReadDeadline(text, now)
		switch {
		case err != nil && strings.ContainsAny(err.Error(), "\r\n"):
			t.Errorf("ReadDeadline(%q) = %q, want one line", text, err)
		case err == nil && (d.Unix < 0 || d.Unix > LastDeadline):
			t.Errorf("ReadDeadline(%q) = %d, out of range", text, d.Unix)
		}
	})
}
