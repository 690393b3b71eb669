package userprio

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/sge"
)

// treeView is what -tree shows, as its JSON has it.
type treeView struct {
	AsOf               int64   // Unix seconds
	Inert              string  `json:",omitempty"` // why the tree decides nothing
	TicketsShare       float64 `json:"weight_tickets_share"`
	CompensationFactor float64 `json:"compensation_factor"`
	HalfTime           float64 `json:"halftime"` // hours
	Nodes              []sge.TreeNode
}

func treeViewOf(c *cmdline.Call, nodes []sge.TreeNode) treeView {
	return treeView{
		AsOf: c.Now.Unix(), Inert: inert(c.Config),
		TicketsShare: c.Config.SGE.TicketsShare, CompensationFactor: c.Config.SGE.Compensation, HalfTime: c.Config.Decay.HalfTime.Hours(),
		Nodes: append([]sge.TreeNode{}, nodes...),
	}
}
