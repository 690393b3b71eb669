package jobad

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// maxCredential bounds a name that usage is tallied under.
const maxCredential = 100

// credentials are the names that the policies of Maui and Grid Engine reckon
// by, beside the owner's.
var credentials = []struct{ command, attr string }{
	{"qos", pool.AttrQOS}, {"class", pool.AttrClass}, {"account", pool.AttrAcctGroup},
	{"unix_group", pool.AttrUnixGroup}, {"project", pool.AttrProject}, {"department", sge.AttrDepartment},
	{"parallel_environment", sge.AttrParallelEnvironment},
}

// ownParts are the commands that HTCondor does not know and that are worked out by
// a part of their own.
var ownParts = sync.OnceValue(func() []part {
	out := []part{
		orMacro("parallel_slots", (*job).parallelSlots),
		orMacro("deadline", (*job).deadline), orMacro("job_share", (*job).jobShare), orMacro("override_tickets", (*job).overrideTickets),
		orMacro("after_ok", func(j *job) error { return j.after("after_ok", jobpolicy.AttrAfterOk) }),
		orMacro("after_any", func(j *job) error { return j.after("after_any", jobpolicy.AttrAfterAny) }),
	}
	for _, c := range credentials {
		out = append(out, orMacro(c.command, func(j *job) error { return j.credential(c.command, c.attr) }))
	}
	return out
})

func (j *job) credential(command, attr string) error {
	g, ok, err := j.command(command)
	if err != nil {
		return err
	}
	if !ok {
		return j.usual(attr)
	}
	name := unquoted(g.Text)
	if err := credentialError(name); err != nil {
		return j.refuse(g, "%w", err)
	}
	j.setString(attr, name)
	return nil
}

// usual sets the name of a job that gives none.
func (j *job) usual(attr string) (err error) {
	name := ""
	switch attr {
	case pool.AttrUnixGroup:
		name = j.options.Group
	case pool.AttrAcctGroup:
		if name, err = j.accountName(); name != j.options.Account {
			return err // the accounting group has set it
		}
	case pool.AttrClass:
		if len(j.options.Classes) > 0 {
			name, err = j.class()
		}
	}
	if err == nil && credentialError(name) == nil {
		j.setString(attr, name)
	}
	return err
}

// accountName returns the account that the job names, or is in as one of an accounting group, or
// has for want of both.
func (j *job) accountName() (string, error) {
	for _, command := range []string{"account", "accounting_group"} {
		if g, ok, err := j.command(command); ok || err != nil {
			return unquoted(g.Text), err
		}
	}
	if nice, err := j.boolean("nice_user", false); nice || err != nil {
		return j.options.NiceGroup, err
	}
	return j.options.Account, nil
}

// class returns the class of a job that names none.
func (j *job) class() (string, error) {
	account, err := j.accountName()
	if name, ok := j.options.Classes[account]; ok {
		return name, err
	}
	return j.options.Classes[""], err
}

// credentialError returns why a text is no such name.
func credentialError(name string) error {
	switch {
	case name == "":
		return errors.New("empty name")
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' }):
		return fmt.Errorf("%q: want a name without blanks and double quotes", submitfile.Shorten(name))
	case utf8.RuneCountInString(name) > maxCredential:
		return fmt.Errorf("%q: %d characters, at most %d", submitfile.Shorten(name), utf8.RuneCountInString(name), maxCredential)
	}
	return nil
}

// unquoted returns a value without the double quotes that may be around it.
func unquoted(text string) string {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}
