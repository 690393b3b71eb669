package sge

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/lib/pool"

	"pgregory.net/rapid"
)

// TestGoldenCourse puts together again what the courses and equations of all jobs of the
// observed cases say.
func TestGoldenCourse(t *testing.T) {
	eachGolden(t, func(t *testing.T, _ string, g *goldenCase) {
		r, _ := g.ranking(t)
		checkCourses(t, r)
	})
}

// failer is what rapid.T and testing.T have in common.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkCourses checks the courses of all jobs of a run.
func checkCourses(t failer, r *Ranking) {
	t.Helper()
	for i := range r.pending {
		for task := range r.pending[i].Count {
			name := fmt.Sprintf("job %d, task %d", i, task)
			check := courseCheck{t, name, r.Course(i, task)}
			check.is("numbers", reflect.DeepEqual(check.course.Numbers, r.Pending(i, task)))
			check.all(r.Equation(i, task))
		}
	}
	for i := range r.running {
		check := courseCheck{t, fmt.Sprintf("running job %d", i), r.RunningCourse(i)}
		check.is("numbers", reflect.DeepEqual(check.course.Numbers, r.Running(i)))
		check.all(r.RunningEquation(i))
	}
}

// courseCheck holds what a course has to the numbers that have come from it.
type courseCheck struct {
	t      failer
	name   string
	course *Course
}

func (k courseCheck) is(what string, ok bool) {
	k.t.Helper()
	if !ok {
		k.t.Errorf("%s: %s is not so: %+v", k.name, what, k.course)
	}
}

// equal compares within rounding.
func (k courseCheck) equal(what string, got, want float64) {
	k.t.Helper()
	k.is(fmt.Sprintf("%s %v = %v", what, got, want), math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)))
}

func (k courseCheck) all(lines []string) {
	k.t.Helper()
	_, err := json.Marshal(k.course)
	k.is(fmt.Sprintf("JSON, %v,", err), err == nil)
	k.urgency()
	k.sums()
	if !k.course.Uncounted {
		k.override()
		k.functional()
		k.tree()
	}
	for _, line := range lines {
		k.line(line)
	}
}

func (k courseCheck) sums() {
	c := k.course
	k.equal("prio", c.WeightPriority*c.NPPrior+c.WeightUrgency*c.NUrg+c.WeightTicket*c.NTckts, c.Prio)
	if c.NoNPPrior {
		k.equal("npprior", 0.5, c.NPPrior)
	} else {
		k.equal("npprior", float64(c.POSIX+1024)/2048, c.NPPrior)
	}
	k.equal("tckts", c.OTckt+c.FTckt+c.STckt, c.Tckts)
	if c.NoTickets {
		k.equal("ntckts", 0.5, c.NTckts)
	} else {
		k.equal("ntckts", c.Tckts/c.MaxTickets, c.NTckts)
	}
}

func (k courseCheck) urgency() {
	c, u := k.course, k.course.Urgency
	if u.NoUrgency {
		k.equal("nurg", 0.5, c.NUrg)
		k.equal("urg", 0, c.Urg)
		return
	}
	resources, deadline := 0.0, 0.0
	for _, r := range u.Requests {
		resources += r.Adds
		if !r.Fixed {
			k.equal("request "+r.Name, r.Urgency*float64(r.Slots)*r.Amount, r.Adds)
		} else {
			k.equal("request "+r.Name, r.Urgency, r.Adds)
		}
	}
	k.equal("rrcontr", resources, c.RRContr)
	k.equal("wtcontr", u.WeightWaitingTime*u.Waited, c.WTContr)
	if u.Deadline != 0 {
		deadline = u.WeightDeadline / u.FreeTime
	}
	k.equal("dlcontr", deadline, c.DLContr)
	k.equal("urg", c.RRContr+c.WTContr+c.DLContr, c.Urg)
	if u.Equal {
		k.equal("nurg", 0.5, c.NUrg)
	} else {
		k.equal("nurg", (c.Urg-u.Least)/(u.Greatest-u.Least), c.NUrg)
	}
}

func (k courseCheck) override() {
	sum := 0.0
	for _, t := range k.course.Override.Terms {
		sum += t.OTicket / float64(t.Jobs)
	}
	k.equal("otckt", sum, k.course.OTckt)
	k.is("a reason for no override tickets", (k.course.OTckt == 0) == (k.course.Override.Why != ""))
}

func (k courseCheck) functional() {
	f, sum := &k.course.Functional, 0.0
	for _, t := range f.Terms {
		sum += t.Weight * (t.FShare / float64(t.Jobs)) / t.Sum
	}
	k.equal("ftckt", f.Pool*sum, k.course.FTckt)
	k.is("a reason for no functional tickets", (k.course.FTckt == 0) == (f.Why != ""))
	k.is("its turn", f.Why != "" || k.course.Running || f.Trial != (f.Turn.Place > 0 && f.Turn.Place <= f.Turn.Of))
}

func (k courseCheck) tree() {
	s := &k.course.ShareTree
	if s.Why != "" {
		k.equal("stckt", 0, k.course.STckt)
		return
	}
	if s.JobShares > 0 {
		k.equal("stckt", math.Trunc(s.JobShare*(s.Pool*s.Target)/s.JobShares), k.course.STckt)
	} else {
		k.equal("stckt", s.Pool*s.Target/s.Divisor, k.course.STckt)
	}
	long, short := 1.0, 1.0
	for _, l := range s.Levels {
		long, short = long*l.LongTarget, short*l.ShortTarget
		k.equal("total of "+l.Path, long, l.TotalLong)
		k.equal("short total of "+l.Path, short, l.TotalShort)
		if l.AllShares > 0 {
			k.equal("long target of "+l.Path, l.Shares/l.AllShares, l.LongTarget)
		}
		if l.TotalLong > 0 {
			k.equal("weight of "+l.Path, l.Shares*l.Shares/max(l.Usage, l.TotalLong)/l.Cut, l.Weight)
			k.equal("short target of "+l.Path, l.Weight/l.AllWeights, l.ShortTarget)
		}
		if l.Path == s.Branch {
			part := l.ShortTarget
			if k.course.Running {
				part = l.TotalShort
			}
			k.equal("target of "+l.Path, s.Target, part)
		}
	}
	k.is("the path", len(s.Levels) > 0 && s.Levels[len(s.Levels)-1].Path == s.Node && strings.HasPrefix(s.Node, s.Branch))
}

// row holds the targets in a row of the table of levels to what else is in it.
func (k courseCheck) row(text string) {
	text, cut, _ := strings.Cut(strings.Replace(text, ", cut by ", " |", 1), "|")
	fields := append(strings.Fields(text), strings.Fields(cut)...)
	var x []float64
	for _, field := range fields[1:] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			k.t.Errorf("%s: %q: %v", k.name, text, err)
			return
		}
		x = append(x, n)
	}
	by := 1.0
	if cut != "" {
		by = x[6]
		x = slices.Delete(x, 6, 7)
	}
	if len(x) != 9 {
		k.t.Errorf("%s: %q has %d numbers, want 9", k.name, text, len(x))
		return
	}
	about := func(what string, a, b float64) {
		if b != 0 && math.Abs(a-b) > (1e-4+1e-5/max(x[4], x[3]))*max(1, b) { // five digits of a small target are few
			k.t.Errorf("%s: %s of %q comes to %v", k.name, what, text, a)
		}
	}
	about("long-term", x[0]/x[1], x[2])
	about("x", x[0]*x[0]/max(x[4], x[3])/by, x[5])
	about("short-term", x[5]/x[6], x[7])
}

// line holds what stands before the last = of an equation to what stands behind it, and that to
// the number of that name. Numbers are printed with five digits.
func (k courseCheck) line(text string) {
	parts := strings.Split(text, " = ")
	switch {
	case strings.HasPrefix(text, "  /"):
		k.row(text)
		return
	case strings.HasPrefix(text, "  node ") || text == "tickets do not count: weight_ticket is 0":
		return
	}
	last, _, _ := strings.Cut(parts[len(parts)-1], ":")
	last, _, _ = strings.Cut(last, " (")
	result, err := strconv.ParseFloat(last, 64)
	if err != nil {
		k.t.Errorf("%s: %q ends with no number: %v", k.name, text, err)
		return
	}
	n := &k.course.Numbers
	number, known := map[string]float64{"prio": n.Prio, "npprior": n.NPPrior, "nurg": n.NUrg, "ntckts": n.NTckts, "urg": n.Urg, "rrcontr": n.RRContr,
		"wtcontr": n.WTContr, "dlcontr": n.DLContr, "tckts": n.Tckts, "otckt": n.OTckt, "ftckt": n.FTckt, "stckt": n.STckt}[parts[0]]
	if !known || math.Abs(number-result) > 1e-5*max(1, math.Abs(number)) {
		k.t.Errorf("%s: %q is %v", k.name, text, number)
	}
	if len(parts) > 2 && !strings.HasPrefix(text, "dlcontr = weight_deadline = ") {
		got, err := arithmetic(parts[len(parts)-2])
		slack := 1e-4 * max(1, math.Abs(result))
		if strings.Contains(text, ", whole = ") { // five digits may take a target to the next whole ticket
			got, slack = math.Trunc(got), max(slack, 1)
		}
		if err != nil || math.Abs(got-result) > slack {
			k.t.Errorf("%s: %q comes to %v, %v", k.name, text, got, err)
		}
	}
}

// arithmetic reckons what a formula with numbers comes to: sums, differences, products and
// quotients, with parentheses. Words in between do not count.
func arithmetic(text string) (float64, error) {
	text = strings.NewReplacer("(", " ( ", ")", " ) ").Replace(text)
	var tokens []string
	for _, word := range strings.Fields(text) {
		if _, err := strconv.ParseFloat(word, 64); err == nil || strings.Contains("+-*/()", word) {
			tokens = append(tokens, word)
		}
	}
	p := &formula{tokens}
	x := p.sum()
	if len(p.rest) > 0 {
		return x, fmt.Errorf("%v is left", p.rest)
	}
	return x, nil
}

type formula struct{ rest []string }

// next takes the next token if it is one of some.
func (p *formula) next(of string) string {
	if len(p.rest) == 0 || !strings.Contains(of, p.rest[0]) {
		return ""
	}
	token := p.rest[0]
	p.rest = p.rest[1:]
	return token
}

func (p *formula) sum() float64 {
	x := p.product()
	for {
		switch p.next("+-") {
		case "+":
			x += p.product()
		case "-":
			x -= p.product()
		default:
			return x
		}
	}
}

func (p *formula) product() float64 {
	x := p.factor()
	for {
		switch p.next("*/") {
		case "*":
			x *= p.factor()
		case "/":
			x /= p.factor()
		default:
			return x
		}
	}
}

func (p *formula) factor() float64 {
	if p.next("(") != "" {
		x := p.sum()
		p.next(")")
		return x
	}
	if len(p.rest) == 0 {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(p.rest[0], 64)
	if err != nil {
		return math.NaN()
	}
	p.rest = p.rest[1:]
	return x
}

// TestCourses checks the courses of any jobs under any configuration.
func TestCourses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkCourses(t, drawRanking(t)) })
}

// TestEquationWords has what is said beside numbers, and in their place.
func TestEquationWords(t *testing.T) {
	tree := &Node{Name: "Root", Children: []*Node{{Name: "alice", Shares: 1}, {Name: "pa", Shares: 1, Children: []*Node{{Name: "bob", Shares: 1}}}}}
	config := func(change func(c *Config)) *Config {
		c := &Config{WeightPriority: 1, WeightUrgency: 1, WeightTicket: 1, WeightWaitingTime: 0.5, WeightDeadline: 3600000, WeightUser: 1, TicketsFunctional: 1000,
			TicketsShare: 1000, ShareFunctional: true, ShareOverride: true, MaxFunctional: 2, MaxPendingTasks: 2, ReportPending: true, Tree: tree,
			Users: map[string]Object{"alice": {FShare: 100, OTicket: 60}}, Projects: map[string]Object{"pa": {}, "pb": {}},
			Complexes: []Complex{{SlotsComplex, "s", Int, 1000}, {"lic", "l", Int, 500}, {"site", "", String, 700}}}
		change(c)
		return c
	}
	same, off := func(*Config) {}, func(c *Config) { *c = Config{Complexes: c.Complexes[1:]} }
	alice := func(cluster, count int) Job {
		return Job{ID: pool.JobID{Cluster: cluster}, Count: count, User: "alice", Submitted: 880, Slots: 1, LeastSlots: 1, CPUs: 1}
	}
	of := func(user, project string) Job { j := alice(9, 1); j.User, j.Project = user, project; return j }
	wide := alice(9, 1)
	wide.Slots, wide.CPUs, wide.Requests = 4, 2, []Request{{1, 2, "2"}, {2, 1, "here"}}
	none := alice(9, 1)
	none.Slots, none.Requests = 0, wide.Requests
	due := func(at int64) Job { j := alice(9, 1); j.Deadline = at; return j }
	for _, c := range []struct {
		of      string
		config  *Config
		pending []Job // the last proc of the last one counts
		want    []string
	}{
		{"the sum", config(same), []Job{alice(9, 1)}, []string{
			"prio = weight_priority * npprior + weight_urgency * nurg + weight_ticket * ntckts = 1 * 0.50000 + 1 * 0.50000 + 1 * 1.00000 = 2.00000",
			"npprior = (ppri + 1024) / 2048 = (0 + 1024) / 2048 = 0.50000"}},
		{"what decides nothing", config(off), []Job{alice(9, 1)}, []string{"npprior = 0.50000: weight_priority is 0, and report_pjob_tickets is false",
			"nurg = 0.50000: weight_urgency is 0, and report_pjob_tickets is false", "ntckts = 0.50000: no job has tickets", "tickets do not count: weight_ticket is 0",
			"ftckt = 0: weight_tickets_functional is 0", "stckt = 0: weight_tickets_share is 0", "otckt = 0: neither user, project, department nor job has override tickets"}},
		{"nothing asked for", config(func(c *Config) { c.Complexes = nil }), []Job{alice(9, 1)}, []string{"rrcontr = 0: it asks for nothing that has an urgency"}},
		{"requests", config(same), []Job{wide}, []string{"rrcontr = slots 1000 * 4 * 2 + lic 500 * 4 * 2 + site 700 = 12700"}},
		{"no slots", config(same), []Job{none}, []string{"rrcontr = slots 1000 * 0 + lic 500 * 0 * 2 + site 700 = 700"}},
		{"waiting", config(same), []Job{alice(9, 1)}, []string{"wtcontr = weight_waiting_time * waiting time = 0.5 * 120 s = 60"}},
		{"no waiting", config(func(c *Config) { c.WeightWaitingTime = 0 }), []Job{alice(9, 1)}, []string{"wtcontr = 0: weight_waiting_time is 0", "nurg = 0.50000: all jobs are equally urgent"}},
		{"a deadline", config(same), []Job{due(4600)}, []string{"dlcontr = weight_deadline / free time = 3600000 / 3600 s = 1000"}},
		{"a deadline that has passed", config(same), []Job{due(1000)}, []string{"dlcontr = weight_deadline = 3600000: the deadline has passed"}},
		{"no deadline", config(same), []Job{alice(9, 1)}, []string{"dlcontr = 0: no deadline"}},
		{"turns", config(same), []Job{alice(8, 1), alice(9, 1)}, []string{"otckt = user alice 60 / 2 = 30 (number 2 of 2 to be served)",
			"ftckt = tickets * sum of (weight * share / jobs / shares of all) = 1000 * (1 * user alice 100 / 2 / 100) = 500 (number 2 of 2 to be served)",
			"stckt = tickets * short-term target of /alice / place there = 1000 * 1 / 2 = 500"}},
		{"left over", config(same), []Job{alice(7, 1), alice(8, 1), alice(9, 1)}, []string{
			" / 2 / 100.001) = 499.995 (left over: max_functional_jobs_to_schedule, 2, others were served first; the first of its kind would have got this)"}},
		{"too many procs", config(same), []Job{alice(9, 5)}, []string{"ntckts = 0.00000: no tickets in this run: 2 procs of the cluster come before (max_pending_tasks_per_job 2)"}},
		{"one proc", config(func(c *Config) { c.MaxPendingTasks = 1 }), []Job{alice(9, 2)}, []string{"1 proc of the cluster comes before (max_pending_tasks_per_job 1)"}},
		{"too few slots", config(func(c *Config) { c.MaxPendingTasks = 9 }), []Job{alice(9, 5)}, []string{"4 procs of the cluster come before (one more than the free slots, 3)"}},
		{"no shares", config(same), []Job{of("bob", "")}, []string{"ftckt = 0: neither user, project, department nor job has shares", "stckt = 0: no node for user bob outside of projects, and no default"}},
		{"no node in a project", config(same), []Job{of("alice", "pa")}, []string{"stckt = 0: no node for user alice below /pa, and no default"}},
		{"no node of a project", config(same), []Job{of("alice", "pb")}, []string{"stckt = 0: project pb has no node"}},
		{"no tree", config(func(c *Config) { c.Tree = nil }), []Job{alice(9, 1)}, []string{"stckt = 0: there is no share tree"}},
		{"no weight", config(func(c *Config) { c.WeightUser, c.WeightJob = 0, 1 }), []Job{alice(9, 1)}, []string{"ftckt = 0: what has shares weighs nothing"}},
		{"nobody served", config(func(c *Config) { c.MaxFunctional = 0 }), []Job{alice(9, 1)}, []string{"ftckt = 0: max_functional_jobs_to_schedule is 0"}},
	} {
		last := len(c.pending) - 1
		r := Rank(c.config, World{Now: time.Unix(1000, 0), FreeSlots: 3}, c.pending, nil)
		got := strings.Join(r.Equation(last, c.pending[last].Count-1), "\n")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the equation\n%s\nlacks %q", c.of, got, want)
			}
		}
		checkCourses(t, r)
	}
}

// TestCourseOfNobody asks for jobs that are not there.
func TestCourseOfNobody(t *testing.T) {
	r := Rank(&Config{}, World{}, []Job{{Count: 1}}, nil)
	for _, c := range []*Course{r.Course(-1, 0), r.Course(1, 0), r.Course(0, -1), r.Course(0, 1), r.RunningCourse(-1), r.RunningCourse(0)} {
		if !reflect.DeepEqual(c, &Course{}) {
			t.Errorf("the course of no job = %+v, want nothing", c)
		}
		if len(c.Equation()) == 0 {
			t.Error("the equation of no job is empty")
		}
	}
}

// TestAmount has how numbers are written: what is just below a whole number is not rounded to it.
func TestAmount(t *testing.T) {
	for x, want := range map[float64]string{0: "0", math.Copysign(0, -1): "0", 1772.5: "1772.5", -1600: "-1600", 27777.777777: "27777.77778", 27777.99999999: "27777.99999999",
		450.001: "450.001", 0.00001234: "1.23e-05", 27776.0000001: "27776", 3e20: "3e+20", 4294967295: "4294967295"} {
		if got := amount(x); got != want {
			t.Errorf("amount(%v) = %q, want %q", x, got, want)
		}
	}
}

// drawRanking draws a run.
func drawRanking(t *rapid.T) *Ranking {
	users, weight := []string{"alice", "bob", "carol"}, rapid.SampledFrom([]float64{0, 0.25, 1, 3})
	some := func(name string) float64 { return rapid.SampledFrom([]float64{0, 0, 1, 30, 100}).Draw(t, name) }
	objects := func(names ...string) map[string]Object {
		all := map[string]Object{}
		for _, n := range names {
			all[n] = Object{FShare: some("fshare"), OTicket: some("oticket")}
		}
		return all
	}
	leaf := func(name string, children ...*Node) *Node {
		return &Node{Name: name, Shares: some("shares"), Children: children}
	}
	c := &Config{WeightPriority: weight.Draw(t, "weight_priority"), WeightUrgency: weight.Draw(t, "weight_urgency"), WeightTicket: weight.Draw(t, "weight_ticket"),
		WeightWaitingTime: weight.Draw(t, "weight_waiting_time"), WeightDeadline: 3600000, WeightUser: weight.Draw(t, "weight_user"),
		WeightProject: weight.Draw(t, "weight_project"), WeightDepartment: weight.Draw(t, "weight_department"), WeightJob: weight.Draw(t, "weight_job"),
		TicketsFunctional: 1000 * some("functional"), TicketsShare: 1000 * some("share"), ShareFunctional: rapid.Bool().Draw(t, "functional shared"),
		ShareOverride: rapid.Bool().Draw(t, "override shared"), MaxFunctional: rapid.IntRange(0, 9).Draw(t, "limit"), MaxPendingTasks: 3,
		Compensation: rapid.SampledFrom([]float64{0, 1.5, 5}).Draw(t, "compensation"), ReportPending: rapid.Bool().Draw(t, "report"),
		Hierarchy: rapid.SampledFrom([][]TicketPolicy{nil, {Override, Functional, ShareTree}, {ShareTree, Functional}}).Draw(t, "hierarchy"),
		Users:     objects(users...), Projects: objects("pa", "pb"), Departments: objects("d1"),
		Complexes: []Complex{{SlotsComplex, "s", Int, 1000}, {"lic", "l", Double, -500}, {"site", "", String, 700}},
		Tree:      rapid.SampledFrom([]*Node{nil, leaf("Root", leaf("eng", leaf("alice"), leaf("bob")), leaf("pa"), leaf(DefaultNode))}).Draw(t, "tree")}
	jobs := func(n int, count *rapid.Generator[int]) []Job {
		list := make([]Job, rapid.IntRange(0, n).Draw(t, "jobs"))
		for i := range list {
			slots := rapid.Int64Range(1, 4).Draw(t, "slots")
			list[i] = Job{ID: pool.JobID{Cluster: 10*n + i}, Count: count.Draw(t, "count"), User: rapid.SampledFrom(users).Draw(t, "user"),
				Project: rapid.SampledFrom([]string{"", "", "pa", "pb"}).Draw(t, "project"), Department: rapid.SampledFrom([]string{"d1", DefaultDepartment}).Draw(t, "department"),
				Submitted: 1000 + int64(i%3), Deadline: rapid.SampledFrom([]int64{0, 900, 1500, 5000}).Draw(t, "deadline"), POSIX: rapid.Int64Range(-1100, 1100).Draw(t, "priority"),
				JobShare: some("job share"), OverrideTickets: some("override tickets"), Slots: slots, LeastSlots: slots, CPUs: 1,
				Requests: rapid.SampledFrom([][]Request{nil, {{1, 2.5, "2.5"}, {2, 1, "here"}}}).Draw(t, "requests")}
		}
		return list
	}
	w := World{Now: time.Unix(1500, 0), FreeSlots: rapid.Int64Range(0, 3).Draw(t, "free"),
		Used: Used{Own: map[string]float64{"alice": some("alice"), "bob": some("bob")}, Project: map[string]float64{"pa": some("pa")}}}
	return Rank(c, w, jobs(6, rapid.IntRange(1, 4)), jobs(4, rapid.Just(1)))
}
