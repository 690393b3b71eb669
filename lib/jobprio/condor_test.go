package jobprio

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

var now = time.Unix(1_700_000_000, 0).UTC()

func ids(jobs []Job) string {
	var b strings.Builder
	for _, i := range InOrder(jobs) {
		b.WriteString(jobs[i].ID.String() + " ")
	}
	return strings.TrimSpace(b.String())
}

func id(cluster, proc int) pool.JobID { return pool.JobID{Cluster: cluster, Proc: proc} }

func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		jobs []Job
		want string
	}{
		{"none", nil, ""},
		{"higher JobPrio first", []Job{{ID: id(1, 0)}, {ID: id(2, 0), JobPrio: 5}, {ID: id(3, 0), JobPrio: -5}}, "2.0 1.0 3.0"},
		{"older first", []Job{{ID: id(1, 0), QDate: 20}, {ID: id(2, 0), QDate: 10}}, "2.0 1.0"},
		{"then cluster, then proc", []Job{{ID: id(2, 0)}, {ID: id(1, 10)}, {ID: id(1, 9)}}, "1.9 1.10 2.0"},
		{"PreJobPrio1 over all", []Job{{ID: id(1, 0), PreJobPrio2: 9, JobPrio: 9, PostJobPrio1: 9}, {ID: id(2, 0), PreJobPrio1: 1}}, "2.0 1.0"},
		{"PreJobPrio2 over JobPrio", []Job{{ID: id(1, 0), JobPrio: 9}, {ID: id(2, 0), PreJobPrio2: 1}}, "2.0 1.0"},
		{"JobPrio over PostJobPrio1", []Job{{ID: id(1, 0), PostJobPrio1: 9}, {ID: id(2, 0), JobPrio: 1}}, "2.0 1.0"},
		{"PostJobPrio1 over PostJobPrio2", []Job{{ID: id(1, 0), PostJobPrio2: 9}, {ID: id(2, 0), PostJobPrio1: 1}}, "2.0 1.0"},
		{"PostJobPrio2 over age", []Job{{ID: id(1, 0), QDate: 1}, {ID: id(2, 0), QDate: 2, PostJobPrio2: 1}}, "2.0 1.0"},
		{"negative below undefined", []Job{{ID: id(1, 0), PreJobPrio1: -1}, {ID: id(2, 0)}}, "2.0 1.0"},
	} {
		for range 5 {
			rand.Shuffle(len(c.jobs), func(i, j int) { c.jobs[i], c.jobs[j] = c.jobs[j], c.jobs[i] })
			if got := ids(c.jobs); got != c.want {
				t.Errorf("%s: InOrder(%v) = %s, want %s", c.name, c.jobs, got, c.want)
			}
		}
	}
}

func TestViews(t *testing.T) {
	ad, err := classad.ParseAd(`[ JobPrio = 2 + 3; PreJobPrio1 = undefined; PreJobPrio2 = "9"; PostJobPrio1 = 1.5; PostJobPrio2 = -4; QDate = 77 ]`)
	testenv.OK(t, err)
	want := Job{ID: id(4, 2), JobPrio: 5, PostJobPrio2: -4, QDate: 77}
	views := NewViews()
	for range 2 {
		if got := views.Of(&classad.Context{Now: now}, id(4, 2), ad); got != want {
			t.Errorf("the view of %s is %+v, want %+v", ad.Format(classad.StyleSpool), got, want)
		}
	}
	shared, err := classad.ParseAd(`[ JobPrio = 3 ]`)
	testenv.OK(t, err)
	for prio, at := range []int64{3, 8} {
		one := classad.New().Chain(shared)
		one.SetInt("QDate", at)
		if prio > 0 {
			one.SetInt("JobPrio", 9)
		}
		want := Job{ID: id(5, 0), JobPrio: 3 + 6*int64(prio), QDate: at}
		if got := views.Of(&classad.Context{}, id(5, 0), one); got != want {
			t.Errorf("the view of %s over %s is %+v, want %+v", one, shared, got, want)
		}
	}
}
