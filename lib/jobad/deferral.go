package jobad

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// cronCommands are the commands of a time in the manner of cron(8), in the order of
// jobpolicy.Fields.
var cronCommands = [5]string{"cron_minute", "cron_hour", "cron_day_of_month", "cron_month", "cron_day_of_week"}

// deferred reports whether the job is to start at a time of its own.
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

// waits reports whether the job waits for a time, given by a command or by +DeferralTime.
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

// cron sets the times in the manner of cron(8), and from them DeferralTime, in place of
// deferral_time.
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
	now := j.now()
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

// cronDoubts warns of common misunderstandings of such times.
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

// after sets which clusters have to end before the job may be matched: their numbers,
// each once, with commas between.
func (j *job) after(command, attr string) error {
	g, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	clusters, err := jobpolicy.ParseClusters(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	var text strings.Builder
	for i, n := range clusters {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Itoa(n))
	}
	j.setString(attr, text.String())
	return nil
}

// LastDeadline is the greatest deadline, in Unix seconds: the last second of the year 9999, which
// is still as wide as other times where it is shown.
const LastDeadline = 253402300799

// Deadline is the time by which a job should have started, in a user's notation (qsub(1),
// -dl).
type Deadline struct {
	Unix  int64 // seconds
	Local bool  // it was written in local time, so that the time zone decides
	// Doubt says what else may have been meant; empty: nothing.
	Doubt string
}

// ReadDeadline reads a deadline: Unix seconds, a local time as qsub -dl has it
// ([[CC]YY]MMDDhhmm[.SS]), a local time like 2026-11-22 15:30 with or without seconds, or RFC
// 3339. It lies between 1970 and 9999. Now gives the year and the time zone.
//
// Digits alone are a date if they are 8 or 12, or 10 that begin with 0; all others are Unix
// seconds. Doubt reports 10 digits that may be either.
func ReadDeadline(text string, now time.Time) (Deadline, error) {
	digits := strings.Trim(text, "0123456789") == "" && text != ""
	dated := len(text) == 8 || len(text) == 12 || len(text) == 10 && text[0] == '0'
	var d Deadline
	var err error
	switch {
	case digits && !dated:
		if d.Unix, err = strconv.ParseInt(text, 10, 64); err != nil {
			d.Unix = LastDeadline + 1
		}
		d.Doubt = doubtDigits(text, d.Unix, now)
	default:
		var at time.Time
		if at, d.Local, err = timeOf(text, now); err != nil {
			return Deadline{}, err
		}
		d.Unix = at.Unix()
	}
	if d.Unix < 0 || d.Unix > LastDeadline {
		return Deadline{}, fmt.Errorf("%q: want a time between 1970 and 9999", submitfile.Shorten(text))
	}
	return d, nil
}

// doubtDigits tells of Unix seconds that may have been meant for a date of this century.
func doubtDigits(text string, unix int64, now time.Time) string {
	at, ok := dateOf(text, now)
	if len(text) != 10 || !ok {
		return ""
	}
	return fmt.Sprintf("%s: taken for Unix seconds, %s; for %s write 20%s",
		text, time.Unix(unix, 0).In(now.Location()).Format(time.DateTime), at.Format("2006-01-02 15:04"), text)
}

// errDeadline says how a deadline is written.
var errDeadline = errors.New("want Unix seconds, or a time such as 2026-11-22 15:30, 202611221530 or 2026-11-22T15:30:00Z")

// timeOf reads a deadline that is no number of seconds.
func timeOf(text string, now time.Time) (at time.Time, local bool, err error) {
	if at, ok := dateOf(text, now); ok {
		return at, true, nil
	}
	for _, layout := range [...]string{"2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true, nil
		}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, false, nil
	}
	return time.Time{}, false, fmt.Errorf("%q: %w", submitfile.Shorten(text), errDeadline)
}

// dateOf reads [[CC]YY]MMDDhhmm[.SS]. Years of two digits are 1969 to 2068, as touch(1) has
// them.
func dateOf(text string, now time.Time) (time.Time, bool) {
	date, seconds, dotted := strings.Cut(text, ".")
	if strings.Trim(date+seconds, "0123456789") != "" || dotted && len(seconds) != 2 {
		return time.Time{}, false
	}
	year := now.Year()
	switch n := len(date); n {
	case 8:
	case 10, 12:
		year, _ = strconv.Atoi(date[:n-8])
		if n == 10 && year < 69 {
			year += 100
		}
		if n == 10 {
			year += 1900
		}
	default:
		return time.Time{}, false
	}
	var part [5]int // month, day, hour, minute, second
	for i := range 4 {
		part[i], _ = strconv.Atoi(date[len(date)-8+2*i:][:2])
	}
	part[4], _ = strconv.Atoi(seconds)
	// A day that the month lacks, or an hour that the day lacks, differs after normalization,
	// regardless of time zones.
	same := time.Date(year, time.Month(part[0]), part[1], part[2], part[3], part[4], 0, time.UTC)
	if got := [5]int{int(same.Month()), same.Day(), same.Hour(), same.Minute(), same.Second()}; got != part {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(part[0]), part[1], part[2], part[3], part[4], 0, now.Location()), true
}

// deadline sets Deadline, to Unix seconds.
func (j *job) deadline() error {
	g, ok, err := j.command("deadline")
	if !ok || err != nil {
		return err
	}
	n, err := j.secondsOf(g)
	if err != nil {
		return err
	}
	j.setExpr(sge.AttrDeadline, strconv.FormatInt(n, 10))
	return nil
}

// secondsOf returns the deadline that a command gives, be it as the result of an expression
// that asks for nothing, such as $(SUBMIT_TIME) + 3600.
func (j *job) secondsOf(g given) (int64, error) {
	text := unquoted(g.Text)
	if n, ok := j.deadlines[text]; ok {
		return n, nil
	}
	d, wrong := ReadDeadline(text, j.now())
	if wrong != nil {
		e, err := j.exprs.Expr(g.Text)
		isDigits := strings.Trim(text, "0123456789") == "" // a date that does not exist, and no seconds
		if isDigits || err != nil || BeyondInteger(g.Text) || fixedNumbers["deadline"].check(e) != nil {
			return 0, j.refuse(g, "%w", wrong)
		}
		n, _ := e.Eval(&classad.Context{}, classad.New(), nil).Int()
		return n, nil
	}
	if d.Doubt != "" {
		j.caution(g, "%s", d.Doubt)
	}
	if d.Local && j.late != (Late{}) {
		return d.Unix, j.keepDeadline(g, text, d.Unix)
	}
	return d.Unix, nil
}

// keepDeadline keeps a local time as Unix seconds for jobs that appear later, as these may
// be created in another time zone.
func (j *job) keepDeadline(g given, text string, n int64) error {
	j.Varies()
	if _, _, err := j.command("deadline"); err != nil {
		return err
	}
	if j.Varies() {
		return j.refuse(g, "%q: a local time has to be the same for all jobs with max_materialize or max_idle: write Unix seconds, or 2026-11-22T15:30:00Z", submitfile.Shorten(text))
	}
	j.deadlines = map[string]int64{text: n}
	return nil
}
