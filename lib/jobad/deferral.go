package jobad

import (
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/submitfile"
)

// cronFields are the commands of a time in the manner of cron, with the numbers
// that each may have.
var cronFields = []struct {
	command, attr string
	least, most   int
}{
	{"cron_minute", "CronMinute", 0, 59}, {"cron_hour", "CronHour", 0, 23},
	{"cron_day_of_month", "CronDayOfMonth", 1, 31}, {"cron_month", "CronMonth", 1, 12},
	{"cron_day_of_week", "CronDayOfWeek", 0, 7},
}

// deferred tells whether the job is to start at a time of its own.
func (j *job) deferred() (bool, error) {
	if _, ok, err := j.command("deferral_time"); ok || err != nil {
		return ok, err
	}
	for _, f := range cronFields {
		if _, ok, err := j.command(f.command); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// waits tells whether the job waits for a time, be it that of a command or of
// +DeferralTime.
func (j *job) waits() (bool, error) {
	deferred, err := j.deferred()
	return deferred || j.overrides["deferraltime"], err
}

// deferral sets when the job is to start, how many seconds late it may be, and
// how many before it the slot is taken.
func (j *job) deferral() error {
	deferred, err := j.deferred()
	if !deferred || err != nil {
		return err
	}
	if _, err := j.seconds("deferral_time", "DeferralTime"); err != nil {
		return err
	}
	for _, f := range cronFields {
		g, ok, err := j.command(f.command)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if !isCron(unquoted(g.Text), f.least, f.most) {
			return j.refuse(g, "%q: want numbers from %d to %d as in crontab(5): 5, 1-10, */2, *", submitfile.Shorten(g.Text), f.least, f.most)
		}
		j.setString(f.attr, unquoted(g.Text))
	}
	if err := j.firstSeconds("DeferralWindow", "0", "cron_window", "deferral_window"); err != nil {
		return err
	}
	return j.firstSeconds("DeferralPrepTime", "300", "cron_prep_time", "deferral_prep_time")
}

// firstSeconds sets an attribute to the first of several commands that is given.
func (j *job) firstSeconds(attr, fallback string, commands ...string) error {
	for _, c := range commands {
		if found, err := j.seconds(c, attr); found || err != nil {
			return err
		}
	}
	j.setExpr(attr, fallback)
	return nil
}

// isCron tells whether a text is a list of numbers and ranges, each perhaps with
// a step behind a slash.
func isCron(text string, least, most int) bool {
	items := strings.Split(text, ",")
	return !slices.ContainsFunc(items, func(item string) bool {
		item, step, stepped := strings.Cut(strings.TrimSpace(item), "/")
		if n, err := strconv.Atoi(strings.TrimSpace(step)); stepped && (err != nil || n < 1) {
			return true
		}
		if item = strings.TrimSpace(item); item == "*" {
			return false
		}
		from, to, isRange := strings.Cut(item, "-")
		first, err := strconv.Atoi(strings.TrimSpace(from))
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(strings.TrimSpace(to))
		}
		return err != nil || first < least || last > most || last < first
	})
}
