package jobad

import (
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/submitfile"
)

// cronCommands are the commands of a time in the manner of cron(8), in the order of
// jobpolicy.Fields.
var cronCommands = [5]string{"cron_minute", "cron_hour", "cron_day_of_month", "cron_month", "cron_day_of_week"}

// deferred tells whether the job is to start at a time of its own.
func (j *job) deferred() (bool, error) {
	if _, ok, err := j.command("deferral_time"); ok || err != nil {
		return ok, err
	}
	for _, c := range cronCommands {
		if _, ok, err := j.command(c); ok || err != nil {
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
	if err := j.cron(); err != nil {
		return err
	}
	if err := j.firstSeconds("DeferralWindow", "0", "cron_window", "deferral_window"); err != nil {
		return err
	}
	return j.firstSeconds("DeferralPrepTime", "300", "cron_prep_time", "deferral_prep_time")
}

// cron sets the times in the manner of cron(8), and by them DeferralTime, which counts
// before that of deferral_time.
func (j *job) cron() error {
	ad := classad.New()
	var first given
	for i, f := range jobpolicy.Fields() {
		g, ok, err := j.command(cronCommands[i])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		text := unquoted(g.Text)
		if err := f.Check(text); err != nil {
			return j.refuse(g, "%q: %w", submitfile.Shorten(text), err)
		}
		if first.Name == "" {
			first = g
		}
		ad.SetString(f.Attr, text)
		j.setString(f.Attr, text)
	}
	if first.Name == "" {
		return nil
	}
	now := j.options.Now
	if !j.appears.IsZero() {
		now = j.appears
	}
	next, err := jobpolicy.Next(&classad.Context{Now: now}, ad)
	if err != nil {
		return j.refuse(first, "%w", err)
	}
	j.setExpr(jobpolicy.AttrDeferralTime, strconv.FormatInt(next.Unix(), 10))
	return j.cronDoubts(first)
}

// cronDoubts warns of what people may think of such times and is not so.
func (j *job) cronDoubts(first given) error {
	g, deferred, err := j.command("deferral_time")
	if err != nil {
		return err
	}
	if deferred {
		j.caution(g, "has no effect beside %s", first.Name)
	}
	for _, c := range [...]string{"on_exit_remove", "max_retries", "retry_until", "success_exit_code"} {
		if _, ok, err := j.command(c); ok || err != nil {
			return err
		}
	}
	if !j.overrides["onexitremove"] {
		j.caution(first, "the job runs once and leaves the queue: on_exit_remove = false has it run every time, on_exit_remove = true says that once is right")
	}
	return nil
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
