package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// trouble is where a supervisor tells what went wrong: starter.log in the
// spool, one line each. The same trouble in a row is told once.
type trouble struct {
	dir     string
	attempt attempt
	last    string
}

// open opens the log for appending: each line is one write, so that several
// supervisors can write at once.
func (t *trouble) open() (*os.File, error) {
	return os.OpenFile(filepath.Join(t.dir, "starter.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// add tells of err. If even that is impossible there is nobody left to tell.
func (t *trouble) add(err error) {
	if err.Error() == t.last {
		return
	}
	t.last = err.Error()
	if spoolIsGone(t.dir) {
		return
	}
	f, e := t.open()
	if e != nil {
		return
	}
	defer f.Close()
	line := strings.ReplaceAll(t.last, "\n", `\n`)
	fmt.Fprintf(f, "%s job %v, attempt %d: %s\n", time.Now().UTC().Format(time.RFC3339), t.attempt.Job, t.attempt.Number, line)
}

// detach lets go of the pass that is listening: from now on standard output
// leads nowhere and standard error, on which the Go runtime would speak its
// last words, to the log.
func (t *trouble) detach() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.add(err)
		return
	}
	defer null.Close()
	t.lead(1, null)
	log, err := t.open()
	if err != nil {
		t.lead(2, null)
		return
	}
	defer log.Close()
	t.lead(2, log)
}

// lead makes a standard descriptor lead to f.
func (t *trouble) lead(fd int, f *os.File) {
	if err := unix.Dup3(int(f.Fd()), fd, 0); err != nil {
		t.add(err)
	}
}
