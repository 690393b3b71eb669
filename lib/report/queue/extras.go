package queue

import (
	"math"
	"slices"
	"strings"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// extras is what of jobs only some columns show. It stays empty without these.
type extras struct {
	pre1, pre2, post1, post2 int64
	deadline                 int64 // Unix seconds; 0: none
	waited                   time.Duration
	project, department      string
	used                     used
	asked                    asked
	brief                    briefly
	alike                    any // a policy's values, which have to be equal, too
}

// used is a job's usage so far. Below 0 means unknown.
type used struct{ cpu, mem, io float64 } // seconds of processor time, GiB now, GiB in all

// asked is what -r shows. Hard is a line for each request.
type asked struct {
	hard, soft      string
	after, unmet    string // the clusters that it waits for, and those of them in the queue
	policy.Requests        // what a policy with one queue says of them
}

// extend fills in the values of columns that not every row has.
func (m *maker) extend(r *row) {
	for i := range m.shown {
		if fill := m.shown[i].fill; fill != nil {
			fill(m, r)
		}
	}
	if m.Requests {
		r.asked = m.asked()
	}
}

// waited returns how long a job waited for its start, or has waited for it so far.
func (m *maker) waited(r *row) time.Duration {
	end := m.context.Now
	switch {
	case r.claim != nil && !r.claim.StartedAt.IsZero():
		end = r.claim.StartedAt
	case r.state == "z":
		if end = unix(m.int(beganName)); end.Unix() == 0 {
			end = unix(m.int(enteredName))
		}
	}
	return max(end.Sub(unix(r.key.QDate)), 0).Truncate(time.Second)
}

const (
	kib float64 = 1 << 10
	gib float64 = 1 << 30
)

// used returns the sum of attributes of a job that runs or has ended, in units of so much, below 0
// if none is known.
func (m *maker) used(r *row, unit float64, names ...*classad.Name) float64 {
	if r.claim == nil && r.state != "z" {
		return 0
	}
	sum, known := 0.0, false
	for _, n := range names {
		if v := m.value(n); v.Kind() == classad.KindInteger || v.Kind() == classad.KindReal {
			x, _ := v.Number()
			sum, known = sum+x, true
		}
	}
	if !known || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return -1
	}
	if sum >= 0 {
		sum *= unit
	}
	return sum
}

// asked returns the job's requests: the values of all attributes whose names begin with
// Request, and the others.
func (r *reader) asked() (a asked) {
	var hard strings.Builder
	ad := r.procs.Ad
	for _, name := range r.requestNames() {
		v := ad.Eval(r.context, name, nil)
		if e, ok := ad.Lookup(name); ok {
			if _, constant := e.Constant(); !constant {
				v, r.varies = e.Eval(r.context, r.proc(), nil), true
			}
		}
		if v.Kind() == classad.KindUndefined {
			continue
		}
		text, isText := v.Text()
		if !isText {
			text = v.String()
		}
		hard.WriteString(strings.ToLower(name[len(pool.RequestPrefix):]) + "=" + clean.Line(text) + "\n")
	}
	a.hard = strings.TrimSuffix(hard.String(), "\n")
	if e, ok := ad.Lookup(pool.AttrRank); ok {
		if v, constant := e.Constant(); !constant || v.True() {
			a.soft = "rank=" + clean.Line(e.String())
		}
	}
	if r.has(afterOkName) || r.has(afterAnyName) {
		succeed, end := jobpolicy.After(r.proc())
		a.after = numbers(append(succeed, end...))
		if r.waits() {
			a.unmet = a.after
		}
	}
	return a
}

// requestNames returns the names of request attributes, sorted without regard to case. Those of
// a cluster's ad are looked for once.
func (r *reader) requestNames() []string {
	own, cluster := r.procs.Ad, r.procs.Ad.Parent()
	if cluster == nil {
		return requestsAmong(own.OwnNames())
	}
	if r.cluster != cluster {
		r.cluster, r.shared = cluster, requestsAmong(cluster.Names())
	}
	names := requestsAmong(own.OwnNames())
	if len(names) == 0 {
		return r.shared
	}
	names = append(names, r.shared...)
	fold := func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }
	slices.SortStableFunc(names, fold)
	return slices.CompactFunc(names, strings.EqualFold)
}

func requestsAmong(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		n := len(pool.RequestPrefix)
		return len(name) <= n || !strings.EqualFold(name[:n], pool.RequestPrefix) || !pool.ResourceName(name[n:])
	})
}

// withAdds returns the lines of hard requests, each with its contribution to the urgency if
// that is known.
func (a *asked) withAdds() string {
	if a.Adds == "" {
		return a.hard
	}
	var b strings.Builder
	adds := a.Adds
	for line := range strings.SplitSeq(a.hard, "\n") {
		var more string
		more, adds, _ = strings.Cut(adds, "\n")
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line + " (" + more + ")")
	}
	return b.String()
}
