package cmdline

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"fairspool/lib/clean"
	"fairspool/spool"
)

// The exit statuses of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitLocked = ExitLocked
)

// ExitLocked is the exit status of a command that gave up because the spool
// stayed locked, EX_TEMPFAIL: cron may simply try again.
const ExitLocked = 75

// ErrReported makes a command fail without another word: Run has told on
// standard error what is wrong, or there is nothing that a person need know.
// Joined with spool.ErrLocked it keeps that error's exit status.
var ErrReported = errors.New("reported already")

// ErrDone is an error of Command.Before: the command is done, and serve is not needed.
var ErrDone = errors.New("done already")

type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// Usagef returns an error about how the command was called: exit status 2.
func Usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// report tells of err on w, in the name of a command, and returns the exit
// status for it.
func report(w io.Writer, name string, err error) int {
	var usage *usageError
	var exit *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &exit):
		return exit.status
	case errors.Is(err, ErrReported) && errors.Is(err, spool.ErrLocked):
		return exitLocked
	case errors.Is(err, ErrReported), errors.Is(err, syscall.EPIPE):
		return exitFailed
	}
	fmt.Fprintf(w, "%s: %s\n%s", name, oneLine(err.Error()), excerpt(err))
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, spool.ErrLocked):
		return exitLocked
	}
	return exitFailed
}

// excerpt returns what an error shows of the text that is wrong, as lines of their
// own; most show nothing.
func excerpt(err error) string {
	var shows interface{ Excerpt() string }
	if !errors.As(err, &shows) {
		return ""
	}
	text := shows.Excerpt()
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// oneLine keeps a message on one line whatever it quotes.
func oneLine(s string) string { return clean.Escaped(strings.TrimRight(s, "\n")) }

// exitError ends a command with an exit status that is not the command's own.
type exitError struct{ status int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// ExitStatus returns an error that gives the command this exit status, from 1 to
// 255, without another word: Run has told what there is to tell. It is for
// commands that wait for something and exit as that did. For 0 it is nil.
func ExitStatus(status int) error {
	if status == exitDone {
		return nil
	}
	return &exitError{status}
}
