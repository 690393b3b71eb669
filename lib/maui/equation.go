package maui

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/elapsed"
	"fairspool/lib/plural"
)

// Reckoner returns the reckoner with which the queue computes priorities.
func (q *Queue) Reckoner() *Reckoner { return q.reckoner }

// Equation writes a job's priority as the manual's equation (5.1.3) with the numbers put in:
// a line for the sum of the components, and for each component one for the sum of its terms,
// which goes on below, indented, if there are several. Behind each term its source stands in
// parentheses. Caps are written as MIN(cap, value), and terms without a weight are left out.
// Before that it explains a system priority, and the job's QOS if it is not DEFAULT. Whole
// numbers are exact, others rounded.
func (r *Reckoner) Equation(j *Job, p *Priority) []string {
	e := equation{r, j, p}
	return append(append(e.total(), e.qos()...), e.components()...)
}

type equation struct {
	*Reckoner
	job *Job
	*Priority
}

// total writes the sum that is the start priority.
func (e equation) total() []string {
	own, sum := min(e.Raw, maxStart), e.sum()
	switch {
	case e.Raw < 1 && !e.config.EnableNegative && !e.config.RejectNegative:
		own, sum = 1, "MAX(1, "+sum+"), as negative priorities are not enabled"
	case e.Raw > maxStart:
		sum = "MIN(1000000000, " + sum + ")"
	}
	whole := ""
	if own != math.Trunc(own) {
		whole = ", without the fraction"
	}
	line := []string{decimal(own) + " = " + sum}
	switch s := e.job.System; {
	case s > maxStart:
		return append([]string{fmt.Sprintf("%d = %s + system priority %s%s", e.Start, decimal(own), decimal(float64(s)-relativeStart), whole)}, line...)
	case s > 0:
		return append([]string{fmt.Sprintf("%d = 1000000000 + system priority %d, in the place of its own", e.Start, s)}, line...)
	}
	return []string{fmt.Sprintf("%d = %s%s", e.Start, sum, whole)}
}

// sum is the sum of the components.
func (e equation) sum() string {
	var terms []string
	for c := range Components {
		if len(e.terms(c)) > 0 {
			terms = append(terms, e.weight(componentParameters[c], e.config.Components[c].Weight, e.Parts[c])+" * "+e.cut(componentCaps[c], e.Parts[c]))
		}
	}
	if len(terms) == 0 {
		return "0"
	}
	return strings.Join(terms, " + ")
}

// terms returns the terms of a component that have a weight; none if it has none itself.
func (e equation) terms(c Component) (subs []Sub) {
	for s := range Subs {
		if s.Component() == c && s.counts() && e.Parts[c].Weight != 0 && e.Subs[s].Weight != 0 {
			subs = append(subs, s)
		}
	}
	return subs
}

// componentParameters are the beginnings of the components' parameters, and componentCaps
// the names of their caps in Maui 3.3.1.
var (
	componentParameters = [Components]string{"SERVICE", "TARGET", "CRED", "ATTR", "FS", "RES", "USAGE"}
	componentCaps       = [Components]string{"SERVICEWCAP", "TARGETCAP", "CREDCAP", "ATTRCAP", "FSCAP", "RESCAP", "USAGECAP"}
)

// weight is a weight, with what the QOS adds to it.
func (e equation) weight(name string, configured int64, t Part) string {
	if t.Weight == configured {
		return fmt.Sprintf("%sWEIGHT %d", name, t.Weight)
	}
	return fmt.Sprintf("%sWEIGHT (%d + %d of QOS %s)", name, configured, t.Weight-configured, e.QOS)
}

// cut is a number with its cap.
func (e equation) cut(name string, t Part) string {
	if t.Cap <= 0 {
		return decimal(t.Full)
	}
	return fmt.Sprintf("MIN(%s %d, %s)", name, t.Cap, decimal(t.Full))
}

// components has the lines of the components.
func (e equation) components() (lines []string) {
	for c := range Components {
		head := componentParameters[c] + " " + decimal(e.Parts[c].Full) + " "
		for i, s := range e.terms(c) {
			sign := head + "= "
			if i > 0 {
				sign = strings.Repeat(" ", len(head)) + "+ "
			}
			t := e.Subs[s]
			lines = append(lines, fmt.Sprintf("%s%s * %s (%s)", sign,
				e.weight(s.String(), e.config.Subs[s].Weight, t), e.cut(s.String()+"CAP", t), e.source(s)))
		}
	}
	return lines
}

// qos says which QOS the job goes by, and why.
func (e equation) qos() []string {
	asked := e.job.QOS
	switch {
	case e.Refused:
		return []string{fmt.Sprintf("QOS %s: it asks for %s, to which it has no access", e.QOS, asked)}
	case asked == e.QOS:
		return []string{fmt.Sprintf("QOS %s: it asks for that", e.QOS)}
	case e.QOS == DefaultName:
		return nil
	}
	whose, _ := e.giver(func(o Credential) bool { return o.QDef == e.QOS })
	return []string{fmt.Sprintf("QOS %s: QDEF of %s", e.QOS, whose)}
}

// giver returns the first of the job's credentials for which is returns true, and its name:
// by user, group, account and class, each one's own before the DEFAULT of its kind; empty
// if there is none.
func (e equation) giver(is func(Credential) bool) (string, Credential) {
	for _, k := range givers[QOS] {
		for _, name := range [...]string{e.job.names().of(k), DefaultName} {
			if c := e.config.Credentials[k][name]; is(c) {
				return credentialName(k, name), c
			}
		}
	}
	return "", Credential{}
}

// credentialName names a credential in a sentence.
func credentialName(k Kind, name string) string {
	if name == "" {
		return "no " + k.word()
	}
	return k.word() + " " + name
}

// decimal writes a number: whole ones exactly, others rounded to two places, or three digits
// if they are small. A number just below a whole one has enough places to differ from it:
// without its fraction it is one less.
func decimal(x float64) string {
	switch m := math.Abs(x); {
	case m >= 1e15 || m < 0.01 && x != 0:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case x == math.Trunc(x):
		return strconv.FormatFloat(x+0, 'f', 0, 64)
	}
	for places := 2; ; places++ {
		text := strconv.FormatFloat(x, 'f', places, 64)
		if shown, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(shown) < math.Ceil(math.Abs(x)) {
			return text
		}
	}
}

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

// request words a job's requests.
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
