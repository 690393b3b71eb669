package negotiate

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/joblog"
	"fairspool/cmd/internal/operation"
	"fairspool/cmd/internal/steer"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// materialize makes those of the jobs kept back (max_materialize, max_idle) that have
// room in the queue, so that the cycle sees them. Where there are none,
// nothing is written. It returns the clusters of which some wait for others.
func materialize(c *cmdline.Call, s *spool.Spool) (waiting map[int]bool, err error) {
	some := false
	if err := s.View(func(v *spool.View) error {
		list, _ := operation.Wanting(v, c.Config)
		some = len(list) > 0
		return nil
	}); err != nil || !some {
		return nil, err
	}
	var made []operation.Made
	if err := s.Update(func(tx *spool.Tx) error {
		made = operation.Materialize(tx, c.Config, s.Domain(), c.Now, c.Warn)
		var clusters []string
		for _, m := range made {
			clusters = append(clusters, strconv.Itoa(m.ID))
		}
		tx.Op("materialize", clusters...)
		return nil
	}); err != nil {
		return nil, err
	}
	waiting = map[int]bool{}
	for _, m := range made {
		if m.Waits {
			waiting[m.ID] = true
		}
	}
	host, err := c.Hostname()
	if err != nil {
		c.Warn("%v", err)
		return waiting, nil
	}
	var log joblog.Events
	for _, m := range made {
		log.Submitted(m.ID, m.Cluster, host)
	}
	log.Write(c)
	return waiting, nil
}

// notYetMade tells whoever only looks how many jobs a cycle would make first. They are
// no part of what is computed, since nothing is written.
func notYetMade(c *cmdline.Call, v *spool.View) {
	list, room := operation.Wanting(v, c.Config)
	if len(list) == 0 || c.Has("q") {
		return
	}
	all := 0
	var names []string
	for i, f := range list {
		all += room[i]
		names = append(names, pool.Procs{Cluster: f.Cluster, First: f.Next, Last: f.Next + room[i] - 1}.String())
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("%s more", plural.Count(more, "cluster")))
	}
	c.Warn("%d %s still to come would appear first, and %s left out here: %s",
		all, plural.Pick(all, "job that is", "jobs that are"), plural.Pick(all, "is", "are"), strings.Join(names, ", "))
}

// absent is the error about a cluster or a job that is not in the queue, which may
// be one that is still to come.
func absent(v *spool.View, x *explained) error {
	f, ok := v.Factory(x.id.Cluster)
	if !ok || !x.whole && (x.id.Proc < f.Next || x.id.Proc >= f.Jobs) {
		return fmt.Errorf("%s: not in the queue", x.written)
	}
	name := f.Coming().String()
	if why, held := steer.HeldBack(f); held {
		return fmt.Errorf("%s: not in the queue: %s %s held back: %s", x.written, name, plural.Pick(f.Jobs-f.Next, "is", "are"), why)
	}
	if f.Paused != "" {
		return fmt.Errorf("%s: not in the queue, as %s cannot be made: %s", x.written, name, f.Paused)
	}
	return fmt.Errorf("%s: not in the queue yet: %s %s still to come", x.written, name, plural.Pick(f.Jobs-f.Next, "is", "are"))
}
