// Package complete knows the words with which a shell completes a command line: ids of jobs, names of users, slots and
// attributes that the pool has just now.
package complete

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// mostRead is how many clusters, or slots, are looked at for the attributes that they have, and mostProcs how many jobs of a
// cluster are offered.
const mostRead, mostProcs = 100, 100

// Names returns the words that may stand for an argument, as Command.Names does. A spool that cannot be read has none.
func Names(c *cmdline.Call, noun, current string) (list []cmdline.Completion) {
	read := names[noun]
	if read == nil {
		return nil
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return nil
	}
	if s.View(func(v *spool.View) error { list = read(c, v.Listed(), current); return nil }) != nil {
		return nil
	}
	return list
}

// names are the readers by what flags and commands call their arguments.
var names = map[string]func(c *cmdline.Call, v *spool.View, current string) []cmdline.Completion{
	"JOB": jobs, "ID": jobs, "USER": users, "OTHER": users, "SLOT": slots, "ATTR": attributes,
}

// jobs returns the clusters of the queue, the latest first, or after a dot the jobs of the cluster before it.
func jobs(_ *cmdline.Call, v *spool.View, current string) (list []cmdline.Completion) {
	var none classad.Context
	if number, _, dot := strings.Cut(current, "."); dot {
		id, err := pool.ParseCluster(number)
		cluster, ok := v.Cluster(id)
		if err != nil || !ok {
			return nil
		}
		for _, r := range cluster.Runs {
			for p := r.First; p <= r.Last && len(list) < mostProcs; p++ {
				status, _ := r.Ad.EvalInt(&none, pool.AttrJobStatus)
				list = append(list, cmdline.Completion{Word: pool.JobID{Cluster: id, Proc: p}.String(), Meaning: pool.Status(status).String()})
			}
		}
		return list
	}
	for _, c := range slices.Backward(v.Only([]string{pool.AttrOwner, "JobBatchName", pool.AttrCmd}).Clusters()) {
		number, n := fmt.Sprint(c.ID), 0
		if !strings.HasPrefix(number, current) || len(c.Runs) == 0 {
			continue
		}
		for _, r := range c.Runs {
			n += r.Count()
		}
		owner, _ := c.Runs[0].Ad.EvalString(&none, pool.AttrOwner)
		name, ok := c.Runs[0].Ad.EvalString(&none, "JobBatchName")
		if !ok {
			name, _ = c.Runs[0].Ad.EvalString(&none, pool.AttrCmd)
		}
		list = append(list, cmdline.Completion{Word: number, Meaning: strings.Join([]string{owner, plural.Count(n, "job"), name}, ", ")})
	}
	return list
}

// users returns the owners of jobs and the submitters.
func users(c *cmdline.Call, v *spool.View, _ string) (list []cmdline.Completion) {
	if c.Name != "userprio" {
		for _, owner := range v.Owners() {
			list = append(list, cmdline.Completion{Word: owner, Meaning: "has jobs in the queue"})
		}
	}
	for _, r := range v.Submitters() {
		if !r.IsGroup() {
			factor, _ := r.FactorIn(c.Now, c.Config.Params)
			list = append(list, cmdline.Completion{Word: r.Name, Meaning: fmt.Sprintf("EUP %.2f", r.AsOf(c.Now, c.Config.Params).Priority*factor)})
		}
	}
	return list
}

// slots returns the slots of the pool, and those that jobs have.
func slots(_ *cmdline.Call, v *spool.View, _ string) (list []cmdline.Completion) {
	for _, name := range v.SlotNames() {
		list = append(list, cmdline.Completion{Word: name})
	}
	for _, k := range v.Claims() {
		list = append(list, cmdline.Completion{Word: k.Slot, Meaning: "job " + k.Job.String()})
	}
	slices.SortStableFunc(list, func(a, b cmdline.Completion) int { return pool.CompareNames(a.Word, b.Word) })
	return slices.CompactFunc(list, func(a, b cmdline.Completion) bool { return a.Word == b.Word })
}

// attributes returns the attributes of the ads that the command is about.
func attributes(c *cmdline.Call, v *spool.View, _ string) (list []cmdline.Completion) {
	var all []string
	switch c.Name {
	case "userprio":
		p := c.Config.Params
		rows := accounts.ViewOf([]accountant.Record{{Name: "a@b"}}, c.Now, p, nil).Rows
		all = accounts.AdOf(&rows[len(rows)-1], c.Now).Names()
	case "slots":
		some := v.SlotNames()
		for _, s := range v.SlotsNamed(some[:min(len(some), mostRead)]) {
			all = append(all, s.Ad.Names()...)
		}
	default:
		clusters := v.Clusters()
		for _, c := range clusters[max(0, len(clusters)-mostRead):] {
			for _, r := range c.Runs[:min(len(c.Runs), 1)] {
				all = append(all, r.Ad.Names()...)
			}
		}
	}
	slices.SortFunc(all, pool.CompareNames)
	for _, name := range slices.Compact(all) {
		list = append(list, cmdline.Completion{Word: name})
	}
	return list
}
