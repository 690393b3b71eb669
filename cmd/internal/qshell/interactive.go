package qshell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/qdel"
	"fairspool/lib/pool"
)

// stays is the program of a job that is there for a shell: the supervisor ends it with the shell.
var stays = []string{"/bin/sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait"}

// notInteractive are the options of submit that have no meaning for a job that is there for a shell.
var notInteractive = []string{"dry-run", "wait", "json", "terse", "verbose", "queue", "file", "output", "error", "unique", "array"}

// Interactive is submit -interactive: it submits a job for a shell by the command submit, waits until it runs, and runs
// the shell, or the words behind --, beside it on this terminal. The job ends with the shell, and leaves the queue if
// the command is ended before.
func Interactive(c *cmdline.Call, submit cmdline.Command) error {
	for _, name := range notInteractive {
		if c.Has(name) {
			return cmdline.Usagef("-interactive and -%s: only one of them at a time", name)
		}
	}
	for _, word := range c.Args {
		if name, _, is := strings.Cut(word, "="); !is || strings.Contains(name, "/") {
			return cmdline.Usagef("%s: -interactive takes options, NAME=VALUE, and behind -- what to run in the place of a shell", word)
		}
	}
	id, err := submitStay(c, submit)
	if err != nil {
		return err
	}
	common, err := c.Common()
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		sig, ok := (<-interrupted).(unix.Signal)
		if ok {
			leave(id, common)
			os.Exit(128 + int(sig))
		}
	}()
	fmt.Fprintf(c.Stderr, "Job %v submitted; waiting for a slot. ^C removes it.\n", id)
	args := append(slices.Clone(common), "-wait", id.String())
	if len(c.CommandLine) > 0 {
		args = append(append(args, "--"), c.CommandLine...)
	}
	status := cmdline.Execute(Command(), args, c.Stdin, screen{c}, c.Stderr)
	if status == 1 || status == cmdline.ExitLocked { // there may have been no shell
		leave(id, common)
	}
	return cmdline.ExitStatus(status)
}

// submitStay submits the job with the caller's options and definitions.
func submitStay(c *cmdline.Call, submit cmdline.Command) (id pool.JobID, err error) {
	words := c.Typed
	if i := slices.Index(words, "--"); i >= 0 {
		words = words[:i]
	}
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return word == "-interactive" || word == "--interactive" || word == "-i"
	})
	if !c.Has("batch-name") {
		words = append([]string{"-name", "interactive"}, words...)
	}
	words = append([]string{"-json", "-output", os.DevNull, "-error", os.DevNull, "-append", "+" + pool.AttrInteractive + " = true"}, words...)
	var out bytes.Buffer
	status := cmdline.Execute(submit, append(append(words, "--"), stays...), strings.NewReader(""), &out, c.Stderr)
	var told struct{ ClusterID int }
	if status != 0 {
		return id, cmdline.ExitStatus(status)
	}
	if err := json.Unmarshal(out.Bytes(), &told); err != nil || told.ClusterID == 0 {
		return id, fmt.Errorf("what submit says of the job: %.200q", out.String())
	}
	return pool.JobID{Cluster: told.ClusterID}, nil
}

// leave takes the job out of the queue, unless it has left already.
func leave(id pool.JobID, common []string) {
	cmdline.Execute(qdel.Command(), append(slices.Clone(common), strconv.Itoa(id.Cluster)), strings.NewReader(""), io.Discard, io.Discard)
}
