package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/health"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/lib/report/accounts"
	"fairspool/lib/report/queue"
)

// rest is the label of all submitters, or groups, that have no metrics of their own: neither can have that name.
const rest = "<other>"

// metrics is text in Prometheus' exposition format. Families, and the series of each, are in a fixed order.
type metrics struct{ strings.Builder }

// series is one value of a family, with the names and values of its labels.
type series struct {
	value  float64
	labels []string
}

// plain returns a series without labels.
func plain(x float64) series { return series{value: x} }

// family writes a family, if it has a value. Values that are no number are left out.
func (m *metrics) family(name, kind, help string, list ...series) {
	list = slices.DeleteFunc(list, func(s series) bool { return math.IsNaN(s.value) || math.IsInf(s.value, 0) })
	if len(list) == 0 {
		return
	}
	m.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
	for _, s := range list {
		m.WriteString(name)
		between := "{"
		for i := 0; i < len(s.labels); i += 2 {
			m.WriteString(between + s.labels[i] + `="` + label.Replace(s.labels[i+1]) + `"`)
			between = ","
		}
		if between == "," {
			m.WriteByte('}')
		}
		m.WriteString(" " + strconv.FormatFloat(s.value, 'g', -1, 64) + "\n")
	}
}

// label escapes the value of a label.
var label = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

const gauge, counter = "gauge", "counter"

// submitter is what metrics say of one, or of all others.
type submitter struct {
	name                            string
	jobs                            map[string]int // by state
	effective, real, factor         float64        // NaN of several
	inUse, entitled, usage, ordered float64
}

// submitters returns those that have metrics of their own, the highest RUP first, and behind them the others as one.
func (o *overview) submitters() []*submitter {
	by := map[string]*submitter{}
	var list []*submitter
	of := func(name string) *submitter {
		name = strings.ToValidUTF8(name, "?")
		if by[name] == nil {
			by[name] = &submitter{name: name, jobs: map[string]int{}, effective: math.NaN(), real: math.NaN(), factor: math.NaN()}
			list = append(list, by[name])
		}
		return by[name]
	}
	for _, n := range o.counts {
		of(n.Submitter).jobs[n.State] += n.Jobs
	}
	for _, r := range o.accounts.Rows {
		if r.Group {
			continue
		}
		s := of(r.Name)
		s.effective, s.real, s.factor, s.inUse, s.usage, s.ordered = r.Effective, r.Priority, r.Factor, r.InUse, r.Usage, r.Priority
	}
	if o.last != nil {
		for _, x := range o.last.Submitters {
			of(x.Name).entitled = x.PieSlice
		}
	}
	slices.SortFunc(list, func(a, b *submitter) int {
		return cmp.Or(cmp.Compare(b.ordered, a.ordered), strings.Compare(a.name, b.name))
	})
	return together(list, o.call.Config.MetricsSubmitters, &submitter{name: rest, jobs: map[string]int{}, effective: math.NaN(), real: math.NaN(), factor: math.NaN()},
		func(sum, s *submitter) {
			for state, n := range s.jobs {
				sum.jobs[state] += n
			}
			sum.inUse, sum.entitled, sum.usage = sum.inUse+s.inUse, sum.entitled+s.entitled, sum.usage+s.usage
		})
}

// together returns the first most of a list, and behind them the sum of the others, which add adds up.
func together[T any](list []*T, most int, sum *T, add func(sum, x *T)) []*T {
	if len(list) <= most {
		return list
	}
	for _, x := range list[most:] {
		add(sum, x)
	}
	return append(list[:most:most], sum)
}

// metrics returns the pool's figures in Prometheus's format.
func (o *overview) metrics() []byte {
	var m metrics
	m.family("fairspool_info", gauge, "Always 1; the labels say which pool this is.",
		series{1, []string{"version", cmdline.Version, "domain", o.domain, "policy", o.call.Config.JobPriorityPolicy}})
	o.health(&m)
	if o.damaged {
		return []byte(m.String())
	}
	o.ofSubmitters(&m)
	o.ofGroups(&m)
	o.ofMachines(&m)
	o.ofCycles(&m)
	d := o.facts.Disk
	m.family("fairspool_disk_size_bytes", gauge, "Size of the file system of the spool.", plain(float64(d.Size)))
	m.family("fairspool_disk_free_bytes", gauge, "What is free of it for the account of the spool.", plain(float64(d.Free)))
	if d.Files > 0 {
		m.family("fairspool_disk_inodes", gauge, "Inodes of the file system of the spool.", plain(float64(d.Files)))
		m.family("fairspool_disk_inodes_free", gauge, "Inodes of it that are free.", plain(float64(d.FreeFiles)))
	}
	m.family("fairspool_journal_bytes", gauge, "Length of the spool's journal, which cycles fold.", plain(float64(o.journal)))
	return []byte(m.String())
}

func (o *overview) health(m *metrics) {
	m.family("fairspool_health_status", gauge, "Worst finding of negotiate -health: 0 OK, 1 warning, 2 critical.", plain(float64(health.Worst(o.found))))
	var list []series
	for _, code := range health.Codes {
		worst := health.OK
		for _, f := range o.found {
			if f.Code == code {
				worst = max(worst, f.Severity)
			}
		}
		list = append(list, series{float64(worst), []string{"code", string(code)}})
	}
	m.family("fairspool_health_finding", gauge, "Findings of negotiate -health by code: 0 none, 1 warning, 2 critical.", list...)
}

func (o *overview) ofSubmitters(m *metrics) {
	var jobs []series
	figures := make([][]series, 6)
	for _, s := range o.submitters() {
		labels := []string{"submitter", s.name}
		for _, state := range queue.StateWords() {
			jobs = append(jobs, series{float64(s.jobs[state]), append(labels[:2:2], "state", state)})
		}
		for i, x := range []float64{s.effective, s.real, s.factor, s.inUse, s.entitled, s.usage} {
			figures[i] = append(figures[i], series{x, labels})
		}
	}
	m.family("fairspool_jobs", gauge, "Jobs in the queue by submitter and state.", jobs...)
	m.family("fairspool_jobs_to_come", gauge, "Jobs that clusters with max_materialize or max_idle keep back.", plain(float64(o.kept)))
	m.family("fairspool_submitter_effective_priority", gauge, "Effective user priority (EUP); lower goes first.", figures[0]...)
	m.family("fairspool_submitter_real_priority", gauge, "Real user priority (RUP), which follows the weight in use; lower is better.", figures[1]...)
	m.family("fairspool_submitter_priority_factor", gauge, "Priority factor; lower is better.", figures[2]...)
	m.family("fairspool_submitter_slots_in_use", gauge, "Slot weight in use.", figures[3]...)
	if o.last != nil && o.policy == "" {
		m.family("fairspool_submitter_slots_entitled", gauge, "Slot weight that the last cycle entitled the submitter to.", figures[4]...)
	}
	m.family("fairspool_submitter_usage_seconds_total", counter, "Accumulated usage in weighted slot seconds.", figures[5]...)
	waiting := map[negotiator.Cause]int{}
	if o.last == nil {
		return
	}
	for _, x := range o.last.Rejections {
		waiting[x.Cause] += x.Count
	}
	var causes []series
	for _, c := range queue.Causes() {
		causes = append(causes, series{float64(waiting[c]), []string{"cause", string(c)}})
	}
	m.family("fairspool_jobs_rejected", gauge, "Jobs that the last cycle left without a slot, by the first cause.", causes...)
}

func (o *overview) ofGroups(m *metrics) {
	var list []*accounts.Row
	for i, r := range o.accounts.Rows {
		if r.Group {
			list = append(list, &o.accounts.Rows[i])
		}
	}
	list = together(list, o.call.Config.MetricsSubmitters, &accounts.Row{Name: rest}, func(sum, r *accounts.Row) {
		sum.InUse += r.InUse
		sum.Part.Effective += r.Part.Effective
		sum.Part.Requested += r.Part.Requested
		sum.Part.Negotiated = sum.Part.Negotiated || r.Part.Negotiated
	})
	var used, quota, requested []series
	for _, r := range list {
		labels := []string{"group", strings.ToValidUTF8(r.Name, "?")}
		used = append(used, series{r.InUse, labels})
		if r.Part.Negotiated {
			quota = append(quota, series{r.Part.Effective, labels})
			requested = append(requested, series{r.Part.Requested, labels})
		}
	}
	m.family("fairspool_group_slots_in_use", gauge, "Slot weight that the members of the accounting group itself use.", used...)
	m.family("fairspool_group_slots_quota", gauge, "Effective quota of the group alone in the last cycle, in slot weight.", quota...)
	m.family("fairspool_group_slots_requested", gauge, "Slot weight in use and asked for by idle jobs in the last cycle.", requested...)
}

func (o *overview) ofMachines(m *metrics) {
	all, sum := machinesOf(o.machines)
	m.family("fairspool_machines", gauge, "Machines that have slots in the pool.", plain(float64(len(all))))
	m.family("fairspool_cores", gauge, "Cores of all slots by what they are: used, reserved, available, resting (left alone for a while), disabled.",
		series{sum.Used, []string{"state", "used"}}, series{sum.Reserved, []string{"state", "reserved"}}, series{sum.Avail, []string{"state", "available"}},
		series{sum.Resting, []string{"state", "resting"}}, series{sum.Broken, []string{"state", "disabled"}})
	var pilots []series
	for state := pool.Asked; state <= pool.Leaving; state++ {
		n := 0
		for _, p := range o.pilots {
			if p.State == state {
				n++
			}
		}
		pilots = append(pilots, series{float64(n), []string{"state", strings.ToLower(state.String())}})
	}
	m.family("fairspool_pilots", gauge, "Pilots on other machines by state.", pilots...)
	m.family("fairspool_pilots_silent", gauge, "Machines with a pilot that have not been heard of for long.", plain(float64(len(o.silent))))
}

// machinesOf parts machines from their total.
func machinesOf(list []queue.Machine) (all []queue.Machine, total queue.Machine) {
	switch n := len(list); n {
	case 0:
		return nil, total
	case 1:
		return list, list[0]
	default:
		return list[:n-1], list[n-1]
	}
}

func (o *overview) ofCycles(m *metrics) {
	if o.last == nil {
		return
	}
	m.family("fairspool_last_cycle_timestamp_seconds", gauge, "Time of the last cycle that left its report, by the pool's clock.", plain(float64(o.last.Time)))
	m.family("fairspool_last_cycle_age_seconds", gauge, "How long ago that was when this was written.", plain(math.Round(o.now.Sub(unix(o.last.Time)).Seconds())))
	if len(o.last.Cycles) == 0 {
		return
	}
	c := o.last.Cycles[0]
	m.family("fairspool_cycles_total", counter, "Cycles so far.", plain(float64(c.Cycle)))
	m.family("fairspool_last_cycle_duration_seconds", gauge, "How long the last cycle took.", plain(c.Took))
	m.family("fairspool_last_cycle_matches", gauge, "Jobs that the last cycle matched.", plain(float64(c.Matched)))
	m.family("fairspool_last_cycle_preemptions", gauge, "Jobs that the last cycle preempted.", plain(float64(c.Preempted)))
}
