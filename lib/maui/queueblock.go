package maui

// refusal says why jobs cannot be considered, whatever their priority and whatever other
// jobs wait; empty: they can.
func (q *Queue) refusal(s *Queued, quotas *quotas) string {
	if s.common.refused {
		return "QOS " + s.Job.QOS + " is not allowed for user " + s.Job.User
	}
	return quotas.exceeded(s)
}

// block leaves jobs out. Their clock stops if the accrual policy is stops or goes beyond
// it, and stands if it did before.
func (q *Queue) block(s *Queued, why string, stops Accrual) {
	s.Why = why
	policy := q.config.accrual()
	if policy == Always || policy < stops && !s.stored.stopped || s.Job.Stopped {
		return
	}
	j := *s.Job
	j.Stopped = true
	s.Job, s.Start = &j, q.reckoner.start(s.common, &j)
}

// admit parts those who are considered from those who are not. They come in order, and in
// that order the limits on what waits are given out. All is used up.
func (q *Queue) admit(all []*Queued) (places, blocked []*Queued) {
	waiting := newThrottle(q.config, true)
	places = all[:0]
	for _, s := range all {
		switch {
		case s.Why != "":
			blocked = append(blocked, s)
		case waiting == nil:
			places = append(places, s)
		default:
			head, rest := q.fit(waiting, s)
			if head != nil {
				places = append(places, head)
			}
			if rest != nil {
				blocked = append(blocked, rest)
			}
		}
	}
	return places, blocked
}

// fit parts those of some equal jobs for which limits have room from those for which they
// have none; nil where there are none of either.
func (q *Queue) fit(waiting *throttle, s *Queued) (head, rest *Queued) {
	limits, takes := waiting.ceilingsOf(s), s.takes(s.wclimit())
	head, rest = s.cut(limits.fit(&takes, s.Count))
	if head != nil {
		limits.take(&takes, head.Count)
	}
	if rest != nil {
		c, l := limits.broken(&takes, true)
		q.block(rest, waiting.tell(c, l, &takes, true), QueuePolicy)
	}
	return head, rest
}
