package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
)

// TestPageExamples runs each command of the section EXAMPLES of each page, and each line of a crontab there. Each has to succeed.
//
// What follows a dollar sign is typed in a folder and a pool of its own, which the script PAGE.sh in testdata/examples makes ready.
// What follows a number sign is root's, and is typed on a machine of its own, which PAGE.root.sh makes ready. Where there is such
// a script the machine has the lines of the crontab, too.
func TestPageExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../man/*.[1-8]")
	if err != nil || len(files) == 0 {
		t.Fatalf("manual pages = %v, %v, want some", files, err)
	}
	programs := []string{"condor_status", "criu", "jq", "man", "qconf", "sacct", "ssh"} // others that pages name
	built, err := os.ReadDir(binaries(t))
	testenv.OK(t, err)
	for _, b := range built {
		programs = append(programs, b.Name())
	}
	for _, file := range files {
		page := filepath.Base(file)
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			testenv.OK(t, err)
			examples, missed := readExamples(string(text), programs)
			for _, line := range missed {
				t.Errorf("the example %q has no prompt, so nothing runs it", line)
			}
			if len(examples) == 0 && strings.ContainsAny(filepath.Ext(page), "18") {
				t.Fatalf("%s has no example that a reader can type", page)
			}
			rootStage, isRoots := stageOf(t, page+".root.sh")
			var own, root []example
			for _, e := range examples {
				if e.prompt == '#' && !isRoots {
					t.Fatalf("nothing makes a machine ready for root's %q", e.line)
				}
				if e.prompt == '#' || e.prompt == '*' && isRoots {
					root = append(root, e)
				} else {
					own = append(own, e)
				}
			}
			if len(own) > 0 {
				stage, _ := stageOf(t, page+".sh")
				playExamples(t, stage, own)
			}
			if len(root) > 0 {
				t.Run("root", func(t *testing.T) {
					t.Parallel()
					playRootExamples(t, page, rootStage, root)
				})
			}
		})
	}
}

// stageOf returns the absolute path of a script in testdata/examples, and reports whether there is one; empty: there is none.
func stageOf(t *testing.T, name string) (path string, is bool) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata/examples", name))
	testenv.OK(t, err)
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	return path, true
}

// example is a command of a page, behind the prompt of a user ($) or root (#), or from a crontab (*).
type example struct {
	prompt byte
	line   string
}

var (
	crontab = regexp.MustCompile(`^(?:(?:[-*/0-9,]+ +){5}|@reboot +)(.*)`)
	inFile  = regexp.MustCompile(`^[A-Za-z_]+ += |^restrict,|^/\S+ stream |^\d+ jobs `) // a line of a file, or that a command prints
)

// readExamples returns the commands of a page's section EXAMPLES, and what looks like one there but has no prompt. A line that
// ends with a backslash goes on in the next.
func readExamples(page string, programs []string) (examples []example, missed []string) {
	_, section, _ := strings.Cut(page, "\n.Sh EXAMPLES\n")
	section, _, _ = strings.Cut(section, "\n.Sh ")
	section = runElsewhere.ReplaceAllString(section, "")
	roff := strings.NewReplacer(`\(dq`, `"`, `\(aq`, `'`, `\(ti`, `~`, `\(ha`, `^`, `\e`, `\`, `\-`, `-`, `\&`, ``)
	lines := strings.Split(section, "\n")
	for i := 0; i < len(lines); i++ {
		line, display := strings.CutPrefix(lines[i], ".Dl ")
		line = roff.Replace(line)
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + roff.Replace(lines[i])
		}
		first, command, _ := strings.Cut(line, " ")
		switch m := crontab.FindStringSubmatch(line); {
		case first == "$", first == "#" && display:
			examples = append(examples, example{first[0], command})
		case m != nil:
			examples = append(examples, example{'*', m[1]})
		case (slices.Contains(programs, first) || display) && !inFile.MatchString(line):
			missed = append(missed, line)
		}
	}
	return examples, missed
}

// runElsewhere is a session that another test runs.
var runElsewhere = regexp.MustCompile(`(?s)\n\.\\" Run by man_test\.go\.\n\.Bd.*?\n\.Ed\n`)

// onTerminals are the commands that want a terminal, and what a person types there.
var onTerminals = map[string]func(s *screen, beside func(line string)){
	"qstat -watch":       func(s *screen, _ func(string)) { s.shows("slot or reason"); s.types("q", "") },
	"qshell 12":          func(s *screen, _ func(string)) { s.shows("> "); s.types("exit\r", "exit") },
	"qshell 13.3 -- top": func(s *screen, _ func(string)) { s.shows("PID"); s.types("q", "") },
	"submit -interactive -cpus 4 -time 2h": func(s *screen, beside func(string)) {
		s.shows("waiting for a slot")
		beside("negotiate -q; starter -q")
		s.shows("> ")
		s.types("exit\r", "exit")
	},
}

// playExamples runs a script and examples in a folder and a pool of its own.
func playExamples(t *testing.T, stage string, examples []example) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "fairspool.toml"), "UID_DOMAIN = \"example.org\"\nNETWORK_HOSTNAME = \"node1\"\n")
	cmdtest.Share(t, dir)
	variables := []string{"FAIRSPOOL_NOW=1790000000", "FAIRSPOOL_CONFIG=" + filepath.Join(dir, "fairspool.toml"),
		"EDITOR=touch", "MANPATH=" + filepath.Join(dir, "man"), "SHELL=/bin/sh", "TERM=vt100", "PS1=> "}
	run := func(line string) { t.Helper(); playOn(t, dir, "$ "+line, variables...) }
	if stage != "" {
		run("sh -e " + stage)
	}
	t.Cleanup(func() {
		if strings.Contains(fmt.Sprint(examples), "starter") {
			playCommand(t, dir, "qdel -all -q; starter -drain -fast -wait -q", variables...).Run()
		}
		killAll(dir)
	})
	for _, e := range examples {
		if strings.HasPrefix(e.line, "starter -pilot ") {
			t.Run("pilot", func(t *testing.T) { playPilot(t, e.line) })
		} else if types, is := onTerminals[e.line]; is {
			s := onScreen(t, playCommand(t, dir, e.line, variables...))
			types(s, run)
			if status := s.exits(); status != 0 {
				t.Fatalf("%s exits with %d behind\n%s", e.line, status, s.shown.String())
			}
		} else if tool := toolFor(e.line); tool != "" {
			t.Run(tool, func(t *testing.T) { t.Skipf("SKIPPED, NOTHING IS TESTED: there is no %s for %s", tool, e.line) })
		} else {
			run(e.line)
		}
	}
}

// toolFor returns which program of others a command needs that this machine does not have; empty: none.
func toolFor(line string) string {
	for _, tool := range []string{"jq", "man", "ps"} {
		if _, err := exec.LookPath(tool); err != nil && regexp.MustCompile(`(^|\| |-- )`+tool+`( |$)`).MatchString(line) {
			return tool
		}
	}
	return ""
}

// machinesOf makes the machine for root's examples of a page, where a plain one does not do.
var machinesOf = map[string]func(t *testing.T) host{
	"batch-systems.7": func(t *testing.T) host { return engineHead(t, "slurm") },
	"sge-objects.5":   func(t *testing.T) host { return engineHead(t, "sge") },
	"draining.7":      func(t *testing.T) host { return newFarm(t, true).head },
	"glidein.8":       func(t *testing.T) host { return newFarm(t, true).head },
	"machines.7":      func(t *testing.T) host { return newFarm(t, true).head },
	"pilots.7":        func(t *testing.T) host { return newFarm(t, true).head },
	"slots.8":         func(t *testing.T) host { return newFarm(t, true).head },
	"starter.8":       func(t *testing.T) host { return newFarm(t, true).head },
}

// staying are commands that stay in the foreground until they are told to end, and what succeeds as soon as they work:
// the job that is matched before them has ended, or their door is there.
var staying = map[string]string{
	"starter -watch":               `test -z "$(qstat)"`,
	"starter -watch -door":         "test -S /var/spool/fairspool/door",
	"starter -watch -drain -quick": `test -z "$(qstat)"`,
}

// playRootExamples runs a script and examples as root of a machine. The script may leave variables for the examples in the file env.
func playRootExamples(t *testing.T, page, stage string, examples []example) {
	t.Helper()
	machine := machinesOf[page]
	if machine == nil {
		machine = func(t *testing.T) host { return newHost(t, true) }
	}
	h := machine(t)
	run := func(line string) {
		t.Helper()
		if a := h.run("root", "cd /root && export FAIRSPOOL_CYCLE_ON_CHANGE=false && if [ -e env ]; then . ./env; fi && "+line); a.status != 0 {
			t.Fatalf("%s: %+v", line, a)
		}
	}
	script, err := os.ReadFile(stage)
	testenv.OK(t, err)
	run("set -e\n" + strings.ReplaceAll(string(script), "DIR", filepath.Dir(stage)))
	if criu := os.Getenv("FAIRSPOOL_CRIU"); criu != "" {
		testenv.WriteProgram(t, h.path("bin/criu"), []byte("#!/bin/sh\nexec "+criu+" \"$@\"\n"))
	}
	for _, e := range examples {
		if strings.HasPrefix(e.line, "criu ") && h.run("root", "command -v criu").status != 0 {
			t.Skipf("SKIPPED, NOTHING IS TESTED: there is no criu for %s", e.line)
		} else if works, is := staying[e.line]; is {
			run("submit -owner alice output=/dev/null error=/dev/null -- true && negotiate -q")
			run(e.line + " & pid=$!; timeout 170 sh -c 'until " + works + "; do sleep 0.1; done' && kill $pid && wait $pid")
		} else {
			run(e.line)
		}
	}
}

// playPilot runs a pilot on a machine that calls the pool of the account pool on head, with a token in pilot.token.
func playPilot(t *testing.T, line string) {
	t.Helper()
	f := newFarm(t, false)
	n3 := f.machines["n3"]
	f.append(f.head.path("etc/passwd"), "pool:x:1501:1501::/home/alice:/bin/sh\n")
	f.append(n3.path("etc/ssh/ssh_config"), "BatchMode yes\n"+f.letIn(f.head, "head", n3))
	f.giveKey(n3.path("home/alice"), alice, "pool")
	public, err := os.ReadFile(n3.path("home/alice/.ssh/id_ed25519.pub"))
	f.head.must(err)
	f.append(f.head.path("etc/ssh/keys/pool"), `restrict,command="/usr/local/bin/serve -pilot" `+string(public))
	f.sure("alice", `mkdir -p .config/fairspool && printf '[engine.gate]\nKIND = "ssh"\nLINK = "home"\nHOSTS = ["n3"]\n' >.config/fairspool/fairspool.toml && glidein -install &&
glidein -token n3 2>/dev/null | ssh n3 'umask 077; cat >pilot.token'`)
	if a := n3.run("alice", "PATH=$HOME/.fairspool:$PATH; "+line+" >pilot.log 2>&1 </dev/null & echo $! >pilot.pid"); a.status != 0 {
		t.Fatalf("%s: %+v", line, a)
	}
	if !testenv.Await(func() bool { return f.sure("alice", "slots list -af Name") != "" }) {
		t.Errorf("%s gives the pool no slot: %+v", line, n3.run("alice", "cat pilot.log"))
	}
	n3.run("alice", "kill $(cat pilot.pid)")
	testenv.Until(t, "the pilot has ended", func() bool { return n3.run("alice", "kill -0 $(cat pilot.pid)").status != 0 })
}
