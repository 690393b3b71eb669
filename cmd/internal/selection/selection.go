// Package selection finds the jobs that a command line names: a cluster
// (12), one job (12.0), all jobs of a user (alice), or all there are.
//
// It knows the queue and how arguments reach a command, and nothing of what is to be done with the jobs.
package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Names are the arguments of a command that name jobs.
type Names struct {
	words    []string
	all      bool
	clusters map[int]string // cluster -> as written
	jobs     map[int][]int  // cluster -> procs, ascending
	written  map[pool.JobID]string
	users    map[string]bool
}

// Span is jobs that stand in one run of equal procs: First to Last of
// Cluster.
type Span struct {
	Cluster, First, Last int
	Run                  spool.Run
}

// All names every job.
func All() Names { return Names{words: []string{"-a"}, all: true} }

// Users names the jobs of users, each an Owner or a User.
func Users(users []string) Names {
	n := Names{words: users, users: map[string]bool{}}
	for _, u := range users {
		n.users[u] = true
	}
	return n
}

// Of returns the jobs that a command's arguments name, or all with -a. It is a
// usage error to name none, or to do both.
func Of(c *cmdline.Call) (Names, error) {
	switch {
	case c.Has("a") && len(c.Args) > 0:
		return Names{}, cmdline.Usagef("-a: takes all jobs, and no arguments")
	case c.Has("a"):
		return All(), nil
	case len(c.Args) == 0:
		return Names{}, cmdline.Usagef("which jobs? name a cluster, a job like 12.0, or a user; or all with -a")
	}
	n, err := Parse(c.Args)
	if err != nil {
		return n, cmdline.Usagef("%v", err)
	}
	return n, nil
}

// Words returns the names as they were written.
func (n Names) Words() []string { return n.words }

// Parse reads arguments. What begins with a digit is a cluster or a job, what
// begins with a letter a user: an Owner, or a User where there is an @ in it.
func Parse(args []string) (Names, error) {
	n := Names{
		words:    args,
		clusters: map[int]string{}, jobs: map[int][]int{},
		written: map[pool.JobID]string{}, users: map[string]bool{},
	}
	for _, a := range args {
		if err := n.add(a); err != nil {
			return Names{}, err
		}
	}
	for _, procs := range n.jobs {
		slices.Sort(procs)
	}
	return n, nil
}

func (n *Names) add(arg string) error {
	first, _ := utf8.DecodeRuneInString(arg)
	switch {
	case unicode.IsLetter(first) || first == '_':
		n.users[arg] = true
		return nil
	case first < '0' || first > '9':
		return fmt.Errorf("%q: neither a cluster, a job like 12.0, nor a user", arg)
	case !strings.Contains(arg, "."):
		c, err := pool.ParseCluster(arg)
		n.clusters[c] = arg
		return err
	}
	id, err := pool.ParseJobID(arg)
	if err == nil && n.written[id] == "" {
		n.written[id] = arg
		n.jobs[id.Cluster] = append(n.jobs[id.Cluster], id.Proc)
	}
	return err
}

// In returns the named jobs of the queue, each once, in ascending order, and
// the arguments that name none.
func (n Names) In(v *spool.View) (spans []Span, missing []string) {
	owners := map[string]bool{}
	found := map[pool.JobID]bool{}
	for _, c := range n.candidates(v) {
		for _, r := range c.Runs {
			if n.whole(c.ID, r, owners) {
				spans = append(spans, Span{c.ID, r.First, r.Last, r})
				for _, p := range n.jobs[c.ID] {
					found[pool.JobID{Cluster: c.ID, Proc: p}] = found[pool.JobID{Cluster: c.ID, Proc: p}] || p >= r.First && p <= r.Last
				}
				continue
			}
			for _, p := range n.jobs[c.ID] {
				if p < r.First || p > r.Last {
					continue
				}
				found[pool.JobID{Cluster: c.ID, Proc: p}] = true
				spans = grow(spans, c.ID, p, r)
			}
		}
	}
	return spans, n.missing(v, owners, found)
}

// Factories returns the factories whose clusters or whose owners are named, in
// order, and which of the missing arguments that accounts for. domain is that of
// the pool's users.
func (n Names) Factories(v *spool.View, domain string, missing []string) (list []spool.Factory, still []string) {
	found := map[string]bool{}
	for _, f := range v.Factories() {
		word, named := n.clusters[f.Cluster]
		for _, user := range [...]string{f.Owner, f.Owner + "@" + domain} {
			if n.users[user] {
				found[user], named = true, true
			}
		}
		if named || n.all {
			found[word] = true
			list = append(list, f)
		}
	}
	return list, slices.DeleteFunc(missing, func(word string) bool { return found[word] })
}

// candidates returns the clusters that may hold named jobs, without a look at
// any other where only ids are named.
func (n Names) candidates(v *spool.View) []*spool.Cluster {
	if n.all {
		return v.Clusters()
	}
	list := slices.Clone(v.Belonging(slices.Collect(maps.Keys(n.users))))
	for id := range n.named() {
		if c, ok := v.Cluster(id); ok {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *spool.Cluster) int { return a.ID - b.ID })
	return slices.CompactFunc(list, func(a, b *spool.Cluster) bool { return a.ID == b.ID })
}

// named returns the clusters of the ids.
func (n Names) named() map[int]bool {
	ids := map[int]bool{}
	for id := range n.clusters {
		ids[id] = true
	}
	for id := range n.jobs {
		ids[id] = true
	}
	return ids
}

// whole tells whether a whole run is named, and notes the users that it
// belongs to.
func (n Names) whole(cluster int, r spool.Run, owners map[string]bool) bool {
	_, named := n.clusters[cluster]
	if len(n.users) > 0 {
		ad := r.Proc(r.First)
		for _, attr := range [2]string{pool.AttrOwner, pool.AttrUser} {
			if user, ok := ad.EvalString(&classad.Context{}, attr); ok && n.users[user] {
				owners[user] = true
				named = true
			}
		}
	}
	return named || n.all
}

// grow adds one proc, to the last span where it is the next.
func grow(spans []Span, cluster, proc int, r spool.Run) []Span {
	if k := len(spans) - 1; k >= 0 && spans[k].Cluster == cluster && spans[k].Run.First == r.First && spans[k].Last == proc-1 {
		spans[k].Last = proc
		return spans
	}
	return append(spans, Span{cluster, proc, proc, r})
}

func (n Names) missing(v *spool.View, owners map[string]bool, found map[pool.JobID]bool) []string {
	var ids []pool.JobID
	for id := range n.clusters {
		if _, ok := v.Cluster(id); !ok {
			ids = append(ids, pool.JobID{Cluster: id, Proc: -1})
		}
	}
	for id := range n.written {
		if !found[id] {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, pool.JobID.Compare)
	var list []string
	for _, id := range ids {
		if id.Proc < 0 {
			list = append(list, n.clusters[id.Cluster])
			continue
		}
		list = append(list, n.written[id])
	}
	var users []string
	for u := range n.users {
		if !owners[u] {
			users = append(users, u)
		}
	}
	slices.Sort(users)
	return append(list, users...)
}
