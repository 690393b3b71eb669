package sge

import (
	"math"
	"slices"
	"testing"

	"fairspool/lib/pool"
)

// nodeOf makes a node of the share tree.
func nodeOf(name string, shares float64, children ...*Node) *Node {
	return &Node{Name: name, Shares: shares, Children: children}
}

// jobsOf makes jobs that wait of users, or of user:project, in the order of their IDs.
func jobsOf(users ...string) []Job {
	jobs := make([]Job, len(users))
	for i, user := range users {
		jobs[i] = Job{ID: pool.JobID{Cluster: i + 1}, Count: 1, User: user, Slots: 1, LeastSlots: 1}
		if at := slices.Index([]byte(user), ':'); at >= 0 {
			jobs[i].User, jobs[i].Project = user[:at], user[at+1:]
		}
	}
	return jobs
}

// forestOf hangs jobs on a tree, of which the first ones run.
func forestOf(c *Config, used Used, jobs []Job, running int) *forest {
	members := make([]member, len(jobs))
	for i := range jobs {
		members[i] = member{job: &jobs[i]}
	}
	return newForest(c, &used, members, running)
}

// engSci is the tree of the hierarchy examples.
func engSci() *Node {
	return nodeOf("Root", 1,
		nodeOf("eng", 60, nodeOf("alice", 1), nodeOf("bob", 3)),
		nodeOf("sci", 40, nodeOf("carol", 2), nodeOf("bio", 3, nodeOf("dave", 1), nodeOf("erin", 1))))
}

// flatTree is a tree of three users.
func flatTree() *Node {
	return nodeOf("Root", 1, nodeOf("alice", 50), nodeOf("bob", 30), nodeOf("carol", 20))
}

// wantTickets compares tickets, as they are shown, by job.
func wantTickets(t *testing.T, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("tickets of %d jobs, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Abs(math.Trunc(got[i])-want[i]) > 1 {
			t.Errorf("job %d has %v tickets, want %v", i+1, got[i], want[i])
		}
	}
}

func TestPendingTickets(t *testing.T) {
	projects := map[string]Object{"pa": {}, "pb": {}}
	usage := Used{Own: map[string]float64{"alice": 100, "bob": 2500, "carol": 700, "dave": 1500, "erin": 60}}
	for _, test := range []struct {
		name string
		c    Config
		used Used
		jobs []Job
		want []float64
	}{
		{"no tree", Config{}, Used{}, jobsOf("alice"), []float64{0}},
		{"no jobs", Config{Tree: flatTree()}, Used{}, nil, nil},
		{"flat, without usage", Config{Tree: flatTree(), Compensation: 5}, Used{},
			jobsOf("alice", "alice", "alice", "bob", "bob", "carol", "dave", "alice"),
			[]float64{500000, 250000, 166666, 300000, 150000, 200000, 0, 125000}},
		{"flat", Config{Tree: flatTree(), Compensation: 5}, Used{Own: map[string]float64{"alice": 5000, "bob": 1200, "carol": 3000, "dave": 10}},
			jobsOf("alice", "alice", "alice", "bob", "bob", "carol", "dave", "alice"),
			[]float64{361445, 180722, 120481, 542168, 271084, 96385, 0, 90361}},
		{"compensated", Config{Tree: flatTree(), Compensation: 2}, Used{Own: map[string]float64{"alice": 50000, "bob": 20, "carol": 9000}},
			jobsOf("alice", "bob", "carol"), []float64{1842, 996521, 1637}},
		{"hierarchy", Config{Tree: engSci(), Compensation: 5}, usage,
			jobsOf("alice", "alice", "bob", "bob", "bob", "carol", "dave", "dave", "erin"),
			[]float64{661678, 330839, 220559, 165419, 132335, 169160, 112773, 84580, 338321}},
		{"one branch has jobs", Config{Tree: engSci(), Compensation: 5}, usage, jobsOf("alice", "alice", "bob", "bob"),
			[]float64{735294, 367647, 264705, 132352}},
		{"one user has jobs", Config{Tree: engSci(), Compensation: 5}, usage, jobsOf("alice", "alice"), []float64{1000000, 500000}},
		{"defaults", Config{Tree: nodeOf("", 1, nodeOf("alice", 20), nodeOf(DefaultNode, 10))},
			Used{Own: map[string]float64{"alice": 1000, "bob": 100, "carol": 400}},
			jobsOf("alice", "alice", "bob", "bob", "carol", "dave"), []float64{797, 398, 1993, 996, 498, 996710}},
		{"project leaves", Config{Tree: nodeOf("", 1, nodeOf("pa", 3), nodeOf("pb", 1)), Projects: projects, Compensation: 5},
			Used{Project: map[string]float64{"pa": 4000, "pb": 100}, Own: map[string]float64{"pa": 7}},
			jobsOf("alice:pa", "alice:pb", "bob:pb", "bob:pa", "bob", "bob:pc"), []float64{183673, 816326, 408163, 91836, 0, 0}},
		// alice's own job begins with nothing to be sorted by, those of the node below hers with their parts.
		{"jobs on an inner node", Config{Tree: nodeOf("", 1, nodeOf("alice", 1, nodeOf("bob", 1)))}, Used{},
			jobsOf("bob", "alice", "bob"), []float64{1000000, 333333, 500000}},
		{"no shares", Config{Tree: nodeOf("", 0, nodeOf("alice", 0), nodeOf("bob", 0))}, Used{}, jobsOf("bob", "alice"), []float64{0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := forestOf(&test.c, test.used, test.jobs, 0).pendingTickets(1e6, nil)
			wantTickets(t, got, test.want...)
		})
	}
}

// A user's own jobs go by what they have of other policies, job share and ID, and are put off by
// the slots of those before.
func TestPendingOrder(t *testing.T) {
	c := &Config{Tree: flatTree(), Compensation: 5}
	jobs := jobsOf("alice", "alice", "alice", "bob", "bob")
	for i, share := range []float64{1, 10, 0, 5, 6} {
		jobs[i].JobShare = share
	}
	f := forestOf(c, Used{}, jobs, 0)
	wantTickets(t, f.pendingTickets(1e6, nil), 312500, 625000, 208333, 187500, 375000)
	// A hundred of job share weigh as much as one ticket.
	wantTickets(t, f.pendingTickets(1e6, []float64{0.08, 0, 0.2, 0, 0}), 208333, 312500, 625000, 187500, 375000)

	parallel := jobsOf("alice", "alice", "alice", "alice", "bob", "bob")
	parallel[0].LeastSlots, parallel[2].LeastSlots, parallel[4].LeastSlots = 4, 2, 3
	wantTickets(t, forestOf(c, Used{}, parallel, 0).pendingTickets(1e6, nil), 625000, 125000, 104166, 78125, 375000, 93750)
	// One that runs comes before, with its slots.
	wantTickets(t, forestOf(c, Used{}, parallel, 1).pendingTickets(1e6, nil), 125000, 104166, 78125, 375000, 93750)
}

func TestRunningTickets(t *testing.T) {
	c := &Config{Tree: flatTree(), Compensation: 5}
	jobs := jobsOf("alice", "bob", "bob", "dave", "carol", "bob")
	f := forestOf(c, Used{}, jobs, 4)
	wantTickets(t, f.runningTickets(1e6), 500000, 100000, 100000, 0)
	only := f.onlyRunning(c)
	wantTickets(t, only.runningTickets(8e5), 500000, 150000, 150000, 0)
	jobs[1].JobShare = 3
	wantTickets(t, only.runningTickets(8e5), 500000, 300000, 0, 0)
	jobs[2].JobShare = 6
	if got, want := only.runningTickets(1e5), []float64{62500, 12500, 25000, 0}; !slices.Equal(got, want) {
		t.Errorf("tickets by job share %v, want %v", got, want)
	}
	wantTickets(t, forestOf(&Config{}, Used{}, jobs, 4).runningTickets(1e6), 0, 0, 0, 0)
}

// What users with jobs that only wait have used counts for those that run, too.
func TestOnlyRunningUsage(t *testing.T) {
	c := &Config{Tree: nodeOf("", 1, nodeOf("eng", 1, nodeOf(DefaultNode, 1)), nodeOf("carol", 1))}
	used := Used{Own: map[string]float64{"alice": 100, "bob": 300, "carol": 400}}
	only := forestOf(c, used, jobsOf("alice", "carol", "bob"), 2).onlyRunning(c)
	wantTickets(t, only.runningTickets(1e6), 500000, 500000)
}

// wantNodes compares what nodes look like in a few words.
func wantNodes[T comparable](t *testing.T, nodes []TreeNode, what func(TreeNode) T, want map[string]T) {
	t.Helper()
	for _, n := range nodes {
		if got := what(n); got != want[n.Path] {
			t.Errorf("%s: %v, want %v", n.Path, got, want[n.Path])
		}
		delete(want, n.Path)
	}
	for path := range want {
		t.Errorf("no node %s", path)
	}
}

func TestBelongs(t *testing.T) {
	c := &Config{Projects: map[string]Object{"pa": {}, "pb": {}, "pc": {}, "alice": {}}, Tree: nodeOf("pc", 1,
		nodeOf("pa", 1, nodeOf("bob", 1), nodeOf("pb", 1), nodeOf("deep", 1, nodeOf(DefaultNode, 7))),
		nodeOf("eng", 1, nodeOf("bob", 1), nodeOf("pb", 1), nodeOf("bob", 1)),
		nodeOf("alice", 1),
		nodeOf("low", 1, nodeOf("bob", 1), nodeOf(DefaultNode, 5)),
		nodeOf(DefaultNode, 3))}
	for _, test := range []struct{ job, path string }{
		{"bob", "/eng/bob"},
		{"bob:pa", "/pa/bob"},
		{"carol:pa", "/pa/deep/default/carol"},
		{"carol:pb", "/eng/pb"}, // not the user pb of pa
		{"pb:pa", "/pa/pb"},
		{"carol", "/low/default/carol"},
		{"alice", "/low/default/alice"}, // the node of that name is a project's
		{"carol:alice", "/alice"},
		{"default", "/low/default/default"},
		{"carol:pc", ""}, // the root is nobody's
		{"bob:none", ""},
	} {
		nodes := forestOf(c, Used{}, jobsOf(test.job), 0).nodes()
		got := ""
		for _, n := range nodes {
			if n.Pending > 0 && n.Path != "/" {
				got = n.Path
			}
		}
		if got != test.path {
			t.Errorf("jobs of %s belong to %q, want %q", test.job, got, test.path)
		}
	}
}

func TestNodeUsage(t *testing.T) {
	c := &Config{Projects: map[string]Object{"pa": {}, "pb": {}}, Tree: nodeOf("Root", 1,
		nodeOf("pa", 1, nodeOf("bob", 1), nodeOf("rest", 1, nodeOf("carol", 1), nodeOf(DefaultNode, 7))),
		nodeOf("pb", 1, nodeOf("bob", 1)),
		nodeOf("bob", 1), nodeOf(DefaultNode, 1))}
	used := Used{
		Own:     map[string]float64{"bob": 5, "carol": 9, "dave": 2, "erin": 1000, "pa": 50, "default": 70},
		Project: map[string]float64{"pa": 1000, "pb": 40},
		Within:  map[[2]string]float64{{"bob", "pa"}: 100, {"carol", "pa"}: 20, {"dave", "pa"}: 30, {"bob", "pb"}: 60},
	}
	nodes := forestOf(c, used, jobsOf("dave:pa", "dave", "carol"), 0).nodes()
	wantNodes(t, nodes, func(n TreeNode) float64 { return n.Usage }, map[string]float64{
		"/": 1056, "/pa": 1000, "/pa/bob": 100,
		// 1000 of the project, of which 150 are of nodes below it
		"/pa/rest": 20 + 30 + 850, "/pa/rest/carol": 20, "/pa/rest/default": 30 + 850, "/pa/rest/default/dave": 30,
		"/pb": 40, "/pb/bob": 60, "/bob": 5, "/default": 11, "/default/dave": 2, "/default/carol": 9,
	})
	if nodes[0].Actual != 1 || nodes[1].Actual != 1000.0/1056 {
		t.Errorf("actual shares %v and %v of the whole", nodes[0].Actual, nodes[1].Actual)
	}
	var order []string
	for _, n := range nodes[len(nodes)-3:] {
		order = append(order, n.Path)
	}
	if want := []string{"/default", "/default/carol", "/default/dave"}; !slices.Equal(order, want) {
		t.Errorf("the last nodes are %v, want %v", order, want)
	}
}

// A default has the sums of its users'; its target is above its shares with more than one.
func TestDefaultShown(t *testing.T) {
	c := &Config{Tree: nodeOf("Root", 1, nodeOf("alice", 20), nodeOf(DefaultNode, 10))}
	nodes := forestOf(c, Used{}, jobsOf("alice", "bob", "bob", "carol"), 2).nodes()
	type look struct {
		long             float64
		running, pending int
		temporary        bool
	}
	wantNodes(t, nodes, func(n TreeNode) look { return look{n.LongTarget, n.Running, n.Pending, n.Temporary} }, map[string]look{
		"/": {1, 2, 2, false}, "/alice": {.5, 1, 0, false}, "/default": {.5, 1, 2, false},
		"/default/bob": {.25, 1, 1, true}, "/default/carol": {.25, 0, 1, true},
	})
}

// A node's targets are by what it has jobs in.
func TestTargets(t *testing.T) {
	used := Used{Own: map[string]float64{"alice": 100, "bob": 2500, "carol": 700, "dave": 1500, "erin": 60}}
	nodes := forestOf(&Config{Tree: engSci(), Compensation: 5}, used, jobsOf("alice", "bob", "carol", "dave", "erin"), 0).nodes()
	round := func(x float64) float64 { return math.Round(x*1e6) / 1e6 }
	wantNodes(t, nodes, func(n TreeNode) [2]float64 { return [2]float64{round(n.LongTarget), round(n.ShortTarget)} }, map[string][2]float64{
		"/": {1, 1}, "/eng": {.6, .661679}, "/sci": {.4, .338321}, "/eng/alice": {.25, .735294}, "/eng/bob": {.75, .264706},
		"/sci/carol": {.4, round(4 / 700.0 / (4/700.0 + 9/1560.0))}, "/sci/bio": {.6, round(9 / 1560.0 / (4/700.0 + 9/1560.0))},
		"/sci/bio/dave": {.5, round(60 / 1560.0)}, "/sci/bio/erin": {.5, round(1500 / 1560.0)},
	})
	nodes = forestOf(&Config{Tree: flatTree(), Compensation: 2}, Used{Own: map[string]float64{"alice": 5e4, "bob": 20, "carol": 9000}}, jobsOf("alice", "bob"), 0).nodes()
	wantNodes(t, nodes, func(n TreeNode) bool { return n.Compensated }, map[string]bool{"/": false, "/alice": false, "/bob": true, "/carol": false})
	if n := nodes[3]; n.LongTarget != 0 || n.ShortTarget != 0 || n.Usage != 9000 {
		t.Errorf("%+v: a node without jobs is entitled to nothing, but has used what it has", n)
	}
}
