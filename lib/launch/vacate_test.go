package launch

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
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
		if got := catches(c.status, c.sig); got != c.want {
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
	if err != nil {
		t.Fatal(err)
	}
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
		if catches(status, syscall.Signal(sig)) && (sig < 1 || sig > 64 || !strings.Contains(status, "SigCgt:")) {
			t.Errorf("catches(%q, %d) = true, want false", status, sig)
		}
	})
}
