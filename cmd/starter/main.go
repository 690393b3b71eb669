package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/onchange"
	"fairspool/lib/asuser"
	"fairspool/lib/lifecycle"
	"fairspool/spool"
)

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:   "starter",
		AsRoot: true,
		Brief:  "run matched jobs on this machine",
		Synopsis: []string{
			"[-json | -q] [-wait] [options]",
			"-watch [-door] [-drain [-quick | -fast]] [-json | -q] [options]",
			"-drain [-graceful | -quick | -fast] [-reason TEXT] [-json | -q] [options]",
			"-drain -cancel [-json | -q] [options]",
		},
		About: `One pass, to be run from cron. Each job that was matched to a slot of this machine (NETWORK_HOSTNAME) is started under a supervisor: a process in the background that outlives the pass, records how the job ends, and makes it end when it is held or removed, has to leave its slot, or takes longer than it may.

A job whose supervisor has died is made idle again, after what was left of it has been killed. A job that cannot be started is held with the reason. One with a deferral_time waits for that in its slot.

With -watch it stays, starts what was matched as soon as that is so, and makes a pass every minute. SIGTERM and SIGINT end it, and the jobs go on; at SIGHUP it reads the configuration again.

With -drain this machine takes no more jobs, and those that are there leave it, to run again elsewhere.

Supervisors tell of trouble in starter.log in the spool.`,
		Flags: []cmdline.Flag{
			{Name: "q", Aliases: []string{"quiet"}, Help: "say nothing but bad news"},
			{Name: "json", Help: "report as JSON; with -watch, one object a line"},
			{Name: "wait", Help: "wait until the jobs that this pass started have ended"},
			{Name: "watch", Help: "stay, and start what is matched at once"},
			{Name: "door", Help: "-watch: let users of other accounts use the pool, by serve"},
			{Name: "drain", Help: "drain this machine and wait until its jobs have left; with -watch, when that is told to end"},
			{Name: "graceful", Help: "-drain: jobs have their retirement time, and then the time to vacate"},
			{Name: "quick", Help: "-drain: jobs have the time to vacate only"},
			{Name: "fast", Help: "-drain: jobs are killed at once"},
			{Name: "reason", Args: []string{"TEXT"}, Help: "-drain: why, for slots and jobs to say"},
			{Name: "cancel", Help: "-drain: let jobs come to this machine again"},
			cmdline.Force,
			{Name: "supervise", Args: []string{"CLUSTER.PROC.ATTEMPT"}, Help: "internal: supervise one attempt; a pass calls itself so"},
		},
		Examples: []cmdline.Example{
			{Does: "start what was matched, from cron", Line: "starter -q"},
			{Does: "start it and wait until all of it has ended", Line: "starter -wait"},
			{Does: "stay, as a service", Line: "starter -watch"},
			{Does: "stay, and let all users of the machine use the pool", Line: "starter -watch -door"},
			{Does: "empty the machine for an upgrade", Line: "starter -drain -reason 'new kernel'"},
			{Does: "open it again", Line: "starter -drain -cancel"},
		},
		Run: run,
	}
}

func run(c *cmdline.Call) error {
	handNothingOn()
	if err := serveAccount(c); err != nil {
		return err
	}
	if len(c.Args) > 0 {
		return cmdline.Usagef("%s: takes no arguments; see starter -help", c.Args[0])
	}
	if c.Has("supervise") {
		return supervisor(c, c.Value("supervise"))
	}
	if err := fit(c); err != nil {
		return err
	}
	sp, err := c.Spool()
	if err == nil {
		err = noteRoot(sp)
	}
	if err == nil {
		err = sp.View(func(v *spool.View) error { return lifecycle.Refuse(v, c.Reading()) })
	}
	if err != nil {
		return err
	}
	switch {
	case c.Has("watch"):
		return follow(c)
	case c.Has("drain"):
		return drain(c)
	}
	return pass(c)
}

// fit refuses options that have no meaning together.
func fit(c *cmdline.Call) error {
	for _, pair := range [][]string{
		{"json", "q"}, {"watch", "wait"}, {"drain", "wait"}, {"watch", "cancel"},
		{"graceful", "quick", "fast", "cancel"}, {"reason", "cancel"}, {"watch", "reason"},
	} {
		if _, err := c.One(pair...); err != nil {
			return err
		}
	}
	for _, flag := range []string{"graceful", "quick", "fast", "reason", "cancel"} {
		if c.Has(flag) && !c.Has("drain") {
			return cmdline.Usagef("-%s: has a meaning with -drain only", flag)
		}
	}
	if c.Has("door") && !c.Has("watch") {
		return cmdline.Usagef("-door: has a meaning with -watch only")
	}
	if strings.ContainsFunc(c.Value("reason"), unicode.IsControl) {
		return cmdline.Usagef("-reason: want one line, without control characters")
	}
	return nil
}

// serveAccount makes root's starter act with the rights of the account that the spool belongs to,
// if that is not root: what it does in the spool is done with these, and root's are taken back only
// for what a job's process and its owner's files need (package asuser). It fails if root is not to
// do that for this account. For others than root it fails if root's starter runs the jobs of
// the spool.
func serveAccount(c *cmdline.Call) error {
	dir, err := c.SpoolDir()
	if err != nil {
		return err
	}
	if !asuser.Privileged() {
		if spool.RunByRoot(dir) {
			return fmt.Errorf("spool %s: root's starter runs its jobs, as their owners: run this as root", dir)
		}
		return nil
	}
	uid, err := ownerOf(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("spool %s: %w", dir, cmdline.Cause(err))
	}
	if uid == 0 {
		return nil
	}
	account, known, err := asuser.LookUpID(uid)
	if err == nil && !known {
		err = errors.New("this machine knows no such user")
	}
	if err != nil {
		return fmt.Errorf("spool %s: belongs to uid %d: %w", dir, uid, err)
	}
	if uid >= c.Config.MinUID {
		return fmt.Errorf("spool %s: belongs to %s (uid %d), who could run jobs as any user if root ran them: root does so only for its own spool and for that of a system account, with a uid below MIN_UID = %d", dir, account.Name, uid, c.Config.MinUID)
	}
	if err := isRoots(c); err != nil {
		return err
	}
	return asuser.Serve(account, c.Config.MinUID)
}

// isRoots is an error if others than root may write to the configuration, which says for whom root
// acts, and what it runs.
func isRoots(c *cmdline.Call) error {
	args, err := c.Common()
	if err != nil {
		return err
	}
	path := cmdline.Here().Config
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "-config" {
			path = args[i+1]
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("configuration %s: %w", path, cmdline.Cause(err))
	}
	if about, ok := info.Sys().(*syscall.Stat_t); !ok || about.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("configuration %s: others than root may write to it, and root acts on it: chown root and chmod 644 it", path)
	}
	return nil
}

// ownerOf returns the uid that a file belongs to.
func ownerOf(path string) (uid int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	about, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return int(about.Uid), nil
}

// noteRoot notes in the spool that root's starter runs its jobs, if this is one.
func noteRoot(sp *spool.Spool) error {
	if _, serves := asuser.Served(); !serves {
		return nil
	}
	return sp.NoteRoot()
}

// openDoor lets users of other accounts use the spool: it keeps processes of serve, with the rights of the
// spool's account, waiting at the socket in the spool. shut ends that; callers that are served have
// their answers first. It is called while this process alone watches over the machine.
func openDoor(c *cmdline.Call, dir string) (shut func(), err error) {
	folder, prefix, ok := onchange.Siblings(c.Name)
	if !ok {
		return nil, errors.New("-door: serve does not stand beside starter: install all programs of fairspool in one folder")
	}
	program := onchange.Pool{Programs: folder, Prefix: prefix}.Program("serve")
	common, err := c.Common()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
		if err := os.Chmod(dir, 0o711); err != nil { // to pass through to the socket, and no more
			return nil, fmt.Errorf("-door: %w", err)
		}
	}
	l, err := door.Listen(dir)
	if err != nil {
		return nil, err
	}
	socket, err := l.File()
	if err != nil {
		l.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		door.Keep(ctx, socket, func(socket, taken *os.File) (*exec.Cmd, error) {
			p := exec.Command(program, common...)
			p.Dir, p.Stdin, p.ExtraFiles, p.Stderr = "/", socket, []*os.File{taken}, os.Stderr
			return p, asuser.Start(p)
		}, func(err error) { c.Warn("serve: %v", err) })
	}()
	return func() {
		cancel()
		l.Close() // which removes the socket
		socket.Close()
		<-over
	}, nil
}

// handNothingOn keeps files that our caller left open, such as the lock of a
// flock(1) in a crontab, from the processes that we start, which would keep
// them open for as long as a job runs.
func handNothingOn() {
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
