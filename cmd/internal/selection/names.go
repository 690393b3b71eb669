// Package selection finds the jobs that a command line names, and those that its caller may
// change.
//
// Jobs are named by cluster (12, or 12-15), by cluster and proc (12.0, 12.0-9, or 12.0-9:2
// for every second one), by user (alice), or all at once (-a); a constraint selects those
// with ads for which it is true. Procs are some of the equal procs of a run: a command
// handles all of them at the cost of one job.
//
// Names is the meaning of arguments, In the jobs that have them. The commands that change
// jobs read a Request: names, constraint and caller. They act on the Chosen jobs; names
// without such jobs are Refused, each once.
//
// The package knows the queue and how arguments reach a command, but not the actions on the
// jobs.
package selection

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Names are the arguments of a command that name jobs.
type Names struct {
	words    []string
	all      bool
	clusters map[int]string // as written
	ranges   []clusters
	procs    map[int]*rows // by cluster
	users    map[string]bool
}

// clusters are several whole ones: first to last.
type clusters struct {
	first, last int
	word        string // as written
}

func (c clusters) has(id int) bool { return c.first <= id && id <= c.last }

// allWord stands for all jobs among the words.
const allWord = "-a"

// All names every job.
func All() Names { return Names{words: []string{allWord}, all: true} }

// Users names the jobs of users, each an Owner or a User.
func Users(users []string) Names {
	n := Names{words: users, users: map[string]bool{}}
	for _, u := range users {
		n.users[u] = true
	}
	return n
}

// Words returns the names as they were written.
func (n Names) Words() []string { return n.words }

// Parse reads arguments. What begins with a digit names jobs: a cluster (12),
// clusters (12-15), a job (12.0), procs of a cluster (12.0-9), or each second of
// them (12.0-9:2), as qstat shows procs in a row. What begins with a letter is a
// user: an Owner, or a User where there is an @ in it.
func Parse(args []string) (Names, error) {
	n := Names{words: args, clusters: map[int]string{}, procs: map[int]*rows{}, users: map[string]bool{}}
	for _, a := range args {
		if err := n.add(a); err != nil {
			return Names{}, err
		}
	}
	for _, r := range n.procs {
		r.arrange()
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
	}
	if m := otherIDs().FindStringSubmatch(arg); m != nil {
		return fmt.Errorf("%q: no job; did you mean %s.%s?", arg, m[1], m[2])
	}
	if strings.Contains(arg, ",") {
		return fmt.Errorf("%q: separate jobs by blanks: %s", arg, strings.ReplaceAll(arg, ",", " "))
	}
	cluster, rest, dotted := strings.Cut(arg, ".")
	if !dotted {
		return n.addClusters(arg)
	}
	from, to, ranged := strings.Cut(rest, "-")
	id, err := pool.ParseJobID(cluster + "." + from)
	p := row{pool.Only(id), 1, arg}
	switch {
	case !ranged && err != nil && strings.Contains(rest, ":"):
		return fmt.Errorf("%q: want a first and a last proc before the colon, like 12.0-9:2", arg)
	case !ranged && err != nil:
		return err // which names the argument
	case err == nil && ranged:
		p, err = parseRow(p, to)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", arg, withoutName(err))
	}
	if n.procs[id.Cluster] == nil {
		n.procs[id.Cluster] = &rows{}
	}
	n.procs[id.Cluster].add(p)
	return nil
}

// otherIDs are jobs of a cluster as they are written elsewhere: 12_0, 12[0], or by mistake.
var otherIDs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,9})[,_:\[]([0-9]{1,9})\]?$`)
})

// addClusters reads 12 or 12-15.
func (n *Names) addClusters(arg string) error {
	from, to, ranged := strings.Cut(arg, "-")
	if !ranged {
		id, err := pool.ParseCluster(arg)
		if err == nil && n.clusters[id] == "" {
			n.clusters[id] = arg
		}
		return err
	}
	first, err := pool.ParseCluster(from)
	last, err2 := pool.ParseCluster(to)
	if err = cmp.Or(err, err2); err != nil {
		return fmt.Errorf("%q: %w", arg, withoutName(err))
	}
	if last < first {
		return fmt.Errorf("%q: the last cluster comes before the first", arg)
	}
	n.ranges = append(n.ranges, clusters{first, last, arg})
	return nil
}

// parseRow reads what follows the first proc and a dash: 9 or 9:2.
func parseRow(p row, text string) (row, error) {
	to, by, stepped := strings.Cut(text, ":")
	last, err := pool.ParseJobID("1." + to)
	if err != nil {
		return p, err
	}
	if p.Last = last.Proc; p.Last < p.First {
		return p, errors.New("the last proc comes before the first")
	}
	if stepped {
		n, err := strconv.ParseUint(by, 10, 31)
		if err != nil || n < 1 {
			return p, errors.New("invalid step: want a whole number from 1 up")
		}
		p.step = int(n)
	}
	return p, nil
}

// withoutName leaves out of an error the part of an argument that it quotes.
func withoutName(err error) error {
	if _, why, ok := strings.Cut(err.Error(), `": `); ok {
		return errors.New(why)
	}
	return err
}

// Procs are some of a run's equal procs. Word is a name that they were chosen by; Naming returns
// all such names.
type Procs struct {
	pool.Procs
	Run  spool.Run
	Word string
}

// In returns the named jobs of the queue, each once, in ascending order, and
// the arguments that name none. Where only clusters and jobs are named, it looks at
// no other cluster.
func (n Names) In(v *spool.View) (procs []Procs, missing []string) {
	found := map[string]bool{}
	candidates := n.candidates(v)
	if len(n.procs) == 0 { // then most of their runs are named
		runs := 0
		for _, c := range candidates {
			runs += len(c.Runs)
		}
		procs = make([]Procs, 0, runs)
	}
	for _, c := range candidates {
		marked := n.procs[c.ID].all()
		for _, p := range marked {
			found[p.word] = found[p.word] || anyOf(c, p)
		}
		whole := n.wholly(c.ID, found)
		rows, stepped := sorted(marked)
		for _, r := range c.Runs {
			user := n.byUser(r, found)
			if word := cmp.Or(whole, user); word != "" {
				procs = append(procs, Procs{r.Procs, r, word})
				continue
			}
			procs = append(procs, among(r, pieces(r.Procs, rows, stepped))...)
		}
	}
	return procs, n.missing(found)
}

// among returns the jobs of a run that are in one of the rows, which are sorted.
func among(r spool.Run, rows []row) (procs []Procs) {
	next := r.First
	for _, p := range rows {
		if p.First = max(p.First, next); p.First > p.Last {
			continue
		}
		next = p.Last + 1
		if k := len(procs) - 1; k >= 0 && procs[k].Extend(p.Procs) {
			continue // next to each other, they have one owner
		}
		procs = append(procs, Procs{p.Procs, r, p.word})
	}
	return procs
}

// sorted returns the procs in rows, ascending and none of them twice, and those in
// steps.
func sorted(list []row) (rows, stepped []row) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b row) int { return a.Compare(b.Procs) })
	next := 0
	for _, p := range list {
		if p.step > 1 {
			stepped = append(stepped, p)
		} else if p = p.clip(pool.Procs{Cluster: p.Cluster, First: next, Last: p.Last}); !p.empty() {
			rows = append(rows, p)
			next = p.Last + 1
		}
	}
	return rows, stepped
}

// pieces returns the rows that meet a run, and each stepped proc in it as a row of
// its own, sorted.
func pieces(r pool.Procs, rows, stepped []row) (list []row) {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].Last >= r.First })
	for ; i < len(rows) && rows[i].First <= r.Last; i++ {
		list = append(list, rows[i].clip(r))
	}
	if len(stepped) == 0 {
		return list
	}
	named := map[int]bool{} // however many name it, a proc is held once
	for _, p := range stepped {
		for p = p.clip(r); !p.empty(); p.First += p.step {
			if !named[p.First] {
				named[p.First] = true
				list = append(list, row{pool.Only(p.FirstJob()), 1, p.word})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b row) int { return a.Compare(b.Procs) })
	return list
}

// Naming returns the words that name some procs of a cluster, in no order.
func (n Names) Naming(s Procs) (words []string) {
	found := map[string]bool{}
	n.byUser(s.Run, found)
	if n.wholly(s.Cluster, found) == allWord {
		return []string{allWord}
	}
	n.procs[s.Cluster].meet(s.Procs, func(p row) { found[p.word] = true })
	return slices.Collect(maps.Keys(found))
}

// candidates returns the clusters that may hold named jobs, without a look at
// any other where only ids are named.
func (n Names) candidates(v *spool.View) []*spool.Cluster {
	if n.all {
		return v.Clusters()
	}
	list := slices.Clone(v.Belonging(slices.Collect(maps.Keys(n.users))))
	for _, c := range n.ranges {
		list = append(list, between(v, c)...)
	}
	for id := range n.ids() {
		if c, ok := v.Cluster(id); ok {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *spool.Cluster) int { return a.ID - b.ID })
	return slices.CompactFunc(list, func(a, b *spool.Cluster) bool { return a.ID == b.ID })
}

// ids returns the clusters that are named by their numbers, wholly or in part.
func (n Names) ids() map[int]bool {
	ids := map[int]bool{}
	for id := range n.clusters {
		ids[id] = true
	}
	for id := range n.procs {
		ids[id] = true
	}
	return ids
}

// fewClusters is how many are looked up one by one; of a longer range all clusters
// are looked at.
const fewClusters = 1000

// between returns the clusters of a range.
func between(v *spool.View, want clusters) (list []*spool.Cluster) {
	if want.last-want.first >= fewClusters {
		return slices.DeleteFunc(slices.Clone(v.Clusters()), func(c *spool.Cluster) bool { return !want.has(c.ID) })
	}
	for id := want.first; id <= want.last; id++ {
		if c, ok := v.Cluster(id); ok {
			list = append(list, c)
		}
	}
	return list
}

// wholly returns the word that names a whole cluster, empty for none, and notes
// all that do.
func (n Names) wholly(cluster int, found map[string]bool) (word string) {
	if n.all {
		return allWord
	}
	for _, c := range n.ranges {
		if c.has(cluster) {
			found[c.word], word = true, c.word
		}
	}
	if one := n.clusters[cluster]; one != "" {
		found[one], word = true, one
	}
	return word
}

// byUser returns the word that names the user of the run, empty for none, and notes it.
func (n Names) byUser(r spool.Run, found map[string]bool) (word string) {
	if len(n.users) == 0 {
		return ""
	}
	for _, attr := range [2]string{pool.AttrUser, pool.AttrOwner} {
		if user, ok := r.Ad.EvalString(&classad.Context{}, attr); ok && n.users[user] {
			found[user], word = true, user
		}
	}
	return word
}

// anyOf reports whether one of the procs is in the queue.
func anyOf(c *spool.Cluster, p row) bool {
	i := sort.Search(len(c.Runs), func(i int) bool { return c.Runs[i].Last >= p.First })
	for ; i < len(c.Runs) && c.Runs[i].First <= p.Last; i++ {
		if !p.clip(c.Runs[i].Procs).empty() {
			return true
		}
	}
	return false
}

// missing returns the words that name no job: ids in ascending order, then users.
func (n Names) missing(found map[string]bool) []string {
	type id struct {
		pool.JobID
		word string
	}
	var ids []id
	for cluster, word := range n.clusters {
		ids = append(ids, id{pool.JobID{Cluster: cluster, Proc: -1}, word})
	}
	for _, c := range n.ranges {
		ids = append(ids, id{pool.JobID{Cluster: c.first, Proc: -1}, c.word})
	}
	for _, list := range n.procs {
		for _, p := range list.all() {
			ids = append(ids, id{p.FirstJob(), p.word})
		}
	}
	slices.SortFunc(ids, func(a, b id) int { return cmp.Or(a.Compare(b.JobID), cmp.Compare(a.word, b.word)) })
	var list []string
	for _, x := range slices.Compact(ids) {
		if !found[x.word] {
			list = append(list, x.word)
		}
	}
	var users []string
	for u := range n.users {
		if !found[u] {
			users = append(users, u)
		}
	}
	slices.Sort(users)
	return append(list, users...)
}

// Past returns how to find the named jobs among those that have left the queue: the
// selection for the spool, and a function that reports whether the ad of a selected job
// is named.
func (n Names) Past() (which spool.Left, named func(*classad.Ad) bool) {
	switch {
	case n.all:
		return which, func(*classad.Ad) bool { return true }
	case len(n.users) == 0:
		which.Clusters = n.pastClusters()
	case len(n.clusters)+len(n.ranges)+len(n.procs) == 0:
		which.Owners = n.users
	}
	return which, n.inPast
}

// pastClusters returns all named clusters; nil with a long range.
func (n Names) pastClusters() map[int]bool {
	ids := map[int]bool{}
	for id := range n.clusters {
		ids[id] = true
	}
	for id := range n.procs {
		ids[id] = true
	}
	for _, c := range n.ranges {
		if c.last-c.first >= fewClusters {
			return nil
		}
		for id := c.first; id <= c.last; id++ {
			ids[id] = true
		}
	}
	return ids
}

// inPast reports whether the job of an ad is named.
func (n Names) inPast(ad *classad.Ad) bool {
	none := &classad.Context{}
	for _, attr := range [2]string{pool.AttrUser, pool.AttrOwner} {
		if user, ok := ad.EvalString(none, attr); ok && n.users[user] {
			return true
		}
	}
	number := func(name string) int {
		if x, ok := ad.EvalInt(none, name); ok {
			return int(x)
		}
		return -1
	}
	id := pool.JobID{Cluster: number(pool.AttrClusterID), Proc: number(pool.AttrProcID)}
	is := n.clusters[id.Cluster] != "" || slices.ContainsFunc(n.ranges, func(c clusters) bool { return c.has(id.Cluster) })
	n.procs[id.Cluster].meet(pool.Only(id), func(row) { is = true })
	return is
}

// Late is the jobs of a cluster that are still to come, with the word that they
// were chosen by.
type Late struct {
	spool.Factory
	Word string
}

// Factories returns the factories of the named clusters or owners, in order, and the
// missing arguments that remain. domain is the domain of the pool's users.
func (n Names) Factories(v *spool.View, domain string, missing []string) (list []spool.Factory, still []string) {
	late, still := n.late(v, domain, missing)
	for _, l := range late {
		list = append(list, l.Factory)
	}
	return list, still
}

func (n Names) late(v *spool.View, domain string, missing []string) (list []Late, still []string) {
	found := map[string]bool{}
	for _, f := range v.Factories() {
		whole, user := n.wholly(f.Cluster, found), n.byOwner(f, domain, found)
		if word := cmp.Or(whole, user); word != "" {
			list = append(list, Late{f, word})
		}
	}
	return list, slices.DeleteFunc(missing, func(word string) bool { return found[word] })
}

// byOwner returns the word that names the owner of a factory, empty for none, and
// notes it.
func (n Names) byOwner(f spool.Factory, domain string, found map[string]bool) (word string) {
	for _, user := range [...]string{f.Owner + "@" + domain, f.Owner} {
		if n.users[user] {
			found[user], word = true, user
		}
	}
	return word
}

// ad is the ad for a constraint on jobs that are still to come: the attributes that their
// cluster's jobs share, if any is in the queue.
func (l Late) ad(v *spool.View) *classad.Ad {
	ad := classad.New()
	if c, ok := v.Cluster(l.Cluster); ok {
		ad = c.Ad.Clone()
	}
	ad.SetInt(pool.AttrClusterID, int64(l.Cluster))
	ad.SetString(pool.AttrOwner, l.Owner)
	return ad
}

// toCome returns the words that name procs that are still to come.
func (n Names) toCome(v *spool.View) map[string]bool {
	words := map[string]bool{}
	for cluster, list := range n.procs {
		if f, ok := v.Factory(cluster); ok {
			list.meet(f.Coming(), func(p row) { words[p.word] = true })
		}
	}
	return words
}

// row is procs that a word names: each step-th of them.
type row struct {
	pool.Procs
	step int
	word string
}

// clip returns the row's procs among the procs q of its cluster; empty reports that there
// are none.
func (p row) clip(q pool.Procs) row {
	if behind := q.First - p.First; behind > 0 {
		p.First += (behind + p.step - 1) / p.step * p.step
	}
	p.Last = min(p.Last, q.Last)
	return p
}

func (p row) empty() bool { return p.First > p.Last }

// rows are the named procs of a cluster. Scripts name them by the ten thousand, so the
// rows that meet some procs are found without a look at all.
type rows struct {
	list []row // by their first, once arranged
	// most is a tree over the list: of any part of it that is halved again and
	// again, the last proc of all its rows stands where its middle is.
	most []int
}

func (r *rows) add(p row) { r.list = append(r.list, p) }

// all returns the rows, nil for a nil r.
func (r *rows) all() []row {
	if r == nil {
		return nil
	}
	return r.list
}

// arrange makes them ready to be met.
func (r *rows) arrange() {
	slices.SortStableFunc(r.list, func(a, b row) int { return a.Compare(b.Procs) })
	r.most = make([]int, len(r.list))
	r.grow(0, len(r.list))
}

// grow makes the tree of list[lo:hi], and returns its last proc; -1 of none.
func (r *rows) grow(lo, hi int) (last int) {
	if lo == hi {
		return -1
	}
	mid := (lo + hi) / 2
	r.most[mid] = max(r.list[mid].Last, r.grow(lo, mid), r.grow(mid+1, hi))
	return r.most[mid]
}

// meet hands on the rows that have one of some procs of their cluster.
func (r *rows) meet(q pool.Procs, each func(row)) {
	if r != nil {
		r.meetIn(0, len(r.list), q, each)
	}
}

func (r *rows) meetIn(lo, hi int, q pool.Procs, each func(row)) {
	mid := (lo + hi) / 2
	if lo == hi || r.most[mid] < q.First {
		return
	}
	r.meetIn(lo, mid, q, each)
	if p := r.list[mid]; p.First <= q.Last {
		if !p.clip(q).empty() {
			each(p)
		}
		r.meetIn(mid+1, hi, q, each)
	}
}
