// Command qstat shows the queue.
package main

import (
	"iter"
	"slices"
	"strings"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:     "qstat",
		Brief:    "show the queue",
		Synopsis: []string{"[options] [CLUSTER | CLUSTER.PROC | USER ...]", "-j ID[,ID...] [-json]"},
		About: `Shows the jobs in the queue in the layout of Grid Engine: first those with a slot, by slot, then the waiting ones in the order in which they would be served, the held ones last. All users' jobs are shown, not only the caller's as in Grid Engine.

job-ID is the cluster, ja-task-ID the procs; waiting procs that look alike share a line. prior is JobPrio: higher goes first, among the jobs of one submitter. The states are r running, s suspended, t matched and about to start, qw waiting, hqw held, dr removed but still ending. The time is that of the start where there is one, else of the submission.

For a cluster that keeps jobs back (max_materialize, max_idle) a line at the end says which are still to come.`,
		Flags: append([]cmdline.Flag{
			{Name: "u", Args: []string{"USER[,USER...]"}, Help: "show jobs of these users only; * is everybody"},
			{Name: "j", Args: []string{"ID[,ID...]"}, Help: "show all that matters about a cluster or a job like 12.0, and why it waits"},
		}, append(adprint.Flags, refused()...)...),
		Examples: []cmdline.Example{
			{Does: "the whole queue", Line: "qstat"},
			{Does: "one user's jobs", Line: "qstat -u alice"},
			{Does: "why a job waits", Line: "qstat -j 12.0"},
			{Does: "ids and priorities for a script", Line: "qstat -af ClusterId ProcId JobPrio"},
		},
		Run: run,
	}
}

// refused are Grid Engine's options that this version does not serve.
func refused() []cmdline.Flag {
	var list []cmdline.Flag
	for _, name := range []string{"ext", "explain", "f", "F", "g", "l", "ne", "ncb", "pe", "q", "qs", "r", "s", "t", "U", "urg", "pri", "xml"} {
		list = append(list, cmdline.Flag{Name: name, Refused: true})
	}
	return list
}

func run(c *cmdline.Call) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	names, err := named(c, form)
	if err != nil {
		return err
	}
	s, err := c.Spool()
	if err != nil {
		return err
	}
	return s.View(func(v *spool.View) error {
		var err error
		spans, missing := names.In(v)
		kept, missing := names.Factories(v, s.Domain(), missing)
		if len(c.Args) == 0 && form != "j" {
			missing = nil // users without jobs
		}
		ids, users := apart(missing)
		if len(ids) > 0 {
			// Grid Engine's words, on one line.
			c.Warn("following jobs do not exist: %s", strings.Join(ids, ", "))
			err = cmdline.ErrReported
		}
		if form == "j" && len(users) > 0 {
			c.Warn("%s: no such job or user", strings.Join(users, ", "))
			err = cmdline.ErrReported
		}
		if len(c.Args) > 0 {
			spans = ofUsers(spans, c.Value("u"))
			kept = keptBy(kept, c.Value("u"), s.Domain())
		}
		if e := show(c, form, queue{c, s, v}, spans); e != nil {
			return e
		}
		if form == "" || form == "j" && !c.Has("json") {
			if e := tellKept(c.Stdout, kept); e != nil {
				return e
			}
		}
		return err
	})
}

// formOf returns the option that says what is printed; -j may have -json with it.
func formOf(c *cmdline.Call) (string, error) {
	if c.Has("j") && c.Has("json") {
		return c.One("j", "long", "af")
	}
	return c.One("j", "long", "json", "af")
}

// named returns the jobs that are asked for: those of -j, of the arguments,
// or all.
func named(c *cmdline.Call, form string) (selection.Names, error) {
	words := c.Args
	if form == "j" {
		if len(c.Args) > 0 || c.Has("u") {
			return selection.Names{}, cmdline.Usagef("-j: takes jobs, and neither arguments nor -u")
		}
		words = strings.Split(c.Value("j"), ",")
	}
	if users := strings.Split(c.Value("u"), ","); len(words) == 0 && c.Value("u") != "" && !slices.Contains(users, everybody) {
		return selection.Users(users), nil
	}
	if len(words) == 0 {
		return selection.All(), nil
	}
	names, err := selection.Parse(words)
	if err != nil {
		return names, cmdline.Usagef("%v", err)
	}
	return names, nil
}

// apart divides the names for which there are no jobs into ids and users. A
// user without jobs is nothing wrong, save where details were asked for.
func apart(missing []string) (ids, users []string) {
	for _, m := range missing {
		if m[0] >= '0' && m[0] <= '9' {
			ids = append(ids, m)
		} else {
			users = append(users, m)
		}
	}
	return ids, users
}

// everybody stands for all users.
const everybody = "*"

// ofUsers keeps the jobs of a list of users.
func ofUsers(spans []selection.Span, users string) []selection.Span {
	wanted := map[string]bool{}
	for _, u := range strings.Split(users, ",") {
		wanted[u] = true
	}
	if users == "" || wanted[everybody] {
		return spans
	}
	var kept []selection.Span
	for _, s := range spans {
		ad := s.Run.Proc(s.First)
		owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
		user, _ := ad.EvalString(&classad.Context{}, pool.AttrUser)
		if wanted[owner] || user != "" && wanted[user] {
			kept = append(kept, s)
		}
	}
	return kept
}

func show(c *cmdline.Call, form string, q queue, spans []selection.Span) error {
	switch form {
	case "j":
		if c.Has("json") {
			return c.JSON(q.waiting(spans))
		}
		return q.details(c.Stdout, spans)
	case "long", "json", "af":
		return adprint.Print(c, form, ads(spans))
	}
	rows, err := q.rows(spans)
	if err != nil {
		return err
	}
	return table(c.Stdout, rows)
}

// ads goes through the ads of all jobs, by ascending id. The ad of a run is one
// of its procs after the other.
func ads(spans []selection.Span) iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		for _, s := range spans {
			ad := s.Run.Proc(s.First)
			for p := s.First; p <= s.Last; p++ {
				ad.SetInt(pool.AttrProcID, int64(p))
				if !yield(ad) {
					return
				}
			}
		}
	}
}
