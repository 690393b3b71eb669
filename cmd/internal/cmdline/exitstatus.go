package cmdline

import "fmt"

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
