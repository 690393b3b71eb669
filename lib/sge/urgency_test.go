package sge

import (
	"math"
	"testing"
	"time"

	"fairspool/lib/pool"
)

// urgencyConfig has complexes of all sorts, and nothing but urgency counts.
func urgencyConfig() *Config {
	return &Config{WeightUrgency: 1, ReportPending: true, MaxPendingTasks: 50, Complexes: []Complex{
		{SlotsComplex, "s", Int, 1000}, {"lic", "l", Int, 500}, {"ftime", "ft", Time, 3}, {"fdbl", "fd", Double, 10},
		{"site", "site", String, 700}, {"node", "node", Host, 30}, {"flag", "fl", Bool, -5}, {"half", "half", Double, 1.5}}}
}

// requesting returns a job with requests.
func requesting(slots int64, requests ...Request) Job {
	return Job{ID: pool.JobID{Cluster: 1}, Count: 1, Submitted: 1000, Slots: slots, LeastSlots: slots, CPUs: 1, Requests: requests}
}

func TestUrgency(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config, *Job)
		job    Job
		want   Numbers // contributions
	}{
		{"a slot", nil, requesting(1), Numbers{RRContr: 1000}},
		{"several", nil, requesting(4), Numbers{RRContr: 4000}},
		{"several processors in each", func(_ *Config, j *Job) { j.CPUs = 3 }, requesting(4), Numbers{RRContr: 12000}},
		{"slots have no urgency", func(c *Config, _ *Job) { c.Complexes = c.Complexes[1:] }, requesting(4), Numbers{}},
		{"numbers", nil, requesting(1, Request{2, 90, ""}, Request{1, 1, ""}, Request{3, 0.25, ""}), Numbers{RRContr: 1772.5}},
		{"numbers, of each slot", nil, requesting(2, Request{2, 90, ""}, Request{1, 1, ""}), Numbers{RRContr: 2000 + 540 + 1000}},
		{"no number, once", nil, requesting(4, Request{4, 1, "x"}, Request{5, 1, "h"}), Numbers{RRContr: 4730}},
		{"truth", nil, requesting(1, Request{6, 1, "TRUE"}), Numbers{RRContr: 995}},
		{"untruth", nil, requesting(1, Request{6, 0, "FALSE"}), Numbers{RRContr: 1000}},
		{"a fraction", nil, requesting(1, Request{7, 10, "10"}), Numbers{RRContr: 1015}},
		{"complexes that are not there", nil, requesting(1, Request{8, 1, ""}, Request{-1, 1, ""}), Numbers{RRContr: 1000}},
		{"waiting", func(c *Config, _ *Job) { c.WeightWaitingTime = 0.278 }, requesting(1), Numbers{RRContr: 1000, WTContr: 278}},
		{"submitted in the future", func(c *Config, j *Job) { c.WeightWaitingTime, j.Submitted = 0.278, 2001 }, requesting(1), Numbers{RRContr: 1000}},
		{"submitted at no time", func(c *Config, j *Job) { c.WeightWaitingTime, j.Submitted = 1, math.MinInt64 }, requesting(1), Numbers{RRContr: 1000, WTContr: math.MaxInt64}},
		{"an hour before the deadline", deadline(5600), requesting(1), Numbers{RRContr: 1000, DLContr: 1000}},
		{"a minute", deadline(2060), requesting(1), Numbers{RRContr: 1000, DLContr: 60000}},
		{"a second", deadline(2001), requesting(1), Numbers{RRContr: 1000, DLContr: 3600000}},
		{"at the deadline", deadline(2000), requesting(1), Numbers{RRContr: 1000, DLContr: 3600000}},
		{"long after it", deadline(1), requesting(1), Numbers{RRContr: 1000, DLContr: 3600000}},
	} {
		config := urgencyConfig()
		if c.change != nil {
			c.change(config, &c.job)
		}
		got := Rank(config, World{Now: time.Unix(2000, 0)}, []Job{c.job}, nil).Pending(0, 0)
		if got.RRContr != c.want.RRContr || got.WTContr != c.want.WTContr || got.DLContr != c.want.DLContr || got.Urg != c.want.RRContr+c.want.WTContr+c.want.DLContr {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func deadline(at int64) func(*Config, *Job) {
	return func(c *Config, j *Job) { c.WeightDeadline, j.Deadline = 3600000, at }
}

// TestNormalUrgency: from the least to the greatest of all, also of those that run.
func TestNormalUrgency(t *testing.T) {
	lic := func(n float64) Job { return requesting(1, Request{1, n, ""}) }
	for _, c := range []struct {
		name             string
		slots            float64 // urgency
		pending, running []Job
		want             []float64 // those that wait, then those that run
		least, greatest  float64
	}{
		{"one", 1000, []Job{lic(1)}, nil, []float64{0.5}, 1500, 1500},
		{"equal ones", 1000, []Job{lic(1), lic(1)}, []Job{lic(1)}, []float64{0.5, 0.5, 0.5}, 1500, 1500},
		{"different ones", 1000, []Job{lic(1), lic(0), lic(4)}, nil, []float64{0.25, 0, 1}, 1000, 3000},
		{"those that run bound them", 1000, []Job{lic(2)}, []Job{lic(0), lic(4)}, []float64{0.5, 0, 1}, 1000, 3000},
		{"one below 0", -1000, []Job{lic(0)}, nil, []float64{0}, -1000, 0},
		{"all below 0", -2500, []Job{lic(3), lic(1), lic(0)}, nil, []float64{0.6, 0.2, 0}, -2500, 0},
		{"nearly equal", 0, []Job{requesting(1, Request{1, 1e-8, ""}), lic(0)}, nil, []float64{0.5, 0.5}, 0, 500 * 1e-8},
		{"a job without procs does not count", 1000, []Job{lic(1), lic(0), {Slots: 1000, CPUs: 1}}, nil, []float64{1, 0}, 1000, 1500},
	} {
		config := urgencyConfig()
		config.Complexes[0].Urgency = c.slots
		r := Rank(config, World{Now: time.Unix(2000, 0)}, c.pending, c.running)
		for i, want := range c.want {
			got := r.Pending(i, 0)
			if run := i - len(c.pending); run >= 0 {
				got = r.Running(run)
			}
			if got.NUrg != want || got.Prio != want {
				t.Errorf("%s: of job %d nurg %v and prio %v, want %v", c.name, i, got.NUrg, got.Prio, want)
			}
		}
		if got := r.urgent; got.least != c.least || got.greatest != c.greatest {
			t.Errorf("%s: from %v to %v, want from %v to %v", c.name, got.least, got.greatest, c.least, c.greatest)
		}
	}
}
