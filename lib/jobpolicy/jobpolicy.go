// Package jobpolicy evaluates a job's own policy expressions: whether the job is to be held, released,
// removed or run once more, and why.
//
// Periodic judges a job of the queue now and then, and Never reports whether that can be skipped. OnExit
// judges a job whose process has ended, Stays a job that is about to leave the queue. Limits and
// Deferral are for the supervisor of the job. Next is for a command that puts a job with cron_* times
// into the queue, or back into it. Waits and After return which clusters a job waits for. The answers
// are Verdicts, on which the caller acts.
//
// The source is HTCondor's manual ("condor_submit", "Time Scheduling for Job Execution",
// "Job ClassAd Attributes"), and where that is silent its condor_utils/user_job_policy.cpp.
// AfterOk, AfterAny and WallTimeLimit are our own.
//
// Users write the expressions: undefined and error have no effect, reasons are one line and bounded,
// and the Context's MaxSteps bounds each evaluation.
//
// The package is pure. It knows the attributes of job ads, and no queue.
package jobpolicy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/classad"
	"fairspool/lib/elapsed"
	"fairspool/lib/pool"
)

// Action is an action of a policy on a job.
type Action int

// The actions.
const (
	Stay    Action = iota // nothing
	Hold                  // it is held until it is released
	Release               // it is no longer held
	Remove                // it leaves the queue
	Vacate                // it leaves its slot, to run again
	Again                 // it has ended, and is to run once more
)

// String returns the action in a word.
func (a Action) String() string {
	words := [...]string{"stay", "hold", "release", "remove", "vacate", "again"}
	if a < 0 || int(a) >= len(words) {
		return fmt.Sprintf("action %d", int(a))
	}
	return words[a]
}

// Verdict is an action for a job, with its reason.
type Verdict struct {
	Action Action
	// Reason is one line of at most 4096 bytes; empty for Stay, and for the Remove
	// of a job that has just ended.
	Reason string
	// Code and Subcode are the HoldReasonCode and HoldReasonSubCode of a Hold.
	Code, Subcode int
}

// The HoldReasonCodes that this package sets or reads. Codes below 1000
// are HTCondor's (its manual, "Job ClassAd Attributes", HoldReasonCode).
const (
	ByUser           = 1    // qhold held the job
	ByPolicy         = 3    // an expression of the job is true
	PolicyUndefined  = 5    // TimerRemove is no time
	MissedTime       = 20   // it is too late for DeferralTime
	CronSettings     = 25   // the times of cron_* do not parse, or never come
	JobDuration      = 46   // AllowedJobDuration is over
	ExecuteDuration  = 47   // AllowedExecuteDuration is over
	DependencyFailed = 1000 // a job of AfterOk's clusters did not succeed
	WallTime         = 1001 // WallTimeLimit is over
)

// maxReason bounds a Reason in bytes, since expressions can make endless texts.
const maxReason = 4096

// fires reports whether a policy expression's value requires the action: true, or a
// number that is not 0 without its fraction, as in HTCondor. Undefined, error and
// all other values do not.
func fires(v classad.Value) bool {
	x, ok := v.Number()
	return ok && math.Abs(x) >= 1
}

// isTrue reports whether an attribute is there and fires.
func isTrue(c *classad.Context, ad *classad.Ad, name *classad.Name) bool {
	v, e, ok := ad.Get(name)
	if ok && e != nil {
		v = e.Eval(c, ad, nil)
	}
	return ok && fires(v)
}

// whole returns an attribute's number without its fraction; ok is false for other values, and for
// numbers beyond 63 bits.
func whole(c *classad.Context, ad *classad.Ad, name string) (n int64, ok bool) {
	v := ad.Eval(c, name, nil)
	if n, ok = v.Int(); ok {
		return n, true
	}
	x, ok := v.Number()
	if !ok || !(math.Abs(x) < 1<<63) {
		return 0, false
	}
	return int64(x), true
}

// verdict returns the Verdict of an attribute that fired. The attributes with Reason and, for a Hold,
// SubCode behind that name give its reason and subcode; without a reason it is HTCondor's sentence.
func verdict(c *classad.Context, ad *classad.Ad, a Action, name string) Verdict {
	v := Verdict{Action: a}
	if a == Hold {
		v.Code = ByPolicy
		if n, ok := whole(c, ad, name+"SubCode"); ok && n == int64(int32(n)) {
			v.Subcode = int(n)
		}
	}
	own, _ := ad.EvalString(c, name+"Reason")
	if v.Reason = line(own); v.Reason == "" {
		v.Reason = sentence(ad, name, "TRUE")
	}
	return v
}

// sentence words the value of an expression of the job.
func sentence(ad *classad.Ad, name, value string) string {
	text := ""
	if e, ok := ad.Lookup(name); ok {
		text = e.String()
	}
	head, tail := "The job attribute "+name+" expression '", "' evaluated to "+value
	return head + cut(line(text), maxReason-len(head)-len(tail)) + tail
}

// line returns a text as one line, with blanks for unprintable characters.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, cut(text, maxReason))
	return cut(strings.TrimSpace(text), maxReason)
}

// cut returns at most n bytes of a text, with dots for the rest.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("...")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}

var (
	onExitHold   = rule{classad.NewName("OnExitHold"), Hold}
	onExitRemove = classad.NewName("OnExitRemove")
	leaveInQueue = classad.NewName("LeaveJobInQueue")
)

// OnExit returns the verdict on a job that ended by itself: Remove, without a reason, Again or Hold.
//
// The ad has the job's end (ExitBySignal, and ExitCode or ExitSignal), and is otherwise as
// while the job ran, except that NumJobCompletions includes this end, which OnExitRemove of
// max_retries depends on. OnExit does not read JobStatus; expressions may.
//
// As in HTCondor the periodic expressions come first (its manual, condor_submit,
// periodic_remove): TimerRemove and PeriodicHold, PeriodicRemove, then OnExitHold and
// OnExitRemove. Missing expressions, undefined and error have no effect, so that the job leaves the
// queue.
func OnExit(c *classad.Context, ad *classad.Ad) Verdict {
	v := waiting(c, ad)
	onExitHold.apply(&v, c, ad)
	switch {
	case v.Action == Hold:
		return v
	case v.Action == Remove || !staysAfterExit(c, ad):
		return Verdict{Action: Remove}
	}
	return Verdict{Action: Again, Reason: sentence(ad, onExitRemove.String(), "FALSE")}
}

// staysAfterExit reports whether OnExitRemove is false, or a number that is 0.
func staysAfterExit(c *classad.Context, ad *classad.Ad) bool {
	v := ad.Eval(c, onExitRemove.String(), nil)
	_, isNumber := v.Number()
	return isNumber && !fires(v)
}

// Stays reports whether a job that has ended or was removed stays in the queue:
// its LeaveJobInQueue is true. The ad is that after the end.
func Stays(c *classad.Context, ad *classad.Ad) bool { return isTrue(c, ad, leaveInQueue) }

// Succeeded reports whether a job that ended by itself has succeeded: not by a signal, and with the exit
// code JobSuccessExitCode, or 0 without that.
func Succeeded(c *classad.Context, ad *classad.Ad) bool {
	if by, ok := ad.EvalBool(c, pool.AttrExitBySignal); ok && by {
		return false
	}
	want, _ := ad.EvalInt(c, pool.AttrJobSuccessExitCode)
	code, ok := ad.EvalInt(c, pool.AttrExitCode)
	return ok && code == want
}

// How words in short how a job ended, by its ad.
func How(c *classad.Context, ad *classad.Ad) string {
	if by, ok := ad.EvalBool(c, pool.AttrExitBySignal); ok && by {
		n, _ := ad.EvalInt(c, pool.AttrExitSignal)
		return fmt.Sprintf("ended by signal %d", n)
	}
	code, ok := ad.EvalInt(c, pool.AttrExitCode)
	if !ok {
		return "ended, its exit code is not known"
	}
	return fmt.Sprintf("ended with exit code %d", code)
}

// rule is an expression of the job with the action for when it fires.
type rule struct {
	attr   *classad.Name
	action Action
}

var (
	vacate  = rule{classad.NewName("PeriodicVacate"), Vacate}
	hold    = rule{classad.NewName("PeriodicHold"), Hold}
	release = rule{classad.NewName("PeriodicRelease"), Release}
	remove  = rule{classad.NewName("PeriodicRemove"), Remove}

	timerRemove = classad.NewName(attrTimer)
)

// PeriodicAttributes returns the names of all attributes that Periodic, Overdue and Next depend on: jobs
// with equal values of them get equal answers.
func PeriodicAttributes() []string {
	names := []string{attrTimer, AttrDeferralTime, AttrDeferralWindow}
	for _, r := range [...]rule{vacate, hold, release, remove} {
		names = append(names, r.reads()...)
	}
	return append(names, CronAttributes()...)
}

// ExitAttributes returns the names of all attributes that OnExit evaluates.
func ExitAttributes() []string {
	names := []string{attrTimer, onExitRemove.String()}
	for _, r := range [...]rule{hold, remove, onExitHold} {
		names = append(names, r.reads()...)
	}
	return names
}

// reads returns the names of the attributes that the rule and its verdict depend on.
func (r rule) reads() []string {
	name := r.attr.String()
	return []string{name, name + "Reason", name + "SubCode"}
}

// attrTimer is the time from which a job is removed, in Unix seconds.
const attrTimer = "TimerRemove"

// apply sets found if nothing has fired yet and the rule fires.
func (r rule) apply(found *Verdict, c *classad.Context, ad *classad.Ad) {
	if found.Action == Stay && isTrue(c, ad, r.attr) {
		*found = verdict(c, ad, r.action, r.attr.String())
	}
}

// Never reports whether Periodic always returns Stay for the ad, whatever the
// time and the job's state: all its expressions are constants that do not fire. It
// evaluates nothing.
func Never(ad *classad.Ad) bool {
	for _, r := range [...]rule{vacate, hold, release, remove} {
		if v, constant, ok := constantOf(ad, r.attr); ok && (!constant || fires(v)) {
			return false
		}
	}
	v, constant, ok := constantOf(ad, timerRemove)
	n, isInt := v.Int()
	return !ok || constant && isInt && n < 0
}

// constantOf returns the value of an attribute that is a constant.
func constantOf(ad *classad.Ad, name *classad.Name) (v classad.Value, constant, ok bool) {
	v, e, ok := ad.Get(name)
	if e != nil {
		v, constant = e.Constant()
		return v, constant, ok
	}
	return v, ok, ok
}

// Periodic returns the verdict of the job's periodic expressions in its
// state, JobStatus. The first that fires counts, in HTCondor's order (24 and later,
// condor_utils/user_job_policy.cpp): PeriodicVacate of a running or suspended job,
// TimerRemove, PeriodicHold, PeriodicRelease of a held job that was not held by hand,
// PeriodicRemove, also of a job that has ended and stays in the queue. Undefined and error do not fire,
// but a TimerRemove that is no number holds the job.
//
// Periodic does not judge Limits. A job in another state, or removed, stays.
func Periodic(c *classad.Context, ad *classad.Ad) Verdict {
	n, _ := whole(c, ad, pool.AttrJobStatus)
	switch status := pool.Status(n); status {
	case pool.Running, pool.Suspended:
		var v Verdict
		vacate.apply(&v, c, ad)
		if v.Action == Stay {
			v = waiting(c, ad)
		}
		return v
	case pool.Idle:
		return waiting(c, ad)
	case pool.Held, pool.Completed:
		return resting(c, ad, status == pool.Held)
	}
	return Verdict{}
}

// waiting is Periodic of a job that may be held.
func waiting(c *classad.Context, ad *classad.Ad) Verdict {
	v := timer(c, ad)
	hold.apply(&v, c, ad)
	remove.apply(&v, c, ad)
	return v
}

// resting is Periodic of a job that is held or has ended. If TimerRemove is no time the job stays, as
// releasing it would hold it again at once.
func resting(c *classad.Context, ad *classad.Ad, held bool) Verdict {
	v := timer(c, ad)
	if v.Action == Hold {
		return Verdict{}
	}
	if code, _ := whole(c, ad, pool.AttrHoldReasonCode); held && code != ByUser {
		release.apply(&v, c, ad)
	}
	remove.apply(&v, c, ad)
	return v
}

// timer returns the verdict of TimerRemove: the job is removed when that second is over.
func timer(c *classad.Context, ad *classad.Ad) Verdict {
	if _, _, ok := ad.Get(timerRemove); !ok {
		return Verdict{}
	}
	n, ok := whole(c, ad, attrTimer)
	switch {
	case !ok:
		return Verdict{Action: Hold, Reason: sentence(ad, attrTimer, "UNDEFINED"), Code: PolicyUndefined}
	case n >= 0 && n < c.Now.Unix():
		return Verdict{Action: Remove, Reason: sentence(ad, attrTimer, "TRUE")}
	}
	return Verdict{}
}

// Limit bounds the time of an attempt.
type Limit struct {
	For time.Duration
	// Executing: the time counts while the job's program is executed; otherwise it counts from the
	// beginning of the transfer of the job's files to its slot.
	Executing bool
	Verdict   Verdict // when it is over
}

// limits are the attributes that limit an attempt, in seconds.
var limits = []struct {
	attr      string
	what      string
	executing bool
	code      int
}{
	{"AllowedExecuteDuration", "allowed execute duration", true, ExecuteDuration},
	{"AllowedJobDuration", "allowed job duration", false, JobDuration},
	{"WallTimeLimit", "wall time limit", false, WallTime},
}

// AttemptAttributes returns the names of all attributes that Limits and Periodic depend on.
func AttemptAttributes() []string {
	return append(PeriodicAttributes(), LimitAttributes()...)
}

// LimitAttributes returns the names of all attributes that Limits evaluates.
func LimitAttributes() (names []string) {
	for _, x := range limits {
		names = append(names, x.attr)
	}
	return names
}

// Limits returns the limits of an attempt of the job, the shortest first. A negative number of
// seconds is over at once; other values than numbers, and more than 292 years, are no limit. The
// ad is the running job's. Each call evaluates expressions that depend on time() anew.
func Limits(c *classad.Context, ad *classad.Ad) (list []Limit) {
	for _, x := range limits {
		n, ok := whole(c, ad, x.attr)
		if !ok || n > math.MaxInt64/int64(time.Second) {
			continue
		}
		n = max(n, 0)
		reason := fmt.Sprintf("The job exceeded %s of %s", x.what, elapsed.Short(n, 2))
		list = append(list, Limit{
			For: time.Duration(n) * time.Second, Executing: x.executing,
			Verdict: Verdict{Action: Hold, Reason: reason, Code: x.code},
		})
	}
	slices.SortStableFunc(list, func(a, b Limit) int { return cmp.Compare(a.For, b.For) })
	return list
}

// The attributes of jobs that wait for the end of others.
const (
	AttrAfterOk         = "AfterOk"         // clusters that have to end with success: "12,13"
	AttrAfterAny        = "AfterAny"        // clusters that have to end
	AttrDependenciesMet = "DependenciesMet" // true when they have
	// AttrDependenciesWaived are the clusters of AfterOk that need only end, since the job was
	// released although their success had become impossible.
	AttrDependenciesWaived = "DependenciesWaived"
)

var (
	afterOk         = classad.NewName(AttrAfterOk)
	afterAny        = classad.NewName(AttrAfterAny)
	dependenciesMet = classad.NewName(AttrDependenciesMet)
)

// MaxClusters bounds the clusters in each of AfterOk and AfterAny.
const MaxClusters = 1000

// ParseClusters reads numbers of clusters, from 1 up, separated by blanks or commas. It returns each
// once, in order. The error is one line.
func ParseClusters(text string) ([]int, error) {
	var list []int
	seen := map[int]bool{}
	for word := range words(text) {
		n, ok := cluster(word)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want numbers of clusters, such as 12, 13", cut(line(word), 40))
		case !seen[n] && len(list) == MaxClusters:
			return nil, fmt.Errorf("want at most %d clusters", MaxClusters)
		case !seen[n]:
			seen[n] = true
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%q: want numbers of clusters, such as 12, 13", cut(line(text), 40))
	}
	return list, nil
}

// words are the pieces of a list of clusters.
func words(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

func cluster(word string) (int, bool) {
	n, err := strconv.ParseUint(word, 10, 31)
	return int(n), err == nil && n > 0
}

// After returns the clusters that a job waits for, each once: ok must end with
// success, any need only end. An attribute may be a text or a number. After skips words that are no
// cluster's number, and clusters beyond MaxClusters.
func After(ad *classad.Ad) (ok, any []int) {
	return clusters(ad, AttrAfterOk), clusters(ad, AttrAfterAny)
}

// Waived returns the clusters of AfterOk that need only end.
func Waived(ad *classad.Ad) []int { return clusters(ad, AttrDependenciesWaived) }

func clusters(ad *classad.Ad, name string) (list []int) {
	text, _ := ad.EvalString(&classad.Context{}, name)
	if n, ok := ad.EvalInt(&classad.Context{}, name); ok {
		text = strconv.FormatInt(n, 10)
	}
	seen := map[int]bool{}
	for word := range words(text) {
		if n, ok := cluster(word); ok && !seen[n] && len(list) < MaxClusters {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list
}

// Waits reports whether a job waits for the end of others, and must not be matched:
// AfterOk or AfterAny is not undefined, and DependenciesMet is not true.
func Waits(ad *classad.Ad) bool {
	if !given(ad, afterOk) && !given(ad, afterAny) {
		return false
	}
	v, constant, _ := constantOf(ad, dependenciesMet)
	met, isBool := v.Bool()
	return !constant || !isBool || !met
}

// given reports whether an ad has an attribute other than the constant undefined.
func given(ad *classad.Ad, name *classad.Name) bool {
	v, constant, ok := constantOf(ad, name)
	return ok && !(constant && v.Kind() == classad.KindUndefined)
}
