package sge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/internal/golden"
	"fairspool/lib/jobprio"
	"fairspool/lib/pool"
)

// goldenCase is what Grid Engine 8.1.9 was seen to do.
type goldenCase struct {
	Name      string            `json:"name"`
	Sched     map[string]string `json:"sched_conf"`
	Complexes []struct {
		Name, Shortcut, Type, Urgency string
	} `json:"complexes"`
	PEs []struct {
		Name         string
		Slots        int64
		UrgencySlots any `json:"urgency_slots"`
	} `json:"pes"`
	Free        int64           `json:"queue_slots_free"`
	Users       []goldenObject  `json:"users"`
	Projects    []goldenObject  `json:"projects"`
	Departments []goldenObject  `json:"departments"`
	Tree        *goldenNode     `json:"share_tree"`
	Now         int64           `json:"now"`
	Jobs        []goldenJob     `json:"jobs"`
	Observed    []goldenRow     `json:"observed"`
	Monitor     []goldenMonitor `json:"share_tree_monitor"`
}

type goldenObject struct {
	Name         string
	FShare       float64                       `json:"fshare"`
	OTicket      float64                       `json:"oticket"`
	Usage        map[string]float64            `json:"usage"`
	Stamp        int64                         `json:"usage_time_stamp"`
	ProjectUsage map[string]map[string]float64 `json:"project_usage"`
}

type goldenNode struct {
	Name     string
	Shares   float64
	Children []*goldenNode
}

type goldenJob struct {
	ID         int
	Owner      string
	Project    *string
	Department string
	Submitted  int64 `json:"submit_time"`
	Deadline   int64
	POSIX      int64 `json:"ppri"`
	Requests   map[string]string
	PE         *struct{ Name, Range string } `json:"pe"`
	JobShare   float64                       `json:"jobshare"`
	Override   float64                       `json:"override_tickets"`
	Tasks      *string                       `json:"task_range"`
	Hold       bool
	State      string
}

// goldenRow is a job as it was shown. Of an array job that waits it is the first task.
type goldenRow struct {
	ID                                 int
	Tasks                              string
	State                              string
	Prio, NTckts, NPPrior, NUrg, Share float64
	Urg, RRContr, WTContr, DLContr     float64
	Tckts, OTckt, FTckt, STckt         float64
	Slots                              int64
	Nice                               *int
}

// hidden tells why the numbers of jobs that wait, and their order, cannot be compared; empty: they
// can. Without report_pjob_tickets zeros are shown of them, and that is what decides about the
// order in which they are shown.
func (g *goldenCase) hidden() string {
	if g.truth("report_pjob_tickets") {
		return ""
	}
	return "report_pjob_tickets is off: of jobs that wait nothing is shown"
}

// usual are the values of parameters that a case does not say (sched_conf(5), the installer's).
var usual = map[string]string{
	"weight_priority": "1", "weight_urgency": "0.1", "weight_ticket": "0.01", "weight_waiting_time": "0", "weight_deadline": "3600000",
	"weight_user": "0.25", "weight_project": "0.25", "weight_department": "0.25", "weight_job": "0.25",
	"weight_tickets_functional": "0", "weight_tickets_share": "0", "share_functional_shares": "TRUE", "share_override_tickets": "TRUE",
	"report_pjob_tickets": "TRUE", "max_functional_jobs_to_schedule": "200", "max_pending_tasks_per_job": "50", "compensation_factor": "5",
	"policy_hierarchy": "OFS", "halftime": "168", "usage_weight_list": "cpu=1,mem=0,io=0", "halflife_decay_list": "none",
}

// said returns a parameter of a case.
func (g *goldenCase) said(key string) string { return cmp.Or(g.Sched[key], usual[key]) }

func (g *goldenCase) truth(key string) bool {
	return strings.EqualFold(g.said(key), "true") || g.said(key) == "1"
}

// eachGolden runs a test for each of the observed cases.
func eachGolden(t *testing.T, test func(t *testing.T, file string, g *goldenCase)) {
	golden.Each(t, "sge", "*.json", test)
}

// TestGoldenRanking compares the numbers of all jobs, and their order, with those of Grid Engine
// 8.1.9.
func TestGoldenRanking(t *testing.T) { eachGolden(t, compareGolden) }

// tally counts what agrees.
type tally struct {
	t           *testing.T
	agree, seen int
}

func (y *tally) check(ok bool, format string, args ...any) {
	y.t.Helper()
	if y.seen++; ok {
		y.agree++
	} else {
		y.t.Errorf(format, args...)
	}
}

func compareGolden(t *testing.T, file string, g *goldenCase) {
	r, names := g.ranking(t)
	y := &tally{t: t}
	var waiting []string
	ran := map[string]int{} // by name, the jobs that run
	for i := range r.running {
		ran[names.running[i]] = i
	}
	for i, row := range g.Observed {
		name := row.name()
		switch {
		case g.aside(row.ID): // what is shown is nothing, or what was true once
		case row.waits():
			waiting = append(waiting, name)
			if g.hidden() == "" {
				at := slices.Index(names.pending, strconv.Itoa(row.ID))
				y.compare(name, &g.Observed[i], r.Pending(at, 0), r.pending[at].Slots)
			}
		default:
			at, known := ran[name]
			y.check(known, "%s does not run, want it to", name)
			if known {
				y.compare(name, &g.Observed[i], r.Running(at), 0)
			}
		}
	}
	if g.hidden() == "" {
		var got []string
		for _, p := range r.Places() {
			if name := names.pending[p.Job]; !slices.Contains(got, name) { // one line an array
				got = append(got, name)
			}
		}
		y.check(slices.Equal(got, waiting), "order %v, want %v", got, waiting)
	}
	g.compareNice(y, r, ran)
	if why := g.hidden(); why != "" {
		t.Log(why)
	}
	t.Logf("golden sge/%s: %d of %d agree", file, y.agree, y.seen)
}

// compare holds numbers to what was printed. Fractions have five digits; whole numbers are
// rounded or, if they are tickets, cut, so that one that is nearly whole may be off by one.
func (y *tally) compare(name string, want *goldenRow, n Numbers, slots int64) {
	y.t.Helper()
	for _, c := range []struct {
		of        string
		got, want float64
	}{{"prio", n.Prio, want.Prio}, {"ntckts", n.NTckts, want.NTckts}, {"npprior", n.NPPrior, want.NPPrior}, {"nurg", n.NUrg, want.NUrg}, {"share", n.Share, want.Share}} {
		y.check(math.Abs(c.got-c.want) <= 1e-5, "%s of %s = %.7f, want %.5f", c.of, name, c.got, c.want)
	}
	for _, c := range []struct {
		of        string
		got, want float64
	}{{"urg", math.RoundToEven(n.Urg), want.Urg}, {"rrcontr", math.RoundToEven(n.RRContr), want.RRContr}, {"wtcontr", math.RoundToEven(n.WTContr), want.WTContr},
		{"dlcontr", math.RoundToEven(n.DLContr), want.DLContr}, {"tckts", math.Trunc(n.Tckts), want.Tckts}, {"otckt", math.Trunc(n.OTckt), want.OTckt},
		{"ftckt", math.Trunc(n.FTckt), want.FTckt}, {"stckt", math.Trunc(n.STckt), want.STckt}} {
		y.check(math.Abs(c.got-c.want) <= 1, "%s of %s = %v, want %v", c.of, name, c.got, c.want)
	}
	if slots > 0 {
		y.check(slots == want.Slots, "slots of %s = %d, want %d", name, slots, want.Slots)
	}
}

// compareNice compares the nice values of the jobs that run where they were seen.
func (g *goldenCase) compareNice(y *tally, r *Ranking, ran map[string]int) {
	var runners []jobprio.Runner
	var rows []goldenRow
	for _, row := range g.Observed {
		if at, runs := ran[row.name()]; runs && row.Nice != nil {
			runners, rows = append(runners, jobprio.Runner{Tickets: r.Running(at).Tckts, Procs: 1}), append(rows, row)
		}
	}
	for i, nice := range jobprio.NiceValues(runners, 0, 20) {
		nice = min(nice, 19) // as much as the system has
		y.check(nice == *rows[i].Nice, "nice value of %s = %d, want %d", rows[i].name(), nice, *rows[i].Nice)
	}
}

func (row *goldenRow) waits() bool { return strings.Contains(row.State, "q") }

// aside reports whether a job takes no part: it is held, in error or suspended. A job that is not
// to start yet is held, though no letter of its state says so.
func (g *goldenCase) aside(id int) bool {
	return slices.ContainsFunc(g.Jobs, func(j goldenJob) bool { return j.ID == id && (j.Hold || j.State == "suspended") }) ||
		slices.ContainsFunc(g.Observed, func(row goldenRow) bool { return row.ID == id && strings.ContainsAny(row.State, "hEsST") })
}

// name returns the number of a job, with its task if it is one that runs.
func (row *goldenRow) name() string {
	if row.Tasks != "" && !row.waits() {
		return fmt.Sprintf("%d.%s", row.ID, row.Tasks)
	}
	return strconv.Itoa(row.ID)
}

// goldenNames are the names of jobs as rows have them.
type goldenNames struct{ pending, running []string }

// ranking returns the run of a case.
func (g *goldenCase) ranking(t *testing.T) (*Ranking, goldenNames) {
	c := g.config(t)
	now := time.Unix(g.Now, 0)
	decay := g.decay(t)
	w := World{Now: now, FreeSlots: g.Free, Used: UsedOf(g.tallies(decay, now), decay, now)}
	var pending, running []Job
	var names goldenNames
	for _, j := range g.Jobs {
		if g.aside(j.ID) {
			continue
		}
		tasks := []string{""}
		if j.Tasks != nil {
			tasks = taskNames(t, *j.Tasks)
		}
		job := j.job(t, c)
		wait := 0
		for i, task := range tasks {
			row := goldenRow{ID: j.ID, Tasks: task}
			if !g.runs(&row, j.State) {
				wait++
				continue
			}
			one := job
			one.ID.Proc, one.Count = i, 1
			running, names.running = append(running, one), append(names.running, row.name())
		}
		if wait > 0 {
			job.ID.Proc, job.Count = len(tasks)-wait, wait
			pending, names.pending = append(pending, job), append(names.pending, strconv.Itoa(j.ID))
		}
	}
	return Rank(c, w, pending, running), names
}

// runs reports whether a job, or a task of an array, runs.
func (g *goldenCase) runs(one *goldenRow, state string) bool {
	if one.Tasks == "" {
		return state == "running"
	}
	return slices.ContainsFunc(g.Observed, func(row goldenRow) bool { return !row.waits() && row.name() == one.name() })
}

// taskNames returns the tasks of a range such as 1-10:3.
func taskNames(t *testing.T, text string) (names []string) {
	span, step, _ := strings.Cut(text, ":")
	from, to, _ := strings.Cut(span, "-")
	first, last, by := goldenInt(t, from), goldenInt(t, cmp.Or(to, from)), goldenInt(t, cmp.Or(step, "1"))
	for n := first; n <= last; n += max(by, 1) {
		names = append(names, strconv.Itoa(n))
	}
	return names
}

func (j *goldenJob) job(t *testing.T, c *Config) Job {
	job := Job{ID: pool.JobID{Cluster: j.ID}, Count: 1, User: j.Owner, Department: j.Department, Submitted: j.Submitted, Deadline: j.Deadline,
		POSIX: j.POSIX, JobShare: j.JobShare, OverrideTickets: j.Override, CPUs: 1}
	if j.Project != nil {
		job.Project = *j.Project
	}
	pe, wanted := "", ""
	if j.PE != nil {
		pe, wanted = j.PE.Name, j.PE.Range
	}
	var err error
	if job.Slots, job.LeastSlots, err = c.Slots(pe, wanted); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(j.Requests)) {
		if r, counts := requested(c, name, j.Requests[name]); counts {
			job.Requests = append(job.Requests, r)
		}
	}
	return job
}

func (g *goldenCase) config(t *testing.T) *Config {
	number := func(key string) float64 { return goldenFloat(t, g.said(key)) }
	c := &Config{WeightPriority: number("weight_priority"), WeightUrgency: number("weight_urgency"), WeightTicket: number("weight_ticket"),
		WeightWaitingTime: number("weight_waiting_time"), WeightDeadline: number("weight_deadline"),
		WeightUser: number("weight_user"), WeightProject: number("weight_project"), WeightDepartment: number("weight_department"), WeightJob: number("weight_job"),
		TicketsFunctional: number("weight_tickets_functional"), TicketsShare: number("weight_tickets_share"),
		ShareFunctional: g.truth("share_functional_shares"), ShareOverride: g.truth("share_override_tickets"), ReportPending: g.truth("report_pjob_tickets"),
		MaxFunctional: goldenInt(t, g.said("max_functional_jobs_to_schedule")), MaxPendingTasks: goldenInt(t, g.said("max_pending_tasks_per_job")),
		Compensation: number("compensation_factor"), Tree: g.Tree.node(),
		Users: objectsOf(g.Users), Projects: objectsOf(g.Projects), Departments: objectsOf(g.Departments)}
	if order := g.said("policy_hierarchy"); !strings.EqualFold(order, "none") {
		for _, letter := range order {
			c.Hierarchy = append(c.Hierarchy, map[rune]TicketPolicy{'O': Override, 'F': Functional, 'S': ShareTree}[letter])
		}
	}
	types := []string{"INT", "DOUBLE", "TIME", "MEMORY", "BOOL", "STRING", "CSTRING", "RESTRING", "HOST"}
	for _, x := range g.Complexes {
		c.Complexes = append(c.Complexes, Complex{x.Name, x.Shortcut, ComplexType(slices.Index(types, x.Type)), goldenFloat(t, x.Urgency)})
	}
	for _, p := range g.PEs {
		pe := PE{Name: p.Name, Slots: p.Slots}
		text := fmt.Sprint(p.UrgencySlots)
		if kind := slices.Index([]string{"min", "max", "avg"}, text); kind >= 0 {
			pe.UrgencySlots.Kind = UrgencyKind(kind)
		} else {
			pe.UrgencySlots = UrgencySlots{FixedSlots, int64(goldenInt(t, text))}
		}
		c.PEs = append(c.PEs, pe)
	}
	return c
}

func objectsOf(list []goldenObject) map[string]Object {
	objects := map[string]Object{}
	for _, o := range list {
		objects[o.Name] = Object{FShare: o.FShare, OTicket: o.OTicket}
	}
	return objects
}

func (n *goldenNode) node() *Node {
	if n == nil {
		return nil
	}
	node := &Node{Name: n.Name, Shares: n.Shares}
	for _, child := range n.Children {
		node.Children = append(node.Children, child.node())
	}
	return node
}

// decay returns how usage decays and what of it counts, in Grid Engine's own way.
func (g *goldenCase) decay(t *testing.T) accountant.DecayParams {
	d := accountant.DecayParams{HalfTime: time.Duration(goldenInt(t, g.said("halftime"))) * time.Hour, Linear: true}
	kind := map[string]*accountant.UsageParams{"cpu": &d.CPU, "mem": &d.Memory, "io": &d.IO}
	for name, x := range goldenList(t, g.said("usage_weight_list"), ",") {
		if kind[name] != nil {
			kind[name].Weight = x
		}
	}
	for name, x := range goldenList(t, g.said("halflife_decay_list"), ":") {
		if kind[name] != nil {
			kind[name].Own, kind[name].HalfLife = true, time.Duration(x*float64(time.Minute))
		}
	}
	return d
}

// tallies returns the usage of users and projects as it was at its time.
func (g *goldenCase) tallies(d accountant.DecayParams, now time.Time) (list []accountant.Tally) {
	add := func(k accountant.Key, usage map[string]float64, stamp int64) {
		at := time.Unix(stamp, 0)
		if stamp <= 0 {
			at = now
		}
		list = append(list, accountant.Tally{Key: k, At: at, Decayed: accountant.Recent{CPU: usage["cpu"], Memory: usage["mem"], IO: usage["io"]}})
	}
	for _, u := range g.Users {
		add(accountant.Key{Kind: accountant.KindOwn, Name: u.Name}, u.Usage, u.Stamp)
		for project, usage := range u.ProjectUsage {
			add(accountant.Within(u.Name, project), usage, u.Stamp)
		}
	}
	for _, p := range g.Projects {
		add(accountant.Key{Kind: accountant.KindProject, Name: p.Name}, p.Usage, p.Stamp)
	}
	return list
}

// goldenList reads a list such as cpu=1,mem=0.
func goldenList(t *testing.T, text, separator string) map[string]float64 {
	list := map[string]float64{}
	if strings.EqualFold(text, "none") {
		return list
	}
	for _, one := range strings.Split(text, separator) {
		name, number, _ := strings.Cut(one, "=")
		list[name] = goldenFloat(t, number)
	}
	return list
}

func goldenFloat(t *testing.T, text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func goldenInt(t *testing.T, text string) int { return int(goldenFloat(t, text)) }
