package maui

import "strconv"

// quotas are the fair share targets that keep jobs out (FSTARGET with ^ or %), by
// credential, as far as somebody asked.
type quotas struct {
	queue *Queue
	of    [Kinds]map[string]*quota // nil: there is none
}

// quota is a target in the units of FSPOLICY, and what is used of it.
type quota struct {
	used, most float64
	text       string // such as "FSTARGET 5000^ of user alice: 3600 used"
	total      string // with %: what it is a part of
}

// exceeded says which quota a job would exceed: one that is smaller than what was used and
// what the job may use together (manual, 6.3). Empty: none.
func (q *quotas) exceeded(s *Queued) string {
	c := q.queue.config
	if c.FSPolicy == NoFairShare {
		return ""
	}
	asked := float64(s.Job.Procs())
	if c.FSPolicy == DedicatedPES && !c.Compatible { // which always asks for processors
		asked = s.PE
	}
	asked *= s.wclimit()
	for k, name := range s.credentials() {
		if f := q.quota(Kind(k), name); f != nil && f.used+asked > f.most {
			return f.text + ", " + rounded(asked) + " asked for" + f.total
		}
	}
	return ""
}

func (q *quotas) quota(k Kind, name string) *quota {
	f, known := q.of[k][name]
	if !known {
		if q.of[k] == nil {
			q.of[k] = map[string]*quota{}
		}
		f = q.queue.quota(k, name)
		q.of[k][name] = f
	}
	return f
}

// quota returns the quota of a credential; nil for none. While nobody has used anything, a
// part of that bounds nothing: no job would ever be the first. None is with Maui 3.3.1.
func (q *Queue) quota(k Kind, name string) *quota {
	target, mode := q.config.FairShareTarget(k, name)
	used := q.world.Used
	if name == "" || target == 0 || mode != FSQuota && mode != FSRelative || mode == FSRelative && !(used.Total > 0) && !q.config.Compatible {
		return nil
	}
	f := &quota{used: used.Of[k][name], most: target}
	f.text = "FSTARGET " + strconv.FormatFloat(target, 'f', -1, 64) + string(mode) + " of " + k.word() + " " + name + ": " + rounded(f.used) + " used"
	if mode == FSRelative {
		f.most = used.Total / 100 * target
		f.total = ", of " + rounded(used.Total) + " in all"
	}
	return f
}

func rounded(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }
