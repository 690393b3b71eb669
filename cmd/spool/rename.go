package main

import (
	"errors"
	"fmt"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/operation"
	"fairspool/lib/plural"
	"fairspool/spool"
)

// renameDomain makes the UID_DOMAIN of the spool another one, with the names of all
// submitters. It opens the spool whatever the configuration says of the domain.
func renameDomain(c *cmdline.Call, args []string) error {
	if len(args) != 2 {
		return cmdline.Usagef("rename-domain: want the domain that the spool has, and the new one: rename-domain vm example.org")
	}
	d := operation.Renaming{From: args[0], To: args[1]}
	if d.To == "" || d.From == d.To || strings.ContainsAny(d.To, " \t\r\n@\"\\") {
		return cmdline.Usagef("rename-domain: %q: want another domain, without blanks, quotes and @", d.To)
	}
	who, err := c.Caller()
	if err == nil && !who.Admin {
		err = fmt.Errorf("you are %s: only administrators may rename the domain", who.Name)
	}
	if err != nil {
		return err
	}
	configured := c.Config.UIDDomain
	c.Config.UIDDomain = ""
	s, err := c.ExistingSpool(false)
	if err != nil {
		return err
	}
	n := 0
	if err := s.Negotiating(c.LockWait(), func() error {
		if s.Domain() != d.From {
			return fmt.Errorf("spool %s: its UID_DOMAIN is %s, not %s", s.Dir(), s.Domain(), d.From)
		}
		if err := s.RenameDomain(d.To, func(tx *spool.Tx) error {
			if err := d.Do(tx); err != nil {
				return err
			}
			for _, r := range tx.Submitters() {
				if strings.HasSuffix(r.Name, "@"+d.To) {
					n++
				}
			}
			return nil
		}); err != nil {
			return err
		}
		return renameReport(s, d)
	}); err != nil {
		return err
	}
	if configured != "" && configured != d.To {
		c.Warn("warning: the configuration says UID_DOMAIN = %q, with which no command opens this spool now: make it %q, or take the line out", configured, d.To)
	}
	if local := c.Config.LocalDomain; local == d.From {
		c.Warn("warning: the configuration says ACCOUNTANT_LOCAL_DOMAIN = %q: the pool's submitters count as remote now", local)
	}
	_, err = fmt.Fprintf(c.Stdout, "UID_DOMAIN is %s now, and was %s: %s renamed.\n", d.To, d.From, plural.Count(n, "submitter"))
	return err
}

// renameReport renames submitters in the last cycle's report, by which qstat tells why jobs
// wait. One that does not read stays as it is.
func renameReport(s *spool.Spool, d operation.Renaming) error {
	b, err := s.Report()
	var damage *spool.DamageError
	if b == nil || errors.Is(err, spool.ErrOutdated) || errors.As(err, &damage) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = s.SetReport([]byte(d.Text(spool.Unsealed(b))))
	return err
}
