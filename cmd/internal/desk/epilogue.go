package desk

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/cmd/internal/hooks"
	"fairspool/cmd/internal/joblog"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
	"fairspool/spool"
)

// logEvents writes events to the log of a job, behind those that others owe to it.
func (n *Desks) logEvents(log joblog.Log, complain func(error), events ...userlog.Event) {
	if log.Path == "" || len(events) == 0 {
		return
	}
	joblog.Deliver(n.Spool, n.Config.NobodySlotUser, func(format string, args ...any) { complain(fmt.Errorf(format, args...)) })
	if err := log.Append(n.Config.NobodySlotUser, events...); err != nil {
		complain(fmt.Errorf("log: %w", err))
	}
}

// operator returns the commands that the pool's operator has run for events.
func (n *Desks) operator() joblog.Operator { return joblog.OperatorOf(n.Config) }

// deliver writes events to the log of a job, and has commands run for them.
func (n *Desks) deliver(log joblog.Log, complain func(error), events ...userlog.Event) {
	n.logEvents(log, complain, events...)
	n.hook(log, complain, events...)
}

// hook has commands run for events of a job.
func (n *Desks) hook(log joblog.Log, complain func(error), events ...userlog.Event) {
	orders := log.Orders(events...)
	if len(orders) == 0 {
		return
	}
	if err := hooks.Put(n.Spool.ClaimLock(""), orders); err != nil {
		complain(fmt.Errorf("commands for events: %w", err))
		return
	}
	n.runHooks(complain)
}

// runHooks starts a runner of commands for events, where this process may start others. Otherwise a pass does.
func (n *Desks) runHooks(complain func(error)) {
	if n.Cycles == nil {
		return
	}
	runner, err := hooks.Start(n.Cycles.Pool)
	if err != nil {
		complain(fmt.Errorf("commands for events: %w", err))
	} else if runner != nil && !n.Cycles.Beside {
		go runner.Wait()
	}
}

// epilogue is what the event log of a job is to hold of the end of an attempt.
type epilogue struct {
	began *userlog.Event // that the program was executed; nil: the log knows
	end
	operator joblog.Operator
	log      joblog.Log
	was      pool.Status // of the job while the attempt ended
	told     bool        // the job was told to leave
	bodies   []userlog.Body
	table    []string // of resources, behind a Terminated
}

// epilogueOf returns the epilogue of a job that leaves the queue with the end of its
// attempt, before that end is recorded.
func epilogueOf(tx *spool.Tx, id pool.JobID, e end, operator joblog.Operator) epilogue {
	l := epilogue{end: e, operator: operator}
	ad, ok := tx.Job(id)
	if !ok {
		return l
	}
	claim, _ := tx.Claim(id)
	l.log, l.was, l.told = joblog.Of(tx, ad, operator), statusOf(ad), claim.State == pool.Vacating
	if !l.log.Wanted() {
		return l
	}
	if l.was == pool.Removed {
		why, _ := ad.EvalString(&classad.Context{}, pool.AttrRemoveReason)
		l.bodies = append(l.left(pool.Reason{Text: why}), userlog.Aborted{Reason: why})
		return l
	}
	l.bodies = []userlog.Body{l.terminated(ad)}
	l.table = userlog.ResourceTable(resourcesOf(ad, lifecycle.SlotOf(&tx.View, claim), e.how))
	return l
}

// terminated returns the event of a job that has ended by itself. The end is recorded in
// the ad already.
func (l *epilogue) terminated(ad *classad.Ad) userlog.Terminated {
	c, how := &classad.Context{}, l.how
	more := how.Unreported()
	seconds := func(name string) time.Duration {
		x, _ := ad.EvalNumber(c, name)
		return time.Duration(x * float64(time.Second))
	}
	number := func(name string) int64 { x, _ := ad.EvalNumber(c, name); return int64(x) }
	return userlog.Terminated{
		ReturnValue: how.Code, Signal: how.Signal, Core: how.Core, Run: l.usage(),
		Total:      userlog.Usage{User: seconds(pool.AttrUserCPU) + more.UserCPU, System: seconds(pool.AttrSysCPU) + more.SysCPU},
		Bytes:      l.bytes(),
		TotalBytes: userlog.Bytes{Sent: number(pool.AttrBytesSent) + how.Sent, Received: number(pool.AttrBytesRecvd) + how.Received},
	}
}

// stays tells the log instead of a job that is still in the queue after its attempt has
// ended: held, idle, or only because of LeaveJobInQueue, when nothing is different.
func (l *epilogue) stays(tx *spool.Tx, ad *classad.Ad) {
	l.log = joblog.Of(tx, ad, l.operator) // it may show attributes that are others now
	switch status := statusOf(ad); {
	case !l.log.Wanted() || status == pool.Removed || status == pool.Completed:
		return
	case status == pool.Held && l.was != pool.Held:
		l.bodies = []userlog.Body{joblog.Held(ad)}
	case status == pool.Held:
		l.bodies = append(l.left(vacated(ad)), joblog.Held(ad))
	case l.how.Lost == "":
		l.bodies = []userlog.Body{l.requeued(tx, ad)}
	default:
		l.bodies = l.left(vacated(ad))
	}
	l.table = nil
}

// vacated returns why the ad says that the job had to leave its slot.
func vacated(ad *classad.Ad) pool.Reason {
	c := &classad.Context{}
	text, _ := ad.EvalString(c, pool.AttrVacateReason)
	code, _ := ad.EvalInt(c, pool.AttrVacateReasonCode)
	subcode, _ := ad.EvalInt(c, pool.AttrVacateReasonSub)
	return pool.Reason{Text: text, Code: int(code), Subcode: int(subcode)}
}

// requeued is the event of a job that has ended by itself, and runs once more.
func (l *epilogue) requeued(tx *spool.Tx, ad *classad.Ad) userlog.Evicted {
	exit := &userlog.Exit{ReturnValue: l.how.Code, Signal: l.how.Signal, Core: l.how.Core}
	v := userlog.Evicted{Run: l.usage(), Bytes: l.bytes(), Requeued: exit}
	if verdict := lifecycle.OnExit(tx, ad, l.at); verdict.Action == jobpolicy.Again {
		v.Reason = verdict.Reason
	}
	return v
}

// left is the event of a job that left its slot before it had ended: none of one that
// was told to before it was executed.
func (l *epilogue) left(why pool.Reason) []userlog.Body {
	how := l.how
	switch notStarted := how.NotStarted || how.StartFailed != ""; {
	case how.Died:
		return []userlog.Body{userlog.ShadowException{Message: how.Lost, Bytes: l.bytes()}}
	case notStarted && how.Lost != "" && !l.told:
		return []userlog.Body{userlog.ShadowException{Message: why.Text, Bytes: l.bytes()}}
	case notStarted:
		return nil
	}
	return []userlog.Body{userlog.Evicted{
		Code: why.Code, Subcode: why.Subcode, Checkpointed: how.Checkpointed, Run: l.usage(), Bytes: l.bytes(), Reason: why.Text,
	}}
}

func (l *epilogue) usage() userlog.Usage {
	p := l.how.Total()
	return userlog.Usage{User: p.UserCPU, System: p.SysCPU}
}

func (l *epilogue) bytes() userlog.Bytes {
	return userlog.Bytes{Sent: l.how.Sent, Received: l.how.Received}
}

// events returns the events of a job, dated with the end.
func (l *epilogue) events(id pool.JobID) (list []userlog.Event) {
	if l.began != nil {
		list = append(list, *l.began)
	}
	for _, body := range l.bodies {
		list = append(list, userlog.Event{Job: id, At: l.at.Local(), Body: body})
	}
	if len(l.bodies) > 0 {
		list[len(list)-1].More = l.table
	}
	return list
}

// resourcesOf returns usage, request and allotment of each resource of a job: cores, disk,
// memory, and other divisible resources of the slot that the job asked for. An unknown slot, nil, has
// none.
func resourcesOf(ad, slot *classad.Ad, how pool.Ending) []userlog.Resource {
	p := how.Total()
	rows := []userlog.Resource{
		resource("Cpus", "Cpus", ad, slot), resource("Disk", "Disk (KB)", ad, slot), resource("Memory", "Memory (MB)", ad, slot),
	}
	if p.Wall > 0 {
		rows[0].Usage = number((p.UserCPU + p.SysCPU).Seconds() / p.Wall.Seconds())
	}
	if p.DiskKB > 0 {
		rows[1].Usage = strconv.FormatInt(p.DiskKB, 10)
	}
	if p.PeakKB > 0 {
		rows[2].Usage = strconv.FormatInt((p.PeakKB+1023)/1024, 10)
	}
	for _, name := range divisible(slot) {
		if r := resource(name, name, ad, slot); r.Request != "" {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b userlog.Resource) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// divisible returns a slot's divisible resources except cores, disk and memory.
func divisible(slot *classad.Ad) (names []string) {
	if slot == nil {
		return nil
	}
	text, _ := slot.EvalString(&classad.Context{}, pool.AttrMachineResources)
	for _, name := range strings.Fields(text) {
		known := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc([]string{"Cpus", "Disk", "Memory", "Swap"}, known) && !slices.ContainsFunc(names, known) {
			names = append(names, name)
		}
	}
	return names
}

// resource returns the row of a resource without its usage.
func resource(name, title string, ad, slot *classad.Ad) userlog.Resource {
	c := &classad.Context{}
	r := userlog.Resource{Name: title}
	if x, ok := ad.EvalNumber(c, "Request"+name); ok {
		r.Request = number(x)
	}
	if slot == nil {
		return r
	}
	if x, ok := slot.EvalNumber(c, name); ok {
		r.Allocated = number(x)
	}
	if text, ok := slot.EvalString(c, "Assigned"+name); ok {
		r.Assigned = strconv.Quote(text)
	}
	return r
}

// number writes a number with two places at most.
func number(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// withFetched returns an event with the time that fetching the container's image took; 0: no image was
// fetched.
func withFetched(x userlog.Executing, fetched time.Duration) userlog.Executing {
	if fetched > 0 {
		x.Ad = append(slices.Clip(x.Ad), "ContainerFetchTime = "+number(fetched.Seconds()))
		slices.Sort(x.Ad)
	}
	return x
}

// executing returns the event of a job that is executed in a claim's slot.
func executing(tx *spool.Tx, ad, slot *classad.Ad, claim pool.Claim, scratch string) userlog.Executing {
	x := userlog.Executing{Host: claim.Machine, Slot: claim.Slot}
	names := append([]string{"Cpus", "Disk", "Memory"}, divisible(slot)...)
	wanted, _ := ad.EvalString(&classad.Context{}, attrULogExecuteEventAttrs)
	names = append(names, strings.FieldsFunc(wanted, func(r rune) bool { return r == ',' || r == ' ' })...)
	if scratch != "" {
		x.Ad = []string{"CondorScratchDir = " + classad.String(scratch).String()}
	}
	seen := map[string]bool{}
	names = slices.DeleteFunc(names, func(name string) bool {
		before := seen[strings.ToLower(name)]
		seen[strings.ToLower(name)] = true
		return slot == nil || before || !slot.Has(name)
	})
	for i, v := range lifecycle.Values(tx, slot, ad, names...) {
		x.Ad = append(x.Ad, names[i]+" = "+v.String())
	}
	slices.Sort(x.Ad)
	return x
}

// attrULogExecuteEventAttrs are the attributes of its slot that a job wants in its log.
const attrULogExecuteEventAttrs = "ULogExecuteEventAttrs"
