package lifecycle

import (
	"fmt"
	"math"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// Endings are pool.Endings with methods. The spool keeps them from Watch on as long as mail or a job
// needs them, also after the cluster's last job has left.
type Endings pool.Endings

// mostTroubles bounds Endings.Troubles.
const mostTroubles = 10

// EndingsOf returns how the jobs of a cluster have ended, false if it is not
// watched.
func EndingsOf(v *spool.View, cluster int) (Endings, bool) {
	e, ok := spool.Endings.Get(v, cluster)
	return Endings(e), ok
}

// PutEndings keeps the endings of a cluster.
func PutEndings(tx *spool.Tx, e Endings) { spool.Endings.Put(tx, pool.Endings(e)) }

// DropEndings ends the watch of a cluster.
func DropEndings(tx *spool.Tx, cluster int) { spool.Endings.Drop(tx, cluster) }

// Watch begins to count how the jobs of a cluster end, unless the cluster is watched. Jobs may have
// left the queue already: Remember adds these from the history. For a cluster that has ended no
// mail is sent.
func Watch(tx *spool.Tx, cluster int) {
	if _, watched := EndingsOf(&tx.View, cluster); !watched {
		PutEndings(tx, newEndings(&tx.View, cluster))
	}
}

func newEndings(v *spool.View, cluster int) Endings {
	e := Endings{Cluster: cluster, From: -1, Unknown: true}
	if f, ok := v.Factory(cluster); ok {
		e.From = f.Next
	}
	if c, ok := v.Cluster(cluster); ok {
		e.describe(c)
	}
	if Ended(v, cluster) {
		e.Told = []pool.Tell{TellHeld, TellStart, TellEnd}
	}
	return e
}

// WatchNew does as Watch for a cluster that has just been submitted: its jobs are all in
// the queue or still to come.
func WatchNew(tx *spool.Tx, cluster int) {
	Watch(tx, cluster)
	if e, ok := EndingsOf(&tx.View, cluster); ok && e.Unknown {
		e.Unknown, e.Seen, e.From = false, "", 0
		PutEndings(tx, e)
	}
}

// describe fills the endings from the jobs in the queue.
func (e *Endings) describe(c *spool.Cluster) {
	var seen []string
	for _, r := range c.Runs {
		_, procs, _ := strings.Cut(r.Procs.String(), ".")
		seen = append(seen, procs)
		e.of(r.Proc(r.First))
	}
	e.Seen = strings.Join(seen, ",")
}

// of notes owner and wanted mail of a job.
func (e *Endings) of(ad *classad.Ad) {
	c := &classad.Context{}
	if e.Owner == "" {
		e.Owner, _ = ad.EvalString(c, pool.AttrOwner)
		e.Submitted, _ = ad.EvalInt(c, pool.AttrQDate)
		if e.Name, _ = ad.EvalString(c, pool.AttrJobBatchName); e.Name == "" {
			e.Name, _ = ad.EvalString(c, pool.AttrCmd)
		}
	}
	if to, ok := ad.EvalString(c, pool.AttrNotifyUser); ok && e.To == "" {
		e.To = to
	}
	n, _ := ad.EvalInt(c, pool.AttrJobNotification)
	e.Notification = wider(e.Notification, int(n))
}

// The values of JobNotification.
const (
	NotifyNever = iota
	NotifyAlways
	NotifyComplete
	NotifyError
	NotifyStart
)

// wider returns the one of two notifications that asks for more mail.
func wider(a, b int) int {
	for _, n := range [...]int{NotifyAlways, NotifyComplete, NotifyStart, NotifyError} {
		if a == n || b == n {
			return n
		}
	}
	return NotifyNever
}

// trouble notes jobs that did not succeed, together with preceding jobs that ended alike.
func (e *Endings) trouble(of pool.Procs, how string) {
	if k := len(e.Troubles) - 1; k >= 0 {
		name, before, _ := strings.Cut(e.Troubles[k], " ")
		if s, err := pool.ParseProcs(name); err == nil && before == how && s.Extend(of) {
			e.Troubles[k] = s.String() + " " + how
			return
		}
	}
	if len(e.Troubles) < mostTroubles {
		e.Troubles = append(e.Troubles, of.String()+" "+how)
	}
}

// ended counts a job that has ended by itself.
func (e *Endings) ended(tx *spool.Tx, of pool.Procs, ad *classad.Ad) {
	c := &classad.Context{}
	bySignal, _ := ad.EvalBool(c, pool.AttrExitBySignal)
	switch {
	case jobpolicy.Succeeded(c, ad):
		e.Succeeded++
	case bySignal:
		e.Signalled++
		e.trouble(of, jobpolicy.How(c, ad))
	default:
		e.Failed++
		e.trouble(of, jobpolicy.How(c, ad))
	}
	e.used(tx, of, ad)
}

// How much of a job's attributes a message may show.
const (
	mostShown  = 20
	mostOfEach = 200 // bytes
)

// show notes the attributes of a job that its owner wants to see. Tx may be nil, where no lock is held.
func (e *Endings) show(tx *spool.Tx, of pool.Procs, ad *classad.Ad) {
	text, _ := ad.EvalString(&classad.Context{}, "EmailAttributes")
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 || e.Notification == NotifyNever {
		return
	}
	names = names[:min(len(names), mostShown)]
	e.Shown = []string{of.String()}
	for i, v := range Values(tx, ad, nil, names...) {
		line := names[i] + " = " + v.String()
		e.Shown = append(e.Shown, strings.ToValidUTF8(line[:min(len(line), mostOfEach)], ""))
	}
}

// removed counts jobs that were removed.
func (e *Endings) removed(tx *spool.Tx, of pool.Procs, ad *classad.Ad, why string) {
	e.Removed += of.Count()
	e.trouble(of, "removed: "+why)
	e.used(tx, of, ad)
}

// neverMade counts jobs that were removed before they were made.
func (e *Endings) neverMade(of pool.Procs, why string) {
	e.Removed += of.Count()
	e.trouble(of, "removed: "+why)
}

// used adds usage, start and end of jobs that are alike.
func (e *Endings) used(tx *spool.Tx, of pool.Procs, ad *classad.Ad) {
	e.show(tx, pool.Procs{Cluster: of.Cluster, First: of.Last, Last: of.Last}, ad)
	c := &classad.Context{}
	number := func(name string) float64 { x, _ := ad.EvalNumber(c, name); return x }
	n := float64(of.Count())
	e.Wall = finite(e.Wall + n*number(pool.AttrWallClock))
	e.CPU = finite(e.CPU + n*(number(pool.AttrUserCPU)+number(pool.AttrSysCPU)))
	if first, ok := ad.EvalInt(c, pool.AttrJobStartDate); ok && (e.First == 0 || first < e.First) {
		e.First = first
	}
	for _, name := range [...]string{pool.AttrCompletionDate, pool.AttrEnteredStatus} {
		if last, ok := ad.EvalInt(c, name); ok {
			e.Last = max(e.Last, last)
		}
	}
}

// finite returns a sum that can be kept: an administrator may have set a job's usage to
// anything.
func finite(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, -math.MaxFloat64), math.MaxFloat64)
}

// count changes the endings of a cluster, if it is watched.
func count(tx *spool.Tx, s pool.Procs, ad *classad.Ad, change func(*Endings)) {
	e, ok := EndingsOf(&tx.View, s.Cluster)
	if !ok {
		return
	}
	e.of(ad)
	change(&e)
	PutEndings(tx, e)
}

// countEnded counts a job that has ended by itself, with its ad as it is then.
func countEnded(tx *spool.Tx, s pool.Procs, ad *classad.Ad) {
	count(tx, s, ad, func(e *Endings) { e.ended(tx, s, ad) })
}

// countRemoved counts jobs that were removed.
func countRemoved(tx *spool.Tx, s pool.Procs, ad *classad.Ad, why string) {
	count(tx, s, ad, func(e *Endings) { e.removed(tx, s, ad, why) })
}

// countHeld counts jobs that were held without asking for it.
func countHeld(tx *spool.Tx, s pool.Procs, ad *classad.Ad, why string) {
	count(tx, s, ad, func(e *Endings) {
		e.Held += s.Count()
		if e.FirstHeld == "" {
			e.FirstHeld = fmt.Sprintf("%v held: %s", s, why)
		}
	})
}

// Bad returns why the cluster cannot end with success any more, empty if it still can.
func (e Endings) Bad() string {
	switch {
	case e.Failed+e.Signalled+e.Removed > 0 && len(e.Troubles) > 0:
		first, _, _ := strings.Cut(e.Troubles[0], " ")
		if strings.Contains(first, "-") {
			return "jobs " + e.Troubles[0]
		}
		return "job " + e.Troubles[0]
	case e.Gone == 1:
		return fmt.Sprintf("how a job of cluster %d ended is not in the history", e.Cluster)
	case e.Gone > 0:
		return fmt.Sprintf("how %d jobs of cluster %d ended is not in the history", e.Gone, e.Cluster)
	}
	return ""
}

// Ended reports whether all jobs of a cluster have ended, and no job is still to
// come. Jobs that LeaveJobInQueue keeps in the queue have ended.
func Ended(v *spool.View, cluster int) bool {
	if _, late := v.Factory(cluster); late {
		return false
	}
	c, ok := v.Cluster(cluster)
	if !ok {
		return true
	}
	for _, r := range c.Runs {
		switch (job{ad: r.Ad}).status() {
		case pool.Completed:
		case pool.Removed:
			for id := range r.Jobs() {
				if _, runs := v.Claim(id); runs {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// Awaited reports whether a watched cluster has ended: other jobs may wait for that, or mail may be due.
func Awaited(v *spool.View, cluster int) bool {
	_, watched := EndingsOf(v, cluster)
	return watched && Ended(v, cluster)
}
