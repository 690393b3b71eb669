package launch

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// HTCondor's numbers of the universes that are told apart here.
const (
	standardUniverse  = 1
	vanillaUniverse   = 5
	schedulerUniverse = 7
	parallelUniverse  = 11
	localUniverse     = 12
)

// unserved are the universes that need more than a process.
var unserved = map[int64]string{
	4: "PVM", 8: "MPI", 9: "grid", 10: "java", 13: "vm",
}

// suits refuses jobs that a plain process does no justice. Those of the standard,
// scheduler and local universes run as those of the vanilla universe do.
func suits(ad *classad.Ad) error {
	c := &classad.Context{}
	for _, k := range []struct{ attribute, what string }{
		{pool.AttrWantDocker, "docker"}, {pool.AttrWantContainer, "container"},
	} {
		if wants, _ := ad.EvalBool(c, k.attribute); wants {
			return fmt.Errorf("%s: this machine runs no jobs of the %s universe", k.attribute, k.what)
		}
	}
	number, given := ad.EvalInt(c, pool.AttrJobUniverse)
	hosts, _ := ad.EvalInt(c, pool.AttrMinHosts)
	switch {
	case !given:
		return nil
	case number == parallelUniverse && hosts > 1:
		return fmt.Errorf("%s: the job needs %d machines at once, and a job has one slot", pool.AttrMinHosts, hosts)
	}
	switch number {
	case standardUniverse, vanillaUniverse, schedulerUniverse, localUniverse, parallelUniverse:
		return nil
	}
	if name, known := unserved[number]; known {
		return fmt.Errorf("%s: this machine runs no jobs of the %s universe", pool.AttrJobUniverse, name)
	}
	return fmt.Errorf("%s: %d is no universe that this machine runs jobs of", pool.AttrJobUniverse, number)
}
