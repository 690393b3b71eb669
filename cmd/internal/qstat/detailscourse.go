package qstat

import (
	"fmt"
	"strings"
	"time"

	"fairspool/cmd/internal/operation"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

// dependencies names the clusters that the jobs wait for, and what has become of each.
func (d *sheet) dependencies() {
	ok, either := jobpolicy.After(d.ad)
	d.line("after_ok", d.clusters(ok)...)
	d.line("after_any", d.clusters(either)...)
}

func (d *sheet) clusters(ids []int) (list []string) {
	for _, id := range ids {
		list = append(list, fmt.Sprintf("%d %s", id, d.clusterState(id)))
	}
	return list
}

// clusterState says what has become of a cluster.
func (d *sheet) clusterState(id int) string {
	jobs := 0
	if c, ok := d.view.Cluster(id); ok {
		for _, r := range c.Runs {
			if n, _ := r.Ad.EvalInt(d.context, pool.AttrJobStatus); n != int64(pool.Completed) && n != int64(pool.Removed) {
				jobs += r.Count()
			}
		}
	}
	if f, ok := d.view.Factory(id); ok {
		jobs += f.Jobs - f.Next
	}
	var words []string
	if e, ok := operation.EndingsOf(d.view, id); ok {
		for _, x := range []struct {
			n    int
			what string
		}{{e.Succeeded, "succeeded"}, {e.Failed + e.Signalled, "failed"}, {e.Removed, "removed"}} {
			if x.n > 0 {
				words = append(words, fmt.Sprintf("%d %s", x.n, x.what))
			}
		}
	}
	if jobs > 0 {
		words = append(words, fmt.Sprintf("%d still to end", jobs))
	}
	if len(words) == 0 {
		return "(has ended)"
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// course says what the jobs went through: attempts, holds, and how the last
// attempt ended.
func (d *sheet) course() {
	if starts := d.number(pool.AttrNumJobStarts); starts > 0 {
		text := fmt.Sprint(starts) + at(", the first at ", d.time(pool.AttrJobStartDate), "")
		if starts > 1 {
			text += at(", the last at ", d.time(pool.AttrCurrentStartDate), "")
		}
		d.line("starts", text)
	}
	if n := d.number(pool.AttrNumJobMatches); n > d.number(pool.AttrNumJobStarts) {
		d.line("matches", fmt.Sprint(n)+at(", the last at ", d.time(pool.AttrLastMatchTime), ""))
	}
	d.line("last_queue", d.value(pool.AttrLastRemoteHost))
	if d.ad.Has(pool.AttrExitCode) || d.ad.Has(pool.AttrExitSignal) {
		d.line("last_exit", ending(d.context, statusless(d.ad)))
	}
	d.line("usage", d.usage())
	if n := d.number(pool.AttrNumCkpts); n > 0 {
		d.line("checkpoints", fmt.Sprint(n)+at(", the last at ", d.time(pool.AttrLastCkptTime), ""))
	}
	if why := d.value(pool.AttrVacateReason); why != "" && d.claim == nil {
		d.line("vacate reason", why+at(" (at ", d.time(pool.AttrLastVacateTime), ")"))
	}
	if n := d.number(pool.AttrNumHolds); n > 0 {
		d.line("holds", fmt.Sprint(n))
	}
	d.line("hold reason", d.reason(pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode))
	d.line("last hold reason", d.reason(pool.AttrLastHoldReason, pool.AttrLastHoldReasonCode, pool.AttrLastHoldReasonSubCode))
	d.line("release reason", d.value(pool.AttrReleaseReason))
	d.line("remove reason", d.value(pool.AttrRemoveReason))
}

// statusless is the ad without the job's state, so that its exit is told whatever
// became of the job.
func statusless(ad *classad.Ad) *classad.Ad {
	own := classad.New().Chain(ad)
	own.SetInt(pool.AttrJobStatus, int64(pool.Completed))
	return own
}

// at returns a point in time between two texts, nothing if there is none.
func at(before string, t time.Time, after string) string {
	if t.IsZero() {
		return ""
	}
	return before + clock(t) + after
}

// reason writes a reason with its codes.
func (d *sheet) reason(text, code, subcode string) string {
	why := d.value(text)
	if why == "" || !d.ad.Has(code) {
		return why
	}
	if n := d.number(subcode); n != 0 {
		return fmt.Sprintf("%s (code %d, subcode %d)", why, d.number(code), n)
	}
	return fmt.Sprintf("%s (code %d)", why, d.number(code))
}

// usage writes what all attempts used, empty for nothing.
func (d *sheet) usage() string {
	sum := func(names ...string) (total float64) {
		for _, name := range names {
			if x, ok := d.ad.EvalNumber(d.context, name); ok {
				total += x
			}
		}
		return total
	}
	wall, cpu, rss := sum(pool.AttrWallClock), sum(pool.AttrUserCPU, pool.AttrSysCPU), d.number(pool.AttrResidentSetSize)
	if wall == 0 && cpu == 0 && rss == 0 {
		return ""
	}
	text := fmt.Sprintf("wallclock=%s, cpu=%s", dayTime(seconds(wall)), dayTime(seconds(cpu)))
	if rss > 0 {
		text += fmt.Sprintf(", maxrss=%.3fM", float64(rss)/1024)
	}
	if wasted := sum(pool.AttrWastedTime); wasted > 0 {
		text += ", wasted=" + dayTime(seconds(wasted))
	}
	return text
}

// release says what would release held jobs, or start those that wait for others.
func (d *sheet) release() (list []string) {
	switch {
	case pool.Status(d.number(pool.AttrJobStatus)) == pool.Held:
		list = append(list, "is held until somebody releases it: qrls "+argumentHere)
		if e := d.expression("PeriodicRelease", "false"); e != "" {
			list = append(list, "is released when this becomes true: "+e)
		}
	case d.state == "hqw":
		list = append(list, "waits for the end of other jobs: "+d.expected())
	case d.past:
		list = append(list, "has left the queue")
	case d.state == "z":
		list = append(list, "has ended, and stays in the queue as long as leave_in_queue is true: qdel "+argumentHere)
	}
	return list
}

// held says why jobs are held, or which others they wait for; empty for neither.
func (d *sheet) held() string {
	switch {
	case pool.Status(d.number(pool.AttrJobStatus)) == pool.Held:
		return d.reason(pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode)
	case d.state == "hqw":
		return "waits for the end of other jobs: " + d.expected()
	}
	return ""
}

// expected names the clusters that have not ended.
func (d *sheet) expected() string {
	ok, either := jobpolicy.After(d.ad)
	var list []string
	for _, id := range append(ok, either...) {
		if _, there := d.view.Cluster(id); there {
			list = append(list, fmt.Sprint(id))
		} else if _, there := d.view.Factory(id); there {
			list = append(list, fmt.Sprint(id))
		}
	}
	if len(list) == 0 {
		return "all have ended, and the next negotiation cycle takes note of it"
	}
	return strings.Join(list, ", ")
}
