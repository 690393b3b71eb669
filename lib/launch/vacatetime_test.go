package launch

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/classad"
)

func TestVacateTime(t *testing.T) {
	const machine = 600 * time.Second
	for _, c := range []struct {
		name      string
		pairs     []string
		remaining time.Duration
		want      time.Duration
	}{
		{"nothing asked", nil, 0, machine},
		{"nothing asked, retirement left", nil, time.Hour, machine},
		{"less", []string{"JobMaxVacateTime", "30"}, 0, 30 * time.Second},
		{"less, retirement left", []string{"JobMaxVacateTime", "30"}, time.Hour, 30 * time.Second},
		{"as much", []string{"JobMaxVacateTime", "600"}, 0, machine},
		{"a fraction", []string{"JobMaxVacateTime", "0.5"}, 0, 500 * time.Millisecond},
		{"more than the machine gives", []string{"JobMaxVacateTime", "601"}, 0, machine},
		{"more, and as much retirement left", []string{"JobMaxVacateTime", "601"}, 601 * time.Second, 601 * time.Second},
		{"more, and some retirement left", []string{"JobMaxVacateTime", "7200"}, time.Hour, time.Hour},
		{"more, and little retirement left", []string{"JobMaxVacateTime", "7200"}, 599 * time.Second, machine},
		{"more, and retirement overdrawn", []string{"JobMaxVacateTime", "7200"}, -time.Hour, machine},
		{"more than a Duration holds", []string{"JobMaxVacateTime", "1e300"}, 0, machine},
		{"more than a Duration holds, retirement left", []string{"JobMaxVacateTime", "1e300"}, time.Hour, time.Hour},
		{"not a number", []string{"JobMaxVacateTime", `real("NaN")`}, 0, machine},
		{"negative", []string{"JobMaxVacateTime", "-1"}, time.Hour, 0},
		{"timeout of the kill signal", []string{"KillSigTimeout", "20"}, 0, 20 * time.Second},
		{"the first of both", []string{"KillSigTimeout", "20", "JobMaxVacateTime", "30"}, 0, 30 * time.Second},
		{"no number", []string{"JobMaxVacateTime", `"soon"`, "KillSigTimeout", "20"}, 0, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := VacateTime(jobAd(t, c.pairs...), machine, c.remaining); got != c.want {
				t.Errorf("VacateTime = %v, want %v", got, c.want)
			}
		})
	}
}

// vacateTimeByCases is VacateTime as the manual tells it, case by case, in seconds.
func vacateTimeByCases(j, m, r int) int {
	switch {
	case j <= m:
		return j
	case r >= j:
		return j
	case r > m:
		return r
	}
	return m
}

func TestVacateTimeByCases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.IntRange(0, 20)
		j, m, r := few.Draw(t, "job"), few.Draw(t, "machine"), rapid.IntRange(-20, 20).Draw(t, "remaining")
		ad := classad.New()
		ad.SetInt("JobMaxVacateTime", int64(j))
		got := VacateTime(ad, time.Duration(m)*time.Second, time.Duration(r)*time.Second)
		if want := time.Duration(vacateTimeByCases(j, m, r)) * time.Second; got != want {
			t.Errorf("VacateTime(job %d, machine %d, remaining %d) = %v, want %v", j, m, r, got, want)
		}
	})
}

func TestRetirement(t *testing.T) {
	for _, c := range []struct {
		name, limit string
		slot, job   []string
		want        time.Duration
	}{
		{"none", "0", nil, nil, 0},
		{"a number", "3600", nil, nil, time.Hour},
		{"a fraction", "0.25", nil, nil, 250 * time.Millisecond},
		{"MY is the slot", "MY.SlotID * 60", []string{"SlotID", "3"}, []string{"SlotID", "7"}, 3 * time.Minute},
		{"TARGET is the job", "ifThenElse(TARGET.Owner == \"alice\", 60, 5)", nil, []string{"Owner", `"alice"`}, time.Minute},
		{"now", "time() - 100", nil, nil, 50 * time.Second},
		{"the slot's own", "5", []string{"MaxJobRetirementTime", "60"}, nil, time.Minute},
		{"the slot's own, of the job", "5", []string{"MaxJobRetirementTime", "TARGET.N"}, []string{"N", "60"}, time.Minute},
		{"the slot's own is no number", "5", []string{"MaxJobRetirementTime", `"long"`}, nil, 0},
		{"no number", `"long"`, nil, nil, 0},
		{"undefined", "NoSuch", nil, nil, 0},
		{"an error", "1/0", nil, nil, 0},
		{"below zero", "-5", nil, nil, 0},
		{"a NaN", `real("NaN")`, nil, nil, 0},
		{"endless", "1e300", nil, nil, longest},
		{"the job wants less", "3600", nil, []string{"MaxJobRetirementTime", "60"}, time.Minute},
		{"the job wants more", "3600", nil, []string{"MaxJobRetirementTime", "7200"}, time.Hour},
		{"the job wants none", "3600", nil, []string{"MaxJobRetirementTime", "0"}, 0},
		{"the job wants less than none", "3600", nil, []string{"MaxJobRetirementTime", "-1"}, 0},
		{"the job asks the slot", "3600", []string{"Cpus", "2"}, []string{"MaxJobRetirementTime", "60 * TARGET.Cpus"}, 2 * time.Minute},
		{"the job says no number", "3600", nil, []string{"MaxJobRetirementTime", `"no"`}, time.Hour},
		{"the job says a NaN", "3600", nil, []string{"MaxJobRetirementTime", `real("NaN")`}, time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			limit, err := classad.ParseExpr(c.limit)
			if err != nil {
				t.Fatal(err)
			}
			at := &classad.Context{Now: time.Unix(150, 0)}
			if got := Retirement(at, limit, jobAd(t, c.slot...), jobAd(t, c.job...)); got != c.want {
				t.Errorf("Retirement(%s) = %v, want %v", c.limit, got, c.want)
			}
		})
	}
}

// A job shortens its retirement or leaves it as it is.
func TestRetirementIsNeverLengthened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := classad.Literal(classad.Real(rapid.Float64().Draw(t, "limit")))
		job := classad.New()
		alone := Retirement(&classad.Context{}, limit, classad.New(), job)
		wants := rapid.Float64().Draw(t, "job")
		job.SetReal("MaxJobRetirementTime", wants)
		got := Retirement(&classad.Context{}, limit, classad.New(), job)
		if got < 0 || got > alone || wants >= alone.Seconds() && got != alone {
			t.Errorf("Retirement with the job's %g = %v, want 0 to %v", wants, got, alone)
		}
	})
}

func TestRetiring(t *testing.T) {
	const machine = 10 * time.Minute
	for _, c := range []struct {
		name            string
		asks            int // JobMaxVacateTime in seconds; below 0: nothing
		retirement, ran time.Duration
		wait, vacate    time.Duration
	}{
		{"none", -1, 0, time.Minute, 0, machine},
		{"over", -1, time.Hour, 2 * time.Hour, 0, machine},
		{"young", -1, time.Hour, 10 * time.Minute, 40 * time.Minute, machine},
		{"nearly over", -1, time.Hour, 55 * time.Minute, 0, machine},
		{"goes at once when asked", 0, time.Hour, 20 * time.Minute, 40 * time.Minute, 0},
		{"wants longer than the machine gives", 1800, time.Hour, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute},
		{"wants longer than is left", 7200, time.Hour, 10 * time.Minute, 0, 50 * time.Minute},
		{"a clock that was set", -1, time.Hour, -time.Hour, 50 * time.Minute, machine},
	} {
		t.Run(c.name, func(t *testing.T) {
			ad := jobAd(t)
			if c.asks >= 0 {
				ad = jobAd(t, "JobMaxVacateTime", strconv.Itoa(c.asks))
			}
			wait, vacate := Retiring(ad, machine, c.retirement, c.ran)
			if wait != c.wait || vacate != c.vacate {
				t.Errorf("Retiring = %v, %v, want %v, %v", wait, vacate, c.wait, c.vacate)
			}
		})
	}
}

// Whenever the question is asked, the answer is the same: a job that is asked again after
// some of its wait has that much less to wait and the same time to go. It is gone by the
// end of its retirement, or, where that is sooner than the machine's time, within that.
func TestRetiringIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(0, 50).Draw(t, name)) * time.Second
		}
		ad := classad.New()
		ad.SetInt("JobMaxVacateTime", int64(draw("job").Seconds()))
		machine, retirement, ran := draw("machine"), draw("retirement"), draw("ran")
		wait, vacate := Retiring(ad, machine, retirement, ran)
		later := min(draw("later"), wait)
		again, same := Retiring(ad, machine, retirement, ran+later)
		if again != wait-later || same != vacate {
			t.Errorf("after %v of %v, %v: Retiring = %v, %v", later, wait, vacate, again, same)
		}
		if end := ran + wait + vacate; end > max(retirement, ran+machine) {
			t.Errorf("a job that retires at %v and has run for %v may stay until %v, the machine allows %v", retirement, ran, end, machine)
		}
	})
}
