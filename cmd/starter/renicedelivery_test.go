package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"fairspool/lib/config"
)

// TestDeliveryNext plays deliveries one after the other.
func TestDeliveryNext(t *testing.T) {
	t.Parallel()
	job := func(name string, tickets float64, live, reaped float64) load {
		return load{runner{name, 1, tickets, 1}, live, reaped}
	}
	d := delivery{}
	for i, c := range []struct {
		loads   []load
		tickets bool
		want    string
	}{
		{nil, false, ""},
		{[]load{job("1.0.1", 0, 30, 0)}, false, "1.0.1 cpu 30 usage 30 nice -; "},
		{[]load{job("1.0.1", 5, 50, 0), job("2.0.1", 5, 2, 100)}, true, "1.0.1 cpu 50 usage 23 nice 18; 2.0.1 cpu 102 usage 2 nice 0; "},
		{[]load{job("2.0.1", 5, 1, 105), job("1.0.1", 5, 50, 0)}, true, "1.0.1 cpu 50 usage 2.3 nice 0; 2.0.1 cpu 106 usage 4.2 nice 9; "},
		{[]load{job("1.0.1", 5, 20, 0), job("2.0.1", 5, 0, 106)}, true, "1.0.1 cpu 20 usage 0.23 nice 0; 2.0.1 cpu 106 usage 0.42 nice 0; "},
		{[]load{job("1.0.2", 5, 7, 20)}, true, "1.0.2 cpu 27 usage 7 nice 0; "},
	} {
		d = d.next(float64(i), c.loads, c.tickets, config.RunTime{Worst: 20})
		if got := d.text(); got != c.want || d.At != float64(i) {
			t.Errorf("delivery %d: %s at %v, want %s", i, got, d.At, c.want)
		}
	}
}

// text returns the delivery in a form to be compared.
func (d delivery) text() string {
	var b strings.Builder
	for _, name := range []string{"1.0.1", "1.0.2", "2.0.1"} {
		if job, ok := d.Jobs[name]; ok {
			nice := "-"
			if job.Nice != nil {
				nice = fmt.Sprint(*job.Nice)
			}
			fmt.Fprintf(&b, "%s cpu %v usage %.4g nice %s; ", name, job.CPU, job.Usage, nice)
		}
	}
	return b.String()
}

// What a job has used is what its processes have, and those that its supervisor has
// reaped; a job without a supervisor is none.
func TestMeasured(t *testing.T) {
	t.Parallel()
	p := play(t, `sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done'; (i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo ready; `+linger+`) & wait`)
	loads := measured([]runner{{name: "1.0.1", pid: p.supervisor}, {name: "2.0.1", pid: math.MaxInt32}, {name: "3.0.1"}})
	if len(loads) != 1 || loads[0].name != "1.0.1" || !(loads[0].live > 0.02) || !(loads[0].reaped > 0.02) {
		t.Errorf("measured = %+v, want one job, of which some hundredths of a second are the processes' and some its dead children's", loads)
	}
	own, _, ok := cpuOf(os.Getpid())
	if !ok || own < 0 {
		t.Errorf("cpuOf(self) = %v, %v", own, ok)
	}
}
