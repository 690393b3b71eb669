package engine

import (
	"context"
	"errors"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"fairspool/lib/config"
)

// hpc is an engine of a kind.
func hpc(kind string) config.Engine {
	return config.Engine{
		Name: "hpc", Kind: kind, Bin: "/opt/bin", Cpus: 16, MemoryMB: 64000, Time: 90 * time.Second, Idle: 5 * time.Minute,
		Home: "ssh -T pool@head serve -pilot", Starter: ".fairspool/starter", Env: []string{"A=1"},
	}
}

// answering returns a driver whose commands print a text, and the last command.
func answering(e config.Engine, out string, err error) (*Driver, *Command) {
	last := new(Command)
	return New(e, "77aa", func(_ context.Context, c Command) ([]byte, error) {
		*last = c
		return []byte(out), err
	}), last
}

func TestAsk(t *testing.T) {
	request := Request{Pilot: 12, Token: "secret", Owner: "alice", Warn: 30 * time.Second}
	command := hpc(config.KindCommand)
	command.Ask, command.AskPattern = []string{"/opt/pbs/bin/qsub", "-N", "{name}", "-l", "ncpus={cpus}:mem={memory}mb"}, regexp.MustCompile(`^(\d+\.\S+)`)
	with := hpc(config.KindSlurm)
	with.Ask = []string{"-p", "main"}
	for _, c := range []struct {
		engine         config.Engine
		out, args, ref string
	}{
		{with, "4711;cluster\n", "/opt/bin/sbatch --parsable --no-requeue --job-name=fs-77aa-12 --output=/dev/null --chdir=/ --nodes=1 --ntasks=1 " +
			"--cpus-per-task=16 --mem=64000 --time=2 --signal=B:USR1@30 -p main", "4711"},
		{hpc(config.KindSGE), "17\n", "/opt/bin/qsub -terse -N fs-77aa-12 -o /dev/null -j y -wd / -S /bin/sh -r n -notify -l h_rt=90,s_rt=60", "17"},
		{command, "88.head\n", "/opt/pbs/bin/qsub -N fs-77aa-12 -l ncpus=16:mem=64000mb", "88.head"},
	} {
		d, last := answering(c.engine, c.out, nil)
		ref, err := d.Ask(context.Background(), request)
		if err != nil || ref != c.ref || strings.Join(last.Args, " ") != c.args {
			t.Errorf("%s: job %q, %v by %q, want %q by %q", c.engine.Kind, ref, err, last.Args, c.ref, c.args)
		}
		if last.Owner != "alice" || !reflect.DeepEqual(last.Env, []string{"A=1"}) || strings.Contains(strings.Join(last.Args, " "), "secret") {
			t.Errorf("%s: the command is %+v", c.engine.Kind, last)
		}
	}
	d, _ := answering(hpc(config.KindSlurm), "hello\n", nil)
	if ref, err := d.Ask(context.Background(), request); err == nil || ref != "" {
		t.Errorf("of an answer without a number: %q, %v", ref, err)
	}
}

// TestScript holds that the job of a pilot keeps its token in a file that only its account reads, and becomes starter -pilot
// with what it was asked for with.
func TestScript(t *testing.T) {
	dir := t.TempDir()
	e := hpc(config.KindSlurm)
	e.State, e.Home = dir+"/it's here", "echo 'a b'"
	e.Starter = "/bin/echo"
	d, last := answering(e, "1\n", nil)
	if _, err := d.Ask(context.Background(), Request{Pilot: 12, Token: "secret"}); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("sh")
	run.Stdin = strings.NewReader(last.Input)
	out, err := run.CombinedOutput()
	state := dir + "/it's here/fs-77aa-12"
	if want := "-pilot -q -state " + state + " -home echo 'a b' -token " + state + "/token -idle 300 -time 90\n"; err != nil || string(out) != want {
		t.Errorf("the script prints %q, %v, want %q", out, err, want)
	}
	if out, err := exec.Command("sh", "-c", `cd "$0"; stat -c %a . token; cat token`, state).CombinedOutput(); err != nil || string(out) != "700\n600\n12 secret\n" {
		t.Errorf("the state folder: %s, %v", out, err)
	}
}

func TestLook(t *testing.T) {
	const grid = `<?xml version='1.0'?>
<job_info>
  <queue_info>
    <job_list state="running"><JB_job_number>2</JB_job_number><JAT_prio>0.5</JAT_prio>
      <JB_name>fs-77aa-1</JB_name><JB_owner>alice</JB_owner><state>r</state></job_list>
    <job_list state="running"><JB_job_number>5</JB_job_number><JB_name>fs-77aa-3</JB_name><state>dr</state></job_list>
  </queue_info>
  <job_info>
    <job_list state="pending"><JB_job_number>3</JB_job_number><JB_name>fs-77aa-2</JB_name><state>hqw</state></job_list>
    <job_list state="pending"><JB_job_number>4</JB_job_number><JB_name>fs-77ab-2</JB_name><state>qw</state></job_list>
    <job_list state="pending"><JB_job_number>6</JB_job_number><JB_name>fs-77aa-4</JB_name><state>Eqw</state></job_list>
  </job_info>
</job_info>`
	command := hpc(config.KindCommand)
	command.Look, command.LookPattern = []string{"list"}, regexp.MustCompile(`(?m)^(?P<ref>\S+) (?P<state>\S+) (?P<name>\S+)$`)
	command.Waiting, command.Running = regexp.MustCompile("^Q$"), regexp.MustCompile("^R$")
	for _, c := range []struct {
		engine config.Engine
		out    string
		look   string
		want   []Sighting
	}{
		{hpc(config.KindSlurm), "10|fs-77aa-1|RUNNING|None\n11|other|RUNNING|None\n12|fs-77aa-2|PENDING|Resources\n13|fs-77aa-3|TIMEOUT|TimeLimit\n14|fs-77aa-x|RUNNING|None\n15|fs-77aa-4|NEW_WORD|None\n16|fs-77aa-5|NODE_FAIL|None\n",
			"/opt/bin/squeue --noheader --states=all --format=%i|%j|%T|%r",
			[]Sighting{{"10", 1, Running, "RUNNING"}, {"12", 2, Waiting, "PENDING (Resources)"}, {"13", 3, Over, "TIMEOUT (TimeLimit)"}, {"15", 4, Unknown, "NEW_WORD"}, {"16", 5, Over, "NODE_FAIL"}}},
		{hpc(config.KindSGE), grid, "/opt/bin/qstat -u * -xml",
			[]Sighting{{"2", 1, Running, "r"}, {"5", 3, Running, "dr"}, {"3", 2, Waiting, "hqw"}, {"6", 4, Waiting, "Eqw"}}},
		{command, "1.h R fs-77aa-7\n2.h Q fs-77aa-8\n3.h Z fs-77aa-9\n", "/opt/bin/list", []Sighting{{"1.h", 7, Running, "R"}, {"2.h", 8, Waiting, "Q"}, {"3.h", 9, Unknown, "Z"}}},
	} {
		d, last := answering(c.engine, c.out, nil)
		got, err := d.Look(context.Background())
		if err != nil || !reflect.DeepEqual(got, c.want) || strings.Join(last.Args, " ") != c.look {
			t.Errorf("%s by %q: %+v, %v, want %+v", c.engine.Kind, last.Args, got, err, c.want)
		}
	}
	down := errors.New("down")
	d, _ := answering(hpc(config.KindSlurm), "", down)
	if _, err := d.Look(context.Background()); !errors.Is(err, down) {
		t.Errorf("of an engine that is down: %v", err)
	}
}

func TestCancel(t *testing.T) {
	command := hpc(config.KindCommand)
	command.Cancel = []string{"kubectl", "delete", "job", "{ref}", "--wait=false"}
	for _, c := range []struct {
		engine config.Engine
		want   string
	}{
		{hpc(config.KindSlurm), "/opt/bin/scancel 1 2"}, {hpc(config.KindSGE), "/opt/bin/qdel 1 2"}, {command, "/opt/bin/kubectl delete job 1 2 --wait=false"},
	} {
		d, last := answering(c.engine, "", nil)
		if err := d.Cancel(context.Background(), "bob", []string{"1", "2"}); err != nil || strings.Join(last.Args, " ") != c.want || last.Owner != "bob" {
			t.Errorf("%s: %+v, %v, want %q", c.engine.Kind, last, err, c.want)
		}
	}
}
