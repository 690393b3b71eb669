package launch

import (
	"fmt"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// unserved are the universes that need more than a process.
var unserved = map[pool.Universe]string{
	4: "PVM", 8: "MPI", pool.Grid: "grid", pool.Java: "java", pool.VM: "vm",
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
	universe := pool.Universe(number)
	hosts, _ := ad.EvalInt(c, pool.AttrMinHosts)
	switch {
	case !given:
		return nil
	case universe == pool.Parallel && hosts > 1:
		return fmt.Errorf("%s: the job needs %d machines at once, and a job has one slot", pool.AttrMinHosts, hosts)
	}
	switch universe {
	case pool.Standard, pool.Vanilla, pool.Scheduler, pool.Local, pool.Parallel:
		return nil
	}
	if name, known := unserved[universe]; known {
		return fmt.Errorf("%s: this machine runs no jobs of the %s universe", pool.AttrJobUniverse, name)
	}
	return fmt.Errorf("%s: %d is no universe that this machine runs jobs of", pool.AttrJobUniverse, number)
}
