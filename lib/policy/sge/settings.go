package sge

import (
	"fairspool/lib/config"
	"fairspool/lib/sge"
)

// settings are those of the table [sge] and of the saved output of qconf that it names.
type settings struct {
	sge.Config
	files map[string][]string // qconf_ssconf and the like by name, as they stand there

	ignored         map[string]bool // parameters that say something and have no effect
	unmeasured      []string        // kinds of usage in halflife_decay_list that are not measured
	complexAt, peAt map[string]int  // where the objects are in Complexes and PEs
	treeSaid        []treeEntry     // share_tree
	projectNodes    []projectNode   // of a saved share tree, said to be projects
}

func settingsOf(c *config.Config) *settings { return c.Settings(policyName).(*settings) }

// Settings returns what a configuration says of the policy. They are shared and not to be changed.
func Settings(c *config.Config) *sge.Config { return &settingsOf(c).Config }

// Table is the table [sge].
func (Policy) Table() *config.Table {
	return &config.Table{
		Name: policyName, Keys: Keys, First: config.KeyNames(qconfKeys), Later: later,
		Begin: func() any { return &settings{} },
		Plain: pasted, Depth: depth, Split: split, Named: takeObject, Taken: readQconf,
		Finish: func(c *config.Config) error {
			shipComplexes(c)
			c.DefaultProjects = defaultProjects(Settings(c))
			return growTree(c)
		},
		Warn: func(c *config.Config) {
			warn(c)
			warnOfProjectNodes(c)
		},
	}
}

// later are parameters of sge_conf(5) that have to do with users' records.
var later = config.LaterNames(`enforce_user=none enforce_project=false auto_user_fshare=0 auto_user_oticket=0
	auto_user_default_project=none auto_user_delete_time=0`)
