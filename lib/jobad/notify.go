package jobad

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairspool/lib/jobargs"
	"fairspool/lib/jobevent"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// notifyCommand sets the program that is run for events of the job, and its arguments. A relative
// path is taken from the job's working directory.
func notifyCommand(j *job) error {
	g, ok, err := j.command("notify_command")
	if !ok || err != nil {
		return err
	}
	words, err := jobargs.ParseV2(strings.TrimSpace(g.Text))
	switch {
	case err != nil:
		return j.refuse(g, "%w", err)
	case len(words) == 0 || words[0] == "":
		return j.refuse(g, "want a program and its arguments")
	}
	dir, err := j.folder()
	if err != nil {
		return err
	}
	program, arguments := absolute(dir.Text, words[0]), jobargs.FormatV2(words[1:])
	if err := errors.Join(notifyProgram(program), notifyArguments(arguments)); err != nil {
		return j.refuse(g, "%w", err)
	}
	j.setString(pool.AttrNotifyCommand, program)
	if arguments != "" {
		j.setString(pool.AttrNotifyArguments, arguments)
	}
	return nil
}

// notifyEvents sets the events for which the program is run.
func notifyEvents(j *job) error {
	g, ok, err := j.command("notify_events")
	if !ok || err != nil {
		return err
	}
	set, err := jobevent.ParseSet(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	j.setString(pool.AttrNotifyEvents, set.String())
	return nil
}

// maxNotify bounds the path of the program and the text of its arguments, in bytes each.
const maxNotify = 4095

// notifyProgram returns why a text is no path of a program that can be run for events.
func notifyProgram(text string) error {
	if err := checkPath(text); err != nil {
		return err
	}
	return notifyText(text)
}

// notifyArguments returns why a text is no arguments of such a program.
func notifyArguments(text string) error {
	if err := notifyText(text); err != nil {
		return err
	}
	return checkArguments(text)
}

func notifyText(text string) error {
	switch {
	case len(text) > maxNotify:
		return fmt.Errorf("%s: %d bytes, at most %d", submitfile.Shorten(text), len(text), maxNotify)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%q: has control characters", submitfile.Shorten(text))
	}
	return nil
}

func checkEvents(text string) error {
	_, err := jobevent.ParseSet(text)
	return err
}
