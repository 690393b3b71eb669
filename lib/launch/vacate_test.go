package launch

import (
	"syscall"
	"testing"
	"time"
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
		{"standard universe, its own", []string{"JobUniverse", "1", "KillSig", `"SIGINT"`}, Vacated, syscall.SIGINT},
		{"not a signal at all", []string{"KillSig", "{1}"}, Vacated, syscall.SIGTERM},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := KillSignal(jobAd(t, c.pairs...), c.why); got != c.want {
				t.Errorf("KillSignal = %v, want %v", got, c.want)
			}
		})
	}
}

func TestVacateTime(t *testing.T) {
	const machine = 600 * time.Second
	for _, c := range []struct {
		name  string
		pairs []string
		want  time.Duration
	}{
		{"nothing asked", nil, machine},
		{"less", []string{"JobMaxVacateTime", "30"}, 30 * time.Second},
		{"a fraction", []string{"JobMaxVacateTime", "0.5"}, 500 * time.Millisecond},
		{"more than the machine gives", []string{"JobMaxVacateTime", "601"}, machine},
		{"more than a Duration holds", []string{"JobMaxVacateTime", "1e300"}, machine},
		{"not a number", []string{"JobMaxVacateTime", `real("NaN")`}, machine},
		{"negative", []string{"JobMaxVacateTime", "-1"}, 0},
		{"timeout of the kill signal", []string{"KillSigTimeout", "20"}, 20 * time.Second},
		{"the first of both", []string{"KillSigTimeout", "20", "JobMaxVacateTime", "30"}, 30 * time.Second},
		{"no number", []string{"JobMaxVacateTime", `"soon"`, "KillSigTimeout", "20"}, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := VacateTime(jobAd(t, c.pairs...), machine); got != c.want {
				t.Errorf("VacateTime = %v, want %v", got, c.want)
			}
		})
	}
}
