package userprio

import (
	"cmp"
	"errors"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/sge"
	"fairspool/spool"
)

// showTree shows Grid Engine's share tree with the usage and the jobs of now, whichever policy
// is in force.
func showTree(c *cmdline.Call) error {
	if c.Config.SGE.Tree == nil {
		return errors.New(`-tree: there is no share tree; set its nodes in [sge.share_tree] as "/PATH" = SHARES, or qconf_sstree in [sge]`)
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	barring, err := operation.BarringOf(c.Config)
	if err != nil {
		return err
	}
	var nodes []sge.TreeNode
	if err := s.View(func(v *spool.View) error { nodes = treeOf(c, v, s.Domain(), barring); return nil }); err != nil {
		return err
	}
	nodes, failed := onlyNamed(c, nodes, "no node of the share tree has this name", namesOn)
	view := treeViewOf(c, nodes)
	if c.Has("json") {
		err = c.JSON(view)
	} else {
		err = view.print(c)
	}
	return cmp.Or(err, failed)
}

// namesOn returns the names on the path of a node: naming one of them names all below it.
func namesOn(n sge.TreeNode) []string {
	if n.Level == 0 {
		return []string{n.Name}
	}
	return strings.Split(n.Path[1:], "/")
}

// treeOf returns the nodes of the share tree as the jobs of a view have it. Usage is looked up
// though the tree may give no tickets.
func treeOf(c *cmdline.Call, v *spool.View, domain string, barring operation.Barring) []sge.TreeNode {
	from := operation.SourcesOf(v, c.Reading())
	w := operation.SGEWorld(c.Config, from)
	w.Used = sge.UsedOf(from.Tallies(), c.Config.Decay, from.Now)
	q := sge.NewQueue(&c.Config.SGE, w)
	seen := operation.TakeSnapshot(v, domain, c.Config.Groups, operation.Beside{Running: true})
	return q.Listing(waitingOf(&classad.Context{Now: c.Now}, seen.Pool, q.Attributes(), barring)).Ranking().Tree()
}

// inert says why the share tree decides nothing; it is empty if the tree does.
func inert(c *config.Config) string {
	switch {
	case c.JobPriorityPolicy != "sge":
		return `JOB_PRIORITY_POLICY is "` + c.JobPriorityPolicy + `" and not "sge"`
	case c.SGE.TicketsShare == 0:
		return "weight_tickets_share is 0"
	case c.SGE.WeightTicket == 0 && c.RunTime.Interval == 0:
		return "weight_ticket is 0, and so is reprioritize_interval"
	}
	return ""
}
