// Package report is the command that writes what people and monitoring look at: a page, and metrics.
//
// gather.go collects once what both show, from the packages that qstat, userprio and negotiate -health show it with; page.go
// makes sections of it, which page.html writes; metrics.go writes it for Prometheus.
package report

import (
	"errors"
	"fmt"
	"io"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/complete"
)

// Command returns the command.
func Command() cmdline.Command {
	return cmdline.Command{
		Name:     "report",
		Served:   true,
		Brief:    "write a page, or metrics, of the pool",
		Synopsis: []string{"-html FILE [-u USER] [-json] [options]", "-prometheus FILE [-json] [options]"},
		About: `Writes a page for people, or metrics for monitoring. Run it from cron. FILE is replaced as a whole, so that a reader never finds a part of it; - is standard output.

-html writes one page of HTML that needs no other files: the queue, entitlements, why jobs wait and what would help, priorities and usage over a day, a week and a month, machines, the last cycles, health. Its size does not grow with the queue.

-prometheus writes metrics in the form of Prometheus for the textfile collector of node_exporter, which wants a FILE that ends in .prom. METRICS_SUBMITTERS submitters have metrics of their own, the others together.`,
		Flags: []cmdline.Flag{
			{Name: "html", Args: []string{"FILE"}, Help: "write the page"},
			{Name: "prometheus", Args: []string{"FILE"}, Help: "write the metrics"},
			{Name: "json", Help: "print what was written as JSON"},
			{Name: "u", Args: []string{"USER"}, Help: "with -html: write the page of one user or submitter, with the jobs"},
		},
		Examples: []cmdline.Example{
			{Does: "a line of a crontab: a new page every five minutes", Line: "*/5 * * * * report -html /var/www/html/pool.html"},
			{Does: "the page of one user", Line: "report -html pool.html -u alice"},
			{Does: "metrics for node_exporter", Line: "report -prometheus /var/lib/prometheus/node-exporter/fairspool.prom"},
			{Does: "how many jobs wait", Line: "report -prometheus - | grep 'state=\"waiting\"'"},
		},
		Names:   complete.Names,
		Outputs: func() []cmdline.Output { return []cmdline.Output{{Name: "report", Value: wrote{}}} },
		Run:     run,
	}
}

func run(c *cmdline.Call) error {
	form, err := c.One("html", "prometheus")
	switch {
	case err != nil:
		return err
	case len(c.Args) > 0:
		return cmdline.Usagef("%s: want no arguments", c.Args[0])
	case form == "":
		return cmdline.Usagef("want -html FILE or -prometheus FILE")
	case form == "prometheus" && c.Has("u"):
		return cmdline.Usagef("-u: only with -html")
	case c.Has("json") && c.Value(form) == "-":
		return cmdline.Usagef("-json: the %s goes to standard output: name a file with -%s", map[string]string{"html": "page", "prometheus": "text"}[form], form)
	case c.Has("u") && c.Value("u") == "":
		return cmdline.Usagef("-u: want the name of a user or submitter")
	}
	user := c.Value("u")
	if c.OwnJobsOnly() {
		if err := own(c, &user); err != nil {
			return err
		}
	}
	o, damaged := gather(c, user)
	if damaged != nil && len(o.found) == 0 {
		return damaged
	}
	var text []byte
	if form == "html" {
		text, err = o.page()
	} else {
		text = o.metrics()
	}
	if err != nil {
		return err
	}
	file := c.Value(form)
	if file == "-" {
		_, err = c.Data().Write(text)
	} else if n, e := c.Replace(file, 0o666, func(w io.Writer) error { _, err := w.Write(text); return err }); e != nil {
		err = fmt.Errorf("%s: %w", file, cmdline.Cause(e))
	} else if c.Has("json") {
		err = c.JSON(wrote{cmdline.Wrote{File: file, Bytes: n}, form, c.Now.Unix()})
	}
	return errors.Join(err, damaged)
}

// wrote is what -json prints.
type wrote struct {
	cmdline.Wrote
	Form string // html or prometheus
	Time int64  // of the pool, in Unix seconds
}

// own makes the page the caller's own if the caller may see no other.
func own(c *cmdline.Call, user *string) error {
	who, err := c.Caller()
	switch {
	case err != nil:
		return err
	case c.Has("prometheus"):
		return fmt.Errorf("you are %s: QUEUE_VISIBLE lets only administrators see what all users have", who.Name)
	case *user == "":
		*user = who.Name
	case *user != who.Name:
		return fmt.Errorf("you are %s: QUEUE_VISIBLE lets you see your own page only: -u %s", who.Name, who.Name)
	}
	return nil
}
