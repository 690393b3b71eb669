package launch

import (
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

func TestParseSignal(t *testing.T) {
	for _, c := range []struct {
		text string
		want syscall.Signal // 0: an error
	}{
		{"SIGTERM", syscall.SIGTERM}, {"term", syscall.SIGTERM}, {"SigUsr1", syscall.SIGUSR1},
		{"2", syscall.SIGINT}, {"64", 64},
		{"0", 0}, {"65", 0}, {"-9", 0}, {"", 0}, {"SIG", 0}, {"SIGNOTHING", 0}, {"TERM KILL", 0},
	} {
		got, err := ParseSignal(c.text)
		if got != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("ParseSignal(%q) = %v, %v, want %v", c.text, got, err, c.want)
		}
	}
}

func TestKillSignal(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		why   Leaving
		want  syscall.Signal
	}{
		{"nothing asked", nil, Vacated, syscall.SIGTERM},
		{"nothing asked, removed", nil, Removed, syscall.SIGTERM},
		{"by name", []string{"KillSig", `"SIGUSR1"`}, Vacated, syscall.SIGUSR1},
		{"by number", []string{"KillSig", "10"}, Vacated, syscall.SIGUSR1},
		{"by number in a string", []string{"KillSig", `" 10 "`}, Vacated, syscall.SIGUSR1},
		{"removal falls back", []string{"KillSig", `"SIGINT"`}, Removed, syscall.SIGINT},
		{"removal has its own", []string{"KillSig", `"SIGINT"`, "RemoveKillSig", `"SIGHUP"`}, Removed, syscall.SIGHUP},
		{"only removal has one", []string{"RemoveKillSig", `"SIGHUP"`}, Vacated, syscall.SIGTERM},
		{"nothing asked, held", nil, Held, syscall.SIGTERM},
		{"a hold falls back", []string{"KillSig", `"SIGINT"`}, Held, syscall.SIGINT},
		{"a hold has its own", []string{"KillSig", `"SIGINT"`, "HoldKillSig", `"SIGUSR2"`, "RemoveKillSig", `"SIGHUP"`}, Held, syscall.SIGUSR2},
		{"a hold's own is no signal", []string{"KillSig", `"SIGINT"`, "HoldKillSig", `"SIGNOTHING"`}, Held, syscall.SIGINT},
		{"only holds have one", []string{"HoldKillSig", "12"}, Removed, syscall.SIGTERM},
		{"only holds have one, and it vacates", []string{"HoldKillSig", "12"}, Vacated, syscall.SIGTERM},
		{"no such signal", []string{"KillSig", `"SIGNOTHING"`}, Vacated, syscall.SIGTERM},
		{"standard universe", []string{"JobUniverse", "1"}, Vacated, syscall.SIGTSTP},
		{"standard universe, removed", []string{"JobUniverse", "1"}, Removed, syscall.SIGTSTP},
		{"standard universe, preempted", []string{"JobUniverse", "1"}, Preempted, syscall.SIGTSTP},
		{"removed at once", []string{"WantGracefulRemoval", "false", "RemoveKillSig", `"SIGHUP"`}, Removed, syscall.SIGKILL},
		{"removed at once, by an expression", []string{"WantGracefulRemoval", "JobUniverse == 5", "JobUniverse", "12"}, Removed, syscall.SIGKILL},
		{"removed with grace", []string{"WantGracefulRemoval", "true", "RemoveKillSig", `"SIGHUP"`}, Removed, syscall.SIGHUP},
		{"removed, nobody knows how", []string{"WantGracefulRemoval", "undefined"}, Removed, syscall.SIGTERM},
		{"held is not removed", []string{"WantGracefulRemoval", "false"}, Held, syscall.SIGTERM},
		{"drained is not removed", []string{"WantGracefulRemoval", "false", "RemoveKillSig", `"SIGHUP"`, "KillSig", `"SIGINT"`}, Drained, syscall.SIGINT},
		{"standard universe, its own", []string{"JobUniverse", "1", "KillSig", `"SIGINT"`}, Vacated, syscall.SIGINT},
		{"not a signal at all", []string{"KillSig", "{1}"}, Vacated, syscall.SIGTERM},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := func(syscall.Signal) bool { return true }
			if got := KillSignal(jobAd(t, c.pairs...), c.why, all); got != c.want {
				t.Errorf("KillSignal = %v, want %v", got, c.want)
			}
		})
	}
}

// A job of the standard universe that does not catch SIGTSTP would only be stopped by it.
// One that it asks for counts all the same.
func TestKillSignalThatNobodyCatches(t *testing.T) {
	none := func(syscall.Signal) bool { return false }
	onlyTerm := func(s syscall.Signal) bool { return s == syscall.SIGTERM }
	for _, handles := range []func(syscall.Signal) bool{none, onlyTerm, nil} {
		if got := KillSignal(jobAd(t, "JobUniverse", "1"), Vacated, handles); got != syscall.SIGTERM {
			t.Errorf("KillSignal of a job that does not catch it = %v, want %v", got, syscall.SIGTERM)
		}
		if got := KillSignal(jobAd(t, "JobUniverse", "1", "KillSig", `"SIGTSTP"`), Vacated, handles); got != syscall.SIGTSTP {
			t.Errorf("KillSignal of a job that asks for it = %v, want %v", got, syscall.SIGTSTP)
		}
	}
}

func TestRetires(t *testing.T) {
	for why, want := range map[Leaving]bool{Vacated: false, Removed: false, Held: false, Preempted: true, Drained: true} {
		if got := why.Retires(); got != want {
			t.Errorf("Leaving(%d).Retires() = %v, want %v", why, got, want)
		}
	}
}

func TestCatches(t *testing.T) {
	for _, c := range []struct {
		status string
		sig    syscall.Signal
		want   bool
	}{
		{"Name:\tx\nSigIgn:\t0000000000080000\nSigCgt:\t0000000000080000\nCapInh:\t0\n", syscall.SIGTSTP, true},
		{"SigIgn:\t0000000000080000\nSigCgt:\t0000000000000000\n", syscall.SIGTSTP, false},
		{"SigCgt:\t0000000000040000", syscall.SIGTSTP, false},
		{"SigCgt:\t8000000000000001\n", 1, true}, {"SigCgt:\t8000000000000001\n", 64, true},
		{"SigCgt:\tffffffffffffffff\n", 0, false}, {"SigCgt:\tffffffffffffffff\n", 65, false}, {"SigCgt:\tffffffffffffffff\n", -1, false},
		{"SigCgt:\tno number\n", 1, false}, {"SigCgt:", 1, false}, {"", 1, false},
	} {
		if got := isIn("SigCgt:", c.status, c.sig); got != c.want {
			t.Errorf("catches(%q, %d) = %v, want %v", c.status, c.sig, got, c.want)
		}
	}
}

// A process catches what it asks to be told of; one that asks for nothing, and one that is
// not there, catch nothing.
func TestHandles(t *testing.T) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTSTP)
	if !Handles(os.Getpid(), syscall.SIGTSTP) {
		t.Errorf("Handles(this process, SIGTSTP) = false, want true")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	testenv.OK(t, err)
	if Handles(cmd.Process.Pid, syscall.SIGTSTP) {
		t.Errorf("Handles(cat, SIGTSTP) = true, want false")
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if Handles(cmd.Process.Pid, syscall.SIGTERM) || Handles(-1, syscall.SIGTERM) {
		t.Errorf("Handles of nobody = true, want false")
	}
	signal.Stop(told)
}

// Whatever the kernel may come to say, there is an answer.
func FuzzCatches(f *testing.F) {
	f.Add("SigCgt:\t0000000000080000\n", 20)
	f.Add("SigCgt:\t-1\nSigCgt:\tff", 1)
	f.Fuzz(func(t *testing.T, status string, sig int) {
		if isIn("SigCgt:", status, syscall.Signal(sig)) && (sig < 1 || sig > 64 || !strings.Contains(status, "SigCgt:")) {
			t.Errorf("catches(%q, %d) = true, want false", status, sig)
		}
	})
}

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
			testenv.OK(t, err)
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
