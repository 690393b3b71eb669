package sge

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"fairspool/lib/config"
	"fairspool/lib/sge"
)

// warn tells what of the table [sge] has no effect: under another policy that all of it
// but what usage decays by has none, and else which of it has none for want of others.
// They help to find the cause of an unexpected order; none is an error.
func warn(c *config.Config) {
	said := 0
	tell := func(key, format string, with ...any) {
		if said++; said > mostInert {
			return
		}
		c.Warnings = append(c.Warnings, c.Complain(policyName+"."+key, fmt.Errorf(format, with...)).Error())
	}
	for _, name := range settingsOf(c).unmeasured {
		tell("halflife_decay_list", "%s: has no effect: cpu, mem and io are what is measured", config.Shortened(config.OneLine(name)))
	}
	if c.JobPriorityPolicy != policyName {
		warnOfOtherPolicy(c)
		return
	}
	for _, g := range ignored {
		if settingsOf(c).ignored[g.key.Name] {
			tell(g.key.Name, "has no effect: %s", g.why)
		}
	}
	tellInert(Settings(c), tell)
	if d := c.Decay; hasNodes(Settings(c)) && Settings(c).TicketsShare > 0 && d.CPU.Weight+d.Memory.Weight+d.IO.Weight == 0 {
		tell("usage_weight_list", "all weights are 0: no usage counts in the share tree")
	}
	if said > mostInert {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %d more warnings", policyName, said-mostInert))
	}
}

// mostInert bounds the warnings: a missing table makes a warning of each name in another
// one. The line of each takes a millisecond to find in a file of half a megabyte, and
// every command reads it.
const mostInert = 100

// underAnyPolicy are the keys of [sge] that count whatever the policy: what usage decays by,
// and how running jobs are reniced.
const underAnyPolicy = compatibilityKey + " halftime usage_weight_list halflife_decay_list reprioritize_interval execd_params"

// warnOfOtherPolicy tells of the first setting of [sge] that counts under its policy only, if
// they make a difference there.
func warnOfOtherPolicy(c *config.Config) {
	said := c.Said(policyName)
	i := slices.IndexFunc(said, func(s config.Setting) bool {
		return !slices.Contains(strings.Fields(underAnyPolicy), s.Name) && !isQconf(s)
	})
	if i < 0 {
		return
	}
	initial := config.NewSchema([]string{policyName}, Policy{}.Table()).Default()
	if !reflect.DeepEqual(Settings(c), Settings(&initial)) {
		why := fmt.Sprintf("has no effect while JOB_PRIORITY_POLICY is %q", c.JobPriorityPolicy)
		c.Warnings = append(c.Warnings, said[i].Fault(errors.New(why)).Error())
	}
}

// teller reports a problem of a key of [sge].
type teller func(key, format string, with ...any)

// tellInert reports settings that have no effect for want of others, and those that surely
// mean something else.
func tellInert(s *sge.Config, tell teller) {
	inertSums(s, tell)
	inertUrgency(s, tell)
	inertFunctional(s, tell)
	inertShareTree(s, tell)
	inertComplexes(s, tell)
	inertNames(s, tell)
	inertNodes(s, tell)
}

// prioritySteps are the steps of the POSIX priority from the least to the greatest.
const prioritySteps = 2048

// inertSums finds weights that switch everything off, or tickets that are given.
func inertSums(s *sge.Config, tell teller) {
	if s.WeightPriority == 0 && s.WeightUrgency == 0 && s.WeightTicket == 0 {
		tell("weight_priority", "is 0, as are weight_urgency and weight_ticket: jobs go by the time of submission alone")
		return
	}
	gives := s.TicketsFunctional > 0 || s.TicketsShare > 0 && hasNodes(s)
	for _, all := range []map[string]sge.Object{s.Users, s.Projects, s.Departments} {
		gives = gives || anyObject(all, func(o sge.Object) bool { return o.OTicket > 0 })
	}
	if gives && s.WeightTicket == 0 {
		tell("weight_ticket", "is 0, so that tickets have no effect on the order of waiting jobs")
	}
	if step := math.Abs(s.WeightPriority) / prioritySteps; gives && s.WeightTicket != 0 && math.Abs(s.WeightTicket) < step {
		tell("weight_ticket", "all tickets count less than one step of priority, %.2g: they have an effect among jobs of the same priority only", step)
	}
}

// inertUrgency finds urgencies without the weight of all of them.
func inertUrgency(s *sge.Config, tell teller) {
	if s.WeightUrgency != 0 {
		return
	}
	if s.WeightWaitingTime != 0 {
		tell("weight_waiting_time", "has no effect while weight_urgency is 0")
	}
	for _, x := range s.Complexes {
		if x.Urgency != 0 && x != shippedSlots {
			tell("weight_urgency", "is 0, so that the urgency of complexes has no effect")
			return
		}
	}
}

func anyObject(all map[string]sge.Object, is func(sge.Object) bool) bool {
	for _, o := range all {
		if is(o) {
			return true
		}
	}
	return false
}

// inertFunctional finds functional shares without tickets or a weight, and tickets without
// shares.
func inertFunctional(s *sge.Config, tell teller) {
	any := false
	for _, k := range []struct {
		kind   kind
		weight string
		is     float64
		all    map[string]sge.Object
	}{
		{userKind, "weight_user", s.WeightUser, s.Users}, {projectKind, "weight_project", s.WeightProject, s.Projects},
		{departmentKind, "weight_department", s.WeightDepartment, s.Departments},
	} {
		has := anyObject(k.all, func(o sge.Object) bool { return o.FShare > 0 })
		any = any || has
		if has && k.is == 0 && s.TicketsFunctional > 0 {
			tell(k.weight, "is 0, so that fshare of %s has no effect", k.kind)
		}
	}
	switch {
	case any && s.TicketsFunctional > 0 && s.MaxFunctional == 0:
		tell("max_functional_jobs_to_schedule", "is 0, so that no waiting job gets functional tickets")
	case any && s.TicketsFunctional == 0:
		tell("weight_tickets_functional", "is 0, so that fshare has no effect")
	case any || s.TicketsFunctional == 0:
	case s.WeightJob == 0:
		tell("weight_tickets_functional", "has no effect: no user, project or department has an fshare, and weight_job is 0")
	default:
		tell("weight_tickets_functional", "only jobs with a JobShare get such tickets: no user, project or department has an fshare")
	}
}

// hasNodes reports whether there is a share tree with a node below its root.
func hasNodes(s *sge.Config) bool { return s.Tree != nil && len(s.Tree.Children) > 0 }

// inertShareTree finds a share tree without tickets, and tickets without a tree.
func inertShareTree(s *sge.Config, tell teller) {
	switch {
	case hasNodes(s) && s.TicketsShare == 0:
		tell("weight_tickets_share", "is 0, so that the share tree has no effect")
	case !hasNodes(s) && s.TicketsShare > 0:
		tell("weight_tickets_share", "has no effect: there is no share tree")
	}
}

// inertNames finds names of objects that there are not, and users of two departments.
func inertNames(s *sge.Config, tell teller) {
	for _, name := range slices.Sorted(maps.Keys(s.Users)) {
		p := s.Users[name].DefaultProject
		if _, ok := s.Projects[p]; p != "" && !ok {
			tell("users."+name+".default_project", "there is no project %s", config.Shortened(p))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Projects)) {
		tellOfUsersets(s, tell, "projects."+name+".acl", s.Projects[name].ACL)
		tellOfUsersets(s, tell, "projects."+name+".xacl", s.Projects[name].XACL)
	}
	of := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Departments)) {
		for _, entry := range s.Departments[name].Entries {
			if other, ok := of[entry]; ok && other != name {
				tell("departments."+name+".entries", "%s is in department %s, too", config.Shortened(entry), config.Shortened(other))
				continue
			}
			of[entry] = name
		}
	}
}

// tellOfUsersets tells of usersets in a list that there are not.
func tellOfUsersets(s *sge.Config, tell teller, key string, sets []string) {
	for _, set := range sets {
		_, list := s.Usersets[set]
		_, department := s.Departments[set]
		switch {
		case list:
		case department:
			tell(key, "%s is a department, not a userset: it lists no users", config.Shortened(set))
		default:
			tell(key, "there is no userset %s", config.Shortened(set))
		}
	}
}

// inertComplexes finds complexes that no request reaches, for one before them has their name
// or their shortcut. Case does not count in requests.
func inertComplexes(s *sge.Config, tell teller) {
	owner := map[string]string{}
	for _, x := range s.Complexes {
		for i, name := range []string{x.Name, x.Shortcut} {
			folded := strings.ToLower(name)
			other, ok := owner[folded]
			switch {
			case name == "":
			case !ok:
				owner[folded] = x.Name
			case other != x.Name && i == 0:
				tell("complexes."+x.Name, "requests by this name are for %s, which stands before it", config.Shortened(other))
			case other != x.Name:
				tell("complexes."+x.Name+".shortcut", "requests by %s are for %s, which stands before it", config.Shortened(name), config.Shortened(other))
			}
		}
	}
}

// inertNodes finds nodes of the share tree that are surely meant otherwise.
func inertNodes(s *sge.Config, tell teller) {
	if !hasNodes(s) {
		return
	}
	if s.Tree.Name == sge.DefaultNode {
		tell(shareTree, "the root is called %s, and is no default node: that is one below it", sge.DefaultNode)
	}
	if top := s.Tree.Children; len(top) == 1 && strings.EqualFold(top[0].Name, treeRoot) && len(top[0].Children) > 0 {
		tell(shareTree+"./"+top[0].Name, "is a node of its own: paths begin below the root, whose name is not in them")
	}
	inertTwice(s, tell)
	visitNodes(s, func(path func() string, _ string, n *sge.Node) {
		_, named := s.Projects[n.Name]
		_, user := s.Users[n.Name]
		switch {
		case n.Name == sge.DefaultNode && len(n.Children) > 0:
			tell(path(), "has nodes below it: users without a node get one beside it, each with its shares")
		case named && user:
			tell(path(), "is the project's: there is also a user %s, who has no node by it", config.Shortened(n.Name))
		case n.Name != sge.DefaultNode && strings.EqualFold(n.Name, sge.DefaultNode) && !named && !user && len(n.Children) == 0:
			tell(path(), "is the node of a user of that name: the one for users without a node is called %s", sge.DefaultNode)
		}
	})
}

// inertTwice finds leaves of the share tree that no job comes to: a search from the root, depth
// first, finds another one before them.
func inertTwice(s *sge.Config, tell teller) {
	type place struct{ project, name string } // below which project's node
	seen := map[place]bool{}
	visitNodes(s, func(path func() string, project string, n *sge.Node) {
		at := place{project, n.Name}
		_, named := s.Projects[n.Name]
		switch {
		case named && project != "":
			tell(path(), "has no jobs of project %s: it is below the node of project %s", config.Shortened(n.Name), config.Shortened(project))
		case !seen[at]:
			seen[at] = true
		case n.Name == sge.DefaultNode:
			tell(path(), "has no effect: users without a node get one beside the %s that stands before it", sge.DefaultNode)
		case named || len(n.Children) == 0:
			tell(path(), "has no jobs: those of %s belong to the node of that name that stands before it", config.Shortened(n.Name))
		}
	})
}

// mostLevels is how many names of a path are shown.
const mostLevels = 50

// visitNodes calls visit for all nodes below the root, from the top down, each with a function
// for its key in [sge] and the project that it is below, or none. Trees of files may have any
// depth.
func visitNodes(s *sge.Config, visit func(key func() string, project string, n *sge.Node)) {
	type step struct {
		node    *sge.Node
		level   int
		project string
	}
	var names []string // on the path to the node
	rest := []step{{node: s.Tree}}
	for len(rest) > 0 {
		at := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if at.level > 0 {
			names = append(names[:at.level-1], at.node.Name)
			visit(func() string { return shareTree + "." + nodePath(names) }, at.project, at.node)
			if _, known := s.Projects[at.node.Name]; known && at.project == "" {
				at.project = at.node.Name
			}
		}
		for i := len(at.node.Children) - 1; i >= 0; i-- {
			rest = append(rest, step{at.node.Children[i], at.level + 1, at.project})
		}
	}
}

// nodePath returns the path of these names. It leaves out the first ones if there are many.
func nodePath(names []string) string {
	if n := len(names); n > mostLevels {
		return "/.../" + strings.Join(names[n-mostLevels:], "/")
	}
	return "/" + strings.Join(names, "/")
}
