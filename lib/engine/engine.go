// Package engine controls batch systems that run pilots as jobs.
//
// An engine has three commands: one asks for a pilot, one looks at all pilots, one cancels some. A driver is a table:
// the templates of the commands, and the patterns of their output. Those of Slurm, Grid Engine and other pools are
// built in; KIND = "command" brings its own. The package starts no process: Driver.Run does.
//
// A pilot's job is named fs-SPOOLID-PILOT. So a job with an unanswered submission is found again by its name.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/config"
)

// Command is a command of an engine.
type Command struct {
	Args  []string // the first is the program's path
	Input string   // standard input
	Env   []string // variables of the engine, as NAME=VALUE
	Owner string   // the account that it runs as; empty: the caller's own
}

// Driver speaks with one engine.
type Driver struct {
	config.Engine
	Pool string // the id of the spool
	// Run runs a command, and returns its output.
	Run func(context.Context, Command) ([]byte, error)

	table table
}

// table are the commands of an engine, as templates, and the patterns of their output.
type table struct {
	ask, look, cancel []string // the programs are in BIN unless their paths are whole
	ref               *regexp.Regexp
	row               *regexp.Regexp
	waiting, running  *regexp.Regexp
	over              *regexp.Regexp // nil: a job that has ended is not listed
}

// Request is a request for a pilot.
type Request struct {
	Pilot  int
	Token  string
	Owner  string        // the account of the job that is the pilot; empty: the caller's own
	User   string        // of another pool: the submitter of the jobs that the pilot runs, with the domain
	Warn   time.Duration // so long before its time limit the engine warns it
	Vacate time.Duration
}

// State is where the engine has a job.
type State int

// The states of a job. Of one that is Unknown the engine says something that the driver has no word for.
const (
	Unknown State = iota
	Waiting
	Running
	Over
)

// Sighting is a job of the engine that is a pilot of the pool.
type Sighting struct {
	Ref   string // the engine's name for the job
	Pilot int
	State State
	Says  string // the state in the engine's words
}

// New returns the driver of an engine that queues pilots.
func New(e config.Engine, spool string, run func(context.Context, Command) ([]byte, error)) *Driver {
	d := &Driver{Engine: e, Pool: spool, Run: run}
	switch e.Kind {
	case config.KindSlurm:
		d.table = slurm
		d.table.ask = slices.Concat(slurm.ask, e.Ask)
	case config.KindSGE:
		d.table = gridEngine
		d.table.ask = slices.Concat(gridEngine.ask, e.Ask)
	case config.KindPool:
		d.table = otherPool(e.Via)
	default:
		d.table = table{e.Ask, e.Look, e.Cancel, e.AskPattern, e.LookPattern, e.Waiting, e.Running, e.Over}
	}
	return d
}

// Name returns the name of a pilot's job.
func (d *Driver) Name(pilot int) string { return "fs-" + d.Pool + "-" + strconv.Itoa(pilot) }

// Ask asks for a pilot, and returns the engine's name for its job. After an error the engine may have the job.
func (d *Driver) Ask(ctx context.Context, r Request) (ref string, err error) {
	c := d.command(d.table.ask, d.values(r), r.Owner)
	if c.Input = d.script(r); d.Kind == config.KindPool {
		c.Input = d.wish(r)
	}
	out, err := d.Run(ctx, c)
	if err != nil {
		return "", err
	}
	found := d.table.ref.FindSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("%s prints %.80q, in which there is no number of a job", c.Args[0], strings.TrimSpace(string(out)))
	}
	return string(found[len(found)-1]), nil
}

// Look returns all pilots of the pool that the engine has, by one command. One of several sightings of a pilot is the
// last that the engine lists.
func (d *Driver) Look(ctx context.Context) ([]Sighting, error) {
	out, err := d.Run(ctx, d.command(d.table.look, map[string]string{}, ""))
	if err != nil {
		return nil, err
	}
	row := d.table.row
	ref, name, state := row.SubexpIndex("ref"), row.SubexpIndex("name"), row.SubexpIndex("state")
	var list []Sighting
	for _, found := range row.FindAllSubmatch(out, -1) {
		number, ours := strings.CutPrefix(string(found[name]), d.Name(0)[:len(d.Name(0))-1])
		pilot, err := strconv.Atoi(number)
		if !ours || err != nil {
			continue
		}
		says := string(found[state])
		s := Sighting{Ref: string(found[ref]), Pilot: pilot, State: d.state(says), Says: says}
		if why := row.SubexpIndex("why"); why >= 0 && len(found[why]) > 0 && string(found[why]) != "None" {
			s.Says += " (" + string(found[why]) + ")"
		}
		list = append(list, s)
	}
	return list, nil
}

// state returns the state that a word of the engine's means.
func (d *Driver) state(word string) State {
	is := func(e *regexp.Regexp) bool { return e != nil && e.MatchString(word) }
	switch t := d.table; {
	case is(t.over):
		return Over
	case is(t.running):
		return Running
	case is(t.waiting):
		return Waiting
	}
	return Unknown
}

// Cancel has the engine end jobs of one owner, which it warns first.
func (d *Driver) Cancel(ctx context.Context, owner string, refs []string) error {
	c := d.command(d.table.cancel, map[string]string{}, owner)
	if i := slices.Index(c.Args, "{ref}"); i >= 0 {
		c.Args = slices.Replace(c.Args, i, i+1, refs...)
	} else {
		c.Args = append(c.Args, refs...)
	}
	_, err := d.Run(ctx, c)
	return err
}

// command fills a template in.
func (d *Driver) command(template []string, values map[string]string, owner string) Command {
	args := slices.Clone(template)
	for i := range args {
		for name, value := range values {
			args[i] = strings.ReplaceAll(args[i], "{"+name+"}", value)
		}
	}
	if !strings.Contains(args[0], "/") {
		args[0] = path.Join(d.Bin, args[0])
	}
	return Command{Args: args, Env: d.Env, Owner: owner}
}

// values are the variables of the template of ask.
func (d *Driver) values(r Request) map[string]string {
	seconds := func(t time.Duration) string { return strconv.Itoa(int(math.Ceil(t.Seconds()))) }
	return map[string]string{
		"name": d.Name(r.Pilot), "pilot": strconv.Itoa(r.Pilot), "cpus": strconv.FormatInt(d.Cpus, 10), "memory": strconv.FormatInt(d.MemoryMB, 10),
		"time": seconds(d.Time), "minutes": strconv.Itoa(int(math.Ceil(d.Time.Minutes()))), "warn": seconds(r.Warn), "soft": seconds(d.Time - r.Warn),
	}
}

// Wish is what another pool is asked for, as JSON: a job that is a pilot of this one.
type Wish struct {
	Name  string // of the job
	Pilot int
	Token string
	Home  string // the command by which the pilot calls its pool
	// User is the submitter of the pilot's jobs, with the domain.
	User         string
	Cpus, Memory int64 // Memory in MB
	Idle, Time   int   // in seconds
}

func (d *Driver) wish(r Request) string {
	text, _ := json.Marshal(Wish{ // which has nothing that cannot be written
		Name: d.Name(r.Pilot), Pilot: r.Pilot, Token: r.Token, Home: d.Home, User: r.User, Cpus: d.Cpus, Memory: d.MemoryMB,
		Idle: int(math.Ceil(d.Idle.Seconds())), Time: int(d.Time.Seconds()),
	})
	return string(text)
}

// script returns the job: it writes the token to a file, and becomes the pilot.
func (d *Driver) script(r Request) string {
	state := cmp.Or(d.State, "/var/tmp") + "/" + d.Name(r.Pilot)
	return fmt.Sprintf(`#!/bin/sh
umask 077
cd "$HOME" 2>/dev/null || cd /
state=%s
mkdir -p "$state" && [ -O "$state" ] || exit 1
printf '%%s %%s\n' %d %s >"$state/token" || exit 1
exec %s -pilot -q -state "$state" -home %s -token "$state/token" -idle %d -time %d
`, Quoted(state), r.Pilot, Quoted(r.Token), Quoted(Below(d.Starter)), Quoted(d.Home), int(math.Ceil(d.Idle.Seconds())), int(d.Time.Seconds()))
}

// slurm is Slurm, as of 22.05. The state words are squeue(1)'s. REQUEUED and the like mean that the job waits again.
var slurm = table{
	ask: []string{
		"sbatch", "--parsable", "--no-requeue", "--job-name={name}", "--output=/dev/null", "--chdir=/", "--nodes=1", "--ntasks=1",
		"--cpus-per-task={cpus}", "--mem={memory}", "--time={minutes}", "--signal=B:USR1@{warn}",
	},
	ref:  regexp.MustCompile(`(?m)^(\d+)`),
	look: []string{"squeue", "--noheader", "--states=all", "--format=%i|%j|%T|%r"},
	row:  regexp.MustCompile(`(?m)^(?P<ref>\d+)\|(?P<name>[^|\n]*)\|(?P<state>\w+)\|(?P<why>[^|\n]*)$`),

	waiting: regexp.MustCompile(`^(PENDING|CONFIGURING|REQUEUED|REQUEUE_FED|REQUEUE_HOLD|RESV_DEL_HOLD|SPECIAL_EXIT)$`),
	running: regexp.MustCompile(`^(RUNNING|COMPLETING|RESIZING|SIGNALING|STAGE_OUT|STOPPED|SUSPENDED)$`),
	over:    regexp.MustCompile(`^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|REVOKED|TIMEOUT)$`),
	cancel:  []string{"scancel"},
}

// gridEngine is Grid Engine, as of 8.1.9. It lists no job that has ended. The letters of states are qstat(1)'s.
var gridEngine = table{
	ask: []string{
		"qsub", "-terse", "-N", "{name}", "-o", "/dev/null", "-j", "y", "-wd", "/", "-S", "/bin/sh", "-r", "n", "-notify",
		"-l", "h_rt={time},s_rt={soft}",
	},
	ref:  regexp.MustCompile(`(?m)^(\d+)`),
	look: []string{"qstat", "-u", "*", "-xml"},
	row:  regexp.MustCompile(`(?s)<JB_job_number>(?P<ref>\d+)</JB_job_number>.*?<JB_name>(?P<name>[^<]*)</JB_name>.*?<state>(?P<state>\w+)</state>`),

	waiting: regexp.MustCompile(`q`),
	running: regexp.MustCompile(`^d?[rtRsST]+$|^d[rtRsST]*$`),
	cancel:  []string{"qdel"},
}

// otherPool is serve -flock of another pool, to which a command leads. It lists no job that has left its queue.
func otherPool(via []string) table {
	verb := func(words ...string) []string { return slices.Concat(via, words) }
	return table{
		ask:  verb("ask"),
		ref:  regexp.MustCompile(`(?m)^(\d+)$`),
		look: verb("look"),
		row:  regexp.MustCompile(`(?m)^(?P<ref>\d+)\|(?P<name>[^|\n]*)\|(?P<state>\w+)\|(?P<why>.*)$`),

		waiting: regexp.MustCompile(`^idle$`),
		running: regexp.MustCompile(`^(running|suspended)$`),
		over:    regexp.MustCompile(`^held$`),
		cancel:  verb("cancel"),
	}
}

// Quoted returns a word as a shell takes it.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Below returns a path that does not begin with a slash as one below the working directory: a home, where shells of engines begin.
func Below(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "./" + path
}
