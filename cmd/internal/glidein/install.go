package glidein

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/engine"
)

// mostCopies is how many machines get the program at a time.
const mostCopies = 8

// installed is what came of copying the program to a machine.
type installed struct {
	Machine, Engine string
	Path            string // of the program there
	Version         string `json:",omitempty"` // which it has told there
	Reason          string `json:",omitempty"` // why it was not installed; empty: it was
}

// install copies starter to machines, and tells the outcome of each.
func install(c *cmdline.Call) error {
	list, err := named(c, c.Args)
	if err != nil {
		return err
	}
	p, err := programs(c)
	if err != nil {
		return err
	}
	program := p.Program("starter")
	version, err := exec.Command(program, "-version").Output()
	if err != nil {
		return fmt.Errorf("%s -version: %w", program, err)
	}
	ours := lastLine(version)
	results := make([]installed, len(list))
	progress := c.Progress("installing")
	each(len(list), mostCopies, func(i int) { results[i] = copyTo(list[i], program, ours) },
		func(done int) { progress.Step(done, len(list)) })
	progress.End()
	return tellInstalled(c, results)
}

// each calls do for each of n things, counted from 0, at most so many at a time, and after each step
// with how many are done, one call at a time.
func each(n, most int, do func(i int), step func(done int)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	next, done := 0, 0
	take := func(finished bool) (i int) {
		mu.Lock()
		defer mu.Unlock()
		if finished {
			done++
			step(done)
		}
		i = next
		next++
		return i
	}
	for range min(n, most) {
		all.Go(func() {
			for i := take(false); i < n; i = take(true) {
				do(i)
			}
		})
	}
	all.Wait()
}

// script takes the program from standard input, and puts it in its place when all of it has come and
// it runs. $1 is the place, $2 the number of its bytes. It is one line: csh takes no quoted newline.
var script = strings.Join([]string{
	`set -e`,
	`case $1 in /*) p=$1;; *) p=./$1;; esac`,
	`mkdir -p "${p%/*}"`,
	`new=$p.new.$$`,
	`trap 'rm -f "$new"' EXIT`,
	`cat >"$new"`,
	`[ "$(wc -c <"$new")" -eq "$2" ] || { echo "only a part of the program came" >&2; exit 1; }`,
	`chmod 755 "$new"`,
	`"$new" -version`,
	`mv -f "$new" "$p"`,
}, "; ")

// copyTo copies the program to a machine, where it has to say that it is our version.
func copyTo(m machine, program, ours string) installed {
	r := installed{Machine: m.name, Engine: m.engine.Name, Path: m.engine.Starter}
	answer, err := remote(m, program)
	switch {
	case err != nil:
		r.Reason = err.Error()
	case lastLine(answer) != ours:
		r.Reason = fmt.Sprintf("it answers %q, not %q", lastLine(answer), ours)
	default:
		r.Version = ours
	}
	return r
}

// remote runs the script on a machine, and returns its output. The error is the last line of its
// standard error.
func remote(m machine, program string) ([]byte, error) {
	f, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// ssh joins the words with blanks, and the account's shell there, whichever it is, parts them again.
	words := []string{"sh", "-c", engine.Quoted(script), "sh", engine.Quoted(m.engine.Starter), fmt.Sprint(info.Size())}
	c := exec.Command(m.engine.SSH[0], slices.Concat(m.engine.SSH[1:], []string{m.name}, words)...)
	var out, bad bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = f, &out, &bad
	err = c.Run()
	if text := lastLine(bad.Bytes()); err != nil && text != "" {
		err = errors.New(text)
	}
	return out.Bytes(), err
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(bytes.TrimSpace(text[bytes.LastIndexByte(text, '\n')+1:]))
}

// tellInstalled prints what came of each copy. It fails if one did not succeed.
func tellInstalled(c *cmdline.Call, results []installed) error {
	var err error
	for _, r := range results {
		switch {
		case r.Reason != "":
			c.Warn("%s: %s", r.Machine, r.Reason)
			err = cmdline.ErrReported
		case !c.Has("json") && !c.Has("q"):
			fmt.Fprintf(c.Stdout, "%s: %s is %s\n", r.Machine, r.Path, strings.TrimPrefix(r.Version, "starter "))
		}
	}
	if c.Has("json") {
		return errors.Join(err, c.JSON(struct{ Machines []installed }{results}))
	}
	return err
}
