package negotiate

import (
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/trial"
	"fairspool/lib/classad"
	"fairspool/lib/negotiator"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// world is what the changes of -what-if are tried on.
type world struct {
	*trial.World
	asked    []pool.Procs // that the plan has the analysis of
	compared bool         // the plan tells where all jobs stand
	next     int          // the next cluster
	// Clusters from firstNew on are those that changes added; gone are jobs that they
	// removed.
	firstNew int
	gone     []pool.Procs
}

func newWorld(c *cmdline.Call, v *spool.View, seen operation.Snapshot, domain string) *world {
	w := &world{World: trial.New(c, v, seen, domain), next: 1}
	if list := v.Clusters(); len(list) > 0 {
		w.next = list[len(list)-1].ID + 1
	}
	w.firstNew = w.next
	return w
}

// cycle runs the cycle on the world.
func (w *world) cycle() (*negotiator.Plan, error) { return w.Cycle(w.asked, w.compared) }

// submitter returns whose a job is.
func (w *world) submitter(ad *classad.Ad) string {
	return operation.Submitter(ad, w.Domain, w.Config.Groups)
}
