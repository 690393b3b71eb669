// Package joblog writes the effects of a command to the jobs' own event logs, once they
// are committed.
//
// The events of a transaction that ends attempts or jobs are kept in the spool until they
// are written (pending.go), so that another process writes them if this one is killed.
//
// It knows the places of logs and how a command warns, but not the causes of events.
package joblog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/hooks"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// Patience is how long a process waits for others that write to the same log. Tests change it.
var Patience = userlog.Patience

// Log is a job's event log: its place and its owner.
type Log struct {
	Path  string // empty: the job has none
	Owner string // of the job: with this user's rights it is written
	// Shown are the attributes that an event 028 shows behind each other event, "A = 1"
	// in a line each; empty for none.
	Shown string
	// hooks are the commands that are run for events of the job; nil: none.
	hooks *hooked
}

// Of returns the log that a job's ad names, if any, with the commands for events of the job. Tx is the
// transaction that asks, see lifecycle.Account; nil where no lock is held.
func Of(tx *spool.Tx, ad *classad.Ad, pool Operator) Log {
	return Log{hooks: hooksOf(tx, ad, pool)}.at(tx, ad)
}

// at returns the log with its place.
func (l Log) at(tx *spool.Tx, ad *classad.Ad) Log {
	if l.Path = Path(tx, ad); l.Path != "" {
		l.Owner, _ = ad.EvalString(&classad.Context{}, pool.AttrOwner)
		l.Shown = shown(tx, ad)
	}
	return l
}

// Wanted reports whether events of the job go anywhere.
func (l Log) Wanted() bool { return l.Path != "" || l.hooks != nil }

// Append appends events to the log, as userlog.Append does. If the process is root, it
// has the rights of the log's owner, and of the user nobody (NOBODY_SLOT_USER) for an
// owner unknown to the machine. Without a log it does nothing.
func (l Log) Append(nobody string, events ...userlog.Event) error {
	left := Patience
	return l.appendWithin(&left, nobody, events)
}

// AppendMissing appends the events that the log does not have.
func (l Log) AppendMissing(nobody string, events ...userlog.Event) error {
	if l.Path == "" || len(events) == 0 {
		return nil
	}
	left, text := Patience, userlog.Text(l.informed(events)...)
	return asuser.Do(l.Owner, nobody, func() error { return userlog.AppendMissing(&left, l.Path, text) })
}

func (l Log) appendWithin(left *time.Duration, nobody string, events []userlog.Event) error {
	if l.Path == "" || len(events) == 0 {
		return nil
	}
	events = l.informed(events)
	return asuser.Do(l.Owner, nobody, func() error { return userlog.AppendWithin(left, l.Path, events...) })
}

// Events are the events to write, by log. The zero Events is empty.
type Events struct {
	logs []Log // in order of first use, without their hooks
	of   map[Log][]userlog.Event
	// operator is the operator's command for events, and orders are the commands to run.
	operator Operator
	orders   []hooks.Order
	ordered  string // the file that keeps the orders; empty: none does
	// kept is the file that keeps them until they are written; nil: none does.
	kept  *os.File
	spool *spool.Spool // nil for events of jobs that are new, or stay as they are
}

// For returns no events yet, of jobs of the call's pool.
func For(c *cmdline.Call) Events { return Events{operator: OperatorOf(c.Config)} }

// Operator returns the operator's command for events.
func (v *Events) Operator() Operator { return v.operator }

// Wants reports whether events of a job go anywhere.
func (v *Events) Wants(ad *classad.Ad) bool {
	return ad.Has(pool.AttrUserLog) || ad.Has(pool.AttrNotifyCommand) || len(v.operator.Command) > 0
}

// Add adds an event of a job, for the log that its ad names, if any, and for commands. Tx is as for Of.
func (v *Events) Add(tx *spool.Tx, id pool.JobID, ad *classad.Ad, body userlog.Body) {
	l := Of(tx, ad, v.operator)
	if l.hooks != nil && tx != nil {
		l.hooks.ad = present(tx, id, ad, body)
	}
	v.AddTo(l, id, body)
}

// reserve makes room for so many events of a log that has none yet.
func (v *Events) reserve(log Log, n int) {
	if log.Path == "" || v.of[log] != nil {
		return
	}
	v.begin(log)
	v.of[log] = make([]userlog.Event, 0, n)
}

func (v *Events) begin(log Log) {
	if v.of == nil {
		v.of = map[Log][]userlog.Event{}
	}
	v.logs = append(v.logs, log)
}

// AddTo notes an event of a job for a log, and for the commands that go with it.
func (v *Events) AddTo(log Log, id pool.JobID, body userlog.Body) {
	v.orders = append(v.orders, log.hooks.orders(pool.Only(id), time.Time{}, body)...)
	if log.hooks = nil; log.Path == "" {
		return
	}
	if v.of[log] == nil {
		v.begin(log)
	}
	v.of[log] = append(v.of[log], userlog.Event{Job: id, Body: body})
}

// Submitted notes that the procs of a cluster were submitted, on a host, and of
// those that were submitted on hold that, too.
func (v *Events) Submitted(cluster int, c jobad.Cluster, host string) {
	v.submittedTo(cluster, c)
	common, held := Log{}.at(nil, c.Ad), heldBody(c.Ad)
	proc, informs := c.First, c.Ad.Has(attrInformation)
	if len(c.Runs) > 0 && !c.Runs[0].Has(pool.AttrUserLog, pool.AttrIwd) { // nor the others, nearly always
		v.reserve(common, c.Jobs())
	}
	var body userlog.Body = userlog.Submitted{Host: host}
	for _, r := range c.Runs {
		log, held := common, held
		if informs || r.Has(pool.AttrUserLog, pool.AttrIwd, pool.AttrJobStatus, pool.AttrHoldReason, attrInformation) {
			ad := r.Ad().Chain(c.Ad)
			log, held = Log{}.at(nil, ad), heldBody(ad)
		}
		for range r.Count {
			v.AddTo(log, pool.JobID{Cluster: cluster, Proc: proc}, body)
			if held != nil {
				v.AddTo(log, pool.JobID{Cluster: cluster, Proc: proc}, held)
			}
			proc++
		}
	}
}

// heldBody is the event of a job that is held, nil for any other.
func heldBody(ad *classad.Ad) userlog.Body {
	if status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus); pool.Status(status) != pool.Held {
		return nil
	}
	return Held(ad)
}

// Held returns the event of a held job, with the reason and its codes.
func Held(ad *classad.Ad) userlog.Held {
	c := &classad.Context{}
	why, _ := ad.EvalString(c, pool.AttrHoldReason)
	code, _ := ad.EvalInt(c, pool.AttrHoldReasonCode)
	subcode, _ := ad.EvalInt(c, pool.AttrHoldReasonSubCode)
	return userlog.Held{Reason: why, Code: int(code), Subcode: int(subcode)}
}

// Path returns the path of a job's log, empty without one. Tx is as for Of.
func Path(tx *spool.Tx, ad *classad.Ad) string {
	if !ad.Has(pool.AttrUserLog) {
		return ""
	}
	values := lifecycle.Values(tx, ad, nil, pool.AttrUserLog, pool.AttrIwd)
	path, _ := values[0].Text()
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	iwd, _ := values[1].Text()
	return filepath.Join(iwd, path)
}

// Write appends the events to their logs, all of a log at once, dated with the command's
// time. The events have happened already, so a log that cannot be written is a warning, and
// many are a few: jobs may have a log each. For the same reason all locked logs share the
// patience for one. If root's starter runs the jobs as their owners, the spool's account
// leaves the events to it (Owed).
func (v *Events) Write(c *cmdline.Call) {
	if c.Trial != nil {
		return
	}
	left := Patience
	v.writeWithin(&left, c)
}

func (v *Events) writeWithin(left *time.Duration, c *cmdline.Call) {
	const most = 10 // warnings
	bad, nobody := 0, ""
	if c.Config != nil {
		nobody = c.Config.NobodySlotUser
	}
	v.date(c.Now)
	defer v.order(c)
	if c.Config != nil {
		if dir, err := c.SpoolDir(); err == nil && owes(dir) {
			if err := v.owe(dir); err != nil {
				c.Warn("job log: %v; everything else is done", err)
			}
			return
		}
	}
	if v.spool != nil {
		finisher{v.spool, nobody, c.Warn}.await(v.before)
	}
	for _, log := range v.logs {
		err := log.appendWithin(left, nobody, v.of[log])
		if err == nil {
			continue
		}
		if bad++; bad <= most {
			c.Warn("job log: %v; everything else is done", err)
		}
	}
	if bad > most {
		c.Warn("job log: %d more cannot be written either", bad-most)
	}
	v.drop()
}

// date dates the events with the time at.
func (v *Events) date(at time.Time) {
	for _, log := range v.logs {
		for i := range v.of[log] {
			v.of[log][i].At = at
		}
	}
	for i := range v.orders {
		v.orders[i].At = at
	}
}

// before reports whether a pending file has events of the same jobs: these are to stand
// behind them.
func (v *Events) before(p pendingFile) bool {
	if v.kept != nil && p.path == v.kept.Name() {
		return false
	}
	return slices.ContainsFunc(v.logs, func(log Log) bool {
		return slices.ContainsFunc(v.of[log], func(e userlog.Event) bool { return e.Job == p.Job })
	})
}

// attrInformation names the attributes of a job that its log shows behind each event
// (job_ad_information_attrs).
const attrInformation = "JobAdInformationAttrs"

// shown returns those attributes of a job's ad, as they are now, that there are.
func shown(tx *spool.Tx, ad *classad.Ad) string {
	if !ad.Has(attrInformation) {
		return ""
	}
	text, _ := lifecycle.Values(tx, ad, nil, attrInformation)[0].Text()
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	names = slices.DeleteFunc(names, func(name string) bool { return !ad.Has(name) })
	lines := make([]string, len(names))
	for i, v := range lifecycle.Values(tx, ad, nil, names...) {
		lines[i] = names[i] + " = " + userlog.OneLine(v.String())
	}
	return strings.Join(lines, "\n")
}

// informed returns the events with an event 028 behind each, if the job wants that.
func (l Log) informed(events []userlog.Event) (all []userlog.Event) {
	if l.Shown == "" {
		return events
	}
	for _, e := range events {
		about := e
		about.Body, about.More = userlog.AdInformation{Ad: append([]string{
			fmt.Sprintf("Cluster = %d", e.Job.Cluster),
			fmt.Sprintf("Proc = %d", e.Job.Proc),
			fmt.Sprintf("TriggerEventTypeNumber = %d", userlog.Number(e.Body)),
		}, strings.Split(l.Shown, "\n")...)}, nil
		all = append(all, e, about)
	}
	return all
}
