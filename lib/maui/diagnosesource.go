package maui

import (
	"fmt"

	"fairspool/lib/accountant"
	"fairspool/lib/elapsed"
	"fairspool/lib/plural"
)

// source says where the number of a term comes from, for Equation.
func (e equation) source(s Sub) string {
	switch s.Component() {
	case Service:
		return e.service(s)
	case Target:
		return e.target(s)
	case Credentials:
		return e.priority(Kind(s - CredUser))
	case FairShare:
		return e.share(Kind(s - FSUser))
	}
	return e.request(s)
}

func (e equation) service(s Sub) string {
	switch s {
	case QueueTime:
		if e.job.Stopped && e.config.UseSystemQueueTime {
			return "minutes of queue time; it is not eligible, and its clock stands"
		}
		return "minutes of queue time, " + elapsed.Days(whole(e.Waited))
	case XFactor:
		limit := e.config.WCLimit(e.job)
		by := elapsed.Days(limit)
		if least := e.config.XFMinWCLimit.Seconds(); least > float64(limit) {
			by = elapsed.Days(whole(least)) + " of XFMINWCLIMIT"
		}
		return fmt.Sprintf("queue time %s and limit %s, by %s", elapsed.Days(whole(e.Waited)), elapsed.Days(limit), by)
	case SPViolation:
		return "1 for a job beyond a soft limit"
	}
	return "how often a job behind it was started first"
}

// target says how far the job is from its target.
func (e equation) target(s Sub) string {
	name, from, of := "QTTARGET", e.towardsTarget(e.job), func(o Credential) float64 { return o.QTTarget.Seconds() }
	if s == TargetXFactor {
		name, from, of = "XFTARGET", e.Subs[XFactor].Full, func(o Credential) float64 { return o.XFTarget }
	}
	whose, c := credentialName(QOS, e.QOS), e.config.Credentials[QOS][e.QOS]
	if !(of(c) > 0) && !e.config.Compatible {
		whose, c = e.giver(func(o Credential) bool { return of(o) > 0 })
	}
	target := of(c)
	if !(target > 0) {
		return "no " + name
	}
	distance := fmt.Sprintf("(%s - %s)^-2", decimal(target), decimal(from))
	if target-from < leastDistance {
		distance = fmt.Sprintf("%v^-2, as %s - %s is below that", leastDistance, decimal(target), decimal(from))
	}
	if s == TargetQueueTime {
		name += " in seconds"
		if e.config.Compatible {
			name += ", less the time since 1970 at which it was queued"
		}
	}
	return fmt.Sprintf("%s of %s: %s", name, whose, distance)
}

// credential returns the name of a kind that the job goes by.
func (e equation) credential(k Kind) string {
	if k == QOS {
		return e.QOS
	}
	return e.job.names().of(k)
}

func (e equation) priority(k Kind) string {
	name := e.credential(k)
	if e.config.Credentials[k][name].Priority == 0 {
		if e.config.priority(k, name) == 0 {
			return "no PRIORITY of " + credentialName(k, name)
		}
		name = DefaultName
	}
	return "PRIORITY of " + credentialName(k, name)
}

// share says how far usage is from a fair share target.
func (e equation) share(k Kind) string {
	name, c := e.credential(k), e.config
	target, mode := c.FairShareTarget(k, name)
	whose := credentialName(k, name)
	switch {
	case c.FSPolicy == NoFairShare:
		return "FSPOLICY NONE"
	case name == "":
		return whose
	case target == 0:
		return "no FSTARGET of " + whose
	case !(e.world.Used.Total > 0):
		return "nothing was used"
	}
	if !(c.Credentials[k][name].FSTarget > 0) {
		whose += ", that of DEFAULT"
	}
	text := fmt.Sprintf("FSTARGET %s of %s", decimal(target), whose)
	if mode != 0 {
		text = fmt.Sprintf("FSTARGET %s%c of %s", decimal(target), mode, whose)
	}
	used := decimal(accountant.Percent(e.world.Used.Of[k][name], e.world.Used.Total))
	delta := fmt.Sprintf("%s - %s", decimal(target), used)
	if c.FSRatio {
		delta = fmt.Sprintf("1 - %s / %s", used, decimal(target))
	}
	text += fmt.Sprintf(", %s %% used: ", used)
	switch mode {
	case FSFloor:
		return text + "MAX(0, " + delta + "), as it is a floor"
	case FSCeiling:
		return text + "MIN(0, " + delta + "), as it is a ceiling"
	case FSQuota, FSRelative:
		return text + "0, as it is a quota"
	}
	return text + delta
}

// request says what a job asks for.
func (e equation) request(s Sub) string {
	j := e.job
	limit := fmt.Sprintf("limit %s", elapsed.Days(e.config.WCLimit(j)))
	tasks := ""
	if j.Tasks != 1 {
		tasks = fmt.Sprintf("%d tasks of ", j.Tasks)
	}
	switch s {
	case Node:
		return "nodes"
	case Proc:
		return fmt.Sprintf("processors, %s%d", tasks, j.ProcsPerTask)
	case Mem:
		return fmt.Sprintf("MB of memory, %s%s", tasks, decimal(j.MemPerTask))
	case Swap:
		return fmt.Sprintf("MB of swap space, %s%s", tasks, decimal(j.SwapPerTask))
	case Disk:
		return fmt.Sprintf("MB of disk space, %s%s", tasks, decimal(j.DiskPerTask))
	case PS:
		return fmt.Sprintf("processor-seconds, %s and %s", plural.Count(int(j.Procs()), "processor"), limit)
	case PE:
		return "processor equivalents"
	}
	return "seconds, " + limit
}
