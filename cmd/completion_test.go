package cmd

import (
	"os/exec"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestBashCompletion holds that bash is offered what commands answer, as it takes it: of a word with an @ or a = what stands
// behind that.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	dir, bin := t.TempDir(), testenv.Commands(t)
	script := `
set -eu
export PATH="` + bin + `:$PATH" FAIRSPOOL_DIR="` + dir + `/spool" FAIRSPOOL_CONFIG=/dev/null FAIRSPOOL_CYCLE_ON_CHANGE=false
eval "$(sed 's/@COMMANDS@/qstat/' ../completion/fairspool.bash)"
compopt() { :; }
userprio -create -setfactor ann@x 4 >/dev/null
userprio -create -setfactor ben@y.org 4 >/dev/null
submit -batch-name one -- true >/dev/null 2>&1
try() { COMP_LINE=$1 COMP_POINT=${#1}; _fairspool "${1%% *}"; echo "$1: ${COMPREPLY[*]-}"; }
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:@'
try 'userprio -setfactor ann@'
try 'userprio -setfactor be'
try 'qdel 1'
try 'qdel 1.'
try 'prio -set JobBatch'
try 'qstat -sp'
try 'qstat -spool /'
COMP_WORDBREAKS=$' \t\n'
try 'userprio -setfactor ann@'
`
	out, err := exec.Command(bash, "--norc", "--noprofile", "-c", script).CombinedOutput()
	want := strings.Join([]string{
		"userprio -setfactor ann@: @x", "userprio -setfactor be: ben@y.org", "qdel 1: 1", "qdel 1.: 1.0", "prio -set JobBatch: JobBatchName=",
		"qstat -sp: -spool", "qstat -spool /: ", "userprio -setfactor ann@: ann@x", "",
	}, "\n")
	if err != nil || string(out) != want {
		t.Errorf("bash: %v\n%swant\n%s", err, out, want)
	}
}

// TestCompletionParses holds that each shell can read its script.
func TestCompletionParses(t *testing.T) {
	for shell, args := range map[string][]string{"bash": {"-n"}, "zsh": {"-f", "-n"}, "fish": {"--no-config", "-n"}} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			if out, err := exec.Command(path, append(args, "../completion/fairspool."+shell)...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", shell, err, out)
			}
		})
	}
}
