// Submit puts the jobs of a submit description into the queue.
//
// The description is read and checked as a whole before the spool is touched,
// and its jobs enter the queue in one transaction: all of them or none.
// Submitting reads no job of the queue, however long that is.
package main

import (
	"fmt"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:     "submit",
		Brief:    "put jobs into the queue",
		Synopsis: []string{"[options] FILE", "[options] -"},
		About: `Reads a submit description, from standard input for - or when that is no terminal, and puts its jobs into the queue, all of them or none. The jobs of a description are one cluster; its number is printed.

What the description asks for and this version does not serve is refused by name, with file and line, and nothing is submitted.`,
		Flags: []cmdline.Flag{
			{Name: "owner", Args: []string{"NAME"}, Help: "submit for NAME instead of yourself; for administrators"},
			{Name: "dry-run", Help: "show the job ads and submit nothing"},
			{Name: "json", Help: "print the cluster and the number of jobs as JSON; with -dry-run, the ads"},
		},
		Examples: []cmdline.Example{
			{Does: "submit the jobs of a description", Line: "submit analysis.sub"},
			{Does: "submit five jobs without a file", Line: `printf 'executable = /bin/sleep\narguments = 60\nqueue 5\n' | submit -`},
			{Does: "see what would be submitted", Line: "submit -dry-run analysis.sub"},
		},
		Run: run,
	}
}

// cluster is a description's jobs, ready for the queue or in it.
type cluster struct {
	id int // 0: there were no jobs to submit
	jobad.Cluster
}

func run(c *cmdline.Call) error {
	d, err := read(c)
	if err != nil {
		return err
	}
	if c.Has("dry-run") {
		return dryRun(c, d)
	}
	k, err := put(c, d)
	if err != nil {
		return err
	}
	warnOfPlaces(c, k)
	logSubmitted(c, k)
	if c.Has("json") {
		return c.JSON(struct {
			ClusterID int `json:"ClusterId,omitempty"`
			Jobs      int
		}{k.id, k.Jobs()})
	}
	if k.id > 0 {
		fmt.Fprintf(c.Stdout, "%d job(s) submitted to cluster %d.\n", k.Jobs(), k.id)
	}
	return nil
}

// put makes the description's jobs a cluster of the queue.
func put(c *cmdline.Call, d *jobad.Jobs) (cluster, error) {
	s, err := c.Spool()
	if err != nil {
		return cluster{}, err
	}
	if c.Has("owner") {
		if err := mayActForOthers(c, s); err != nil {
			return cluster{}, err
		}
	}
	d.SetDomain(s.Domain())
	var k cluster
	err = s.Update(func(tx *spool.Tx) error {
		tx.Op("submit", operation(c)...)
		var err error
		if k.Cluster, err = d.Expand(tx.NextCluster()); err != nil || len(k.Runs) == 0 {
			return err
		}
		runs := make([]spool.NewRun, len(k.Runs))
		for i, r := range k.Runs {
			runs[i] = spool.NewRun{Count: r.Count, Ad: r.Ad()}
		}
		k.id = tx.AddCluster(k.Ad, runs)
		return nil
	})
	return k, err
}

// operation is what the journal tells of the command line.
func operation(c *cmdline.Call) []string {
	if c.Has("owner") {
		return append([]string{"-owner", c.Value("owner")}, c.Args...)
	}
	return c.Args
}

// dryRun shows the ads that submit would put into the queue of a new spool.
func dryRun(c *cmdline.Call, d *jobad.Jobs) error {
	k := cluster{id: 1}
	var err error
	if k.Cluster, err = d.Expand(k.id); err != nil {
		return err
	}
	warnOfPlaces(c, k)
	ads := []*classad.Ad{}
	for id, ad := range k.each() {
		job := ad.Flat()
		job.SetInt("ClusterId", int64(id.Cluster))
		job.SetInt("ProcId", int64(id.Proc))
		ads = append(ads, job)
	}
	if c.Has("json") {
		return c.JSON(ads)
	}
	return adprint.Long(c.Stdout, ads)
}
