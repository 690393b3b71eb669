package maui

import "fairspool/lib/parallel"

// profiles finds what the jobs, of which the facts are known, have in common with others.
func (r *Reckoner) profiles(all []*Queued) {
	parallel.Parts(parallel.Bounds(len(all), manyRuns), func(_, from, to int) {
		known := map[names]*profile{}
		var own *profile
		var last names
		for _, s := range all[from:to] {
			if n := s.Job.names(); own == nil || n != last {
				last = n
				if own = known[n]; own == nil {
					own = r.profile(n)
					known[n] = own
				}
			}
			s.common, s.QOS = own, own.qos
		}
	})
}

// starts reckons the start priorities of jobs that have profiles.
func (r *Reckoner) starts(all []*Queued) {
	parallel.Parts(parallel.Bounds(len(all), manyRuns), func(_, from, to int) {
		for _, s := range all[from:to] {
			s.Start = r.start(s.common, s.Job)
		}
	})
}

// manyRuns are worth another processor.
const manyRuns = 1000
