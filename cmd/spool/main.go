// Command spool takes care of a spool: it checks, measures, folds and copies
// it, saves what is whole of a damaged one, archives months, and tells who did what.
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

func main() { cmdline.Main(command()) }

func command() cmdline.Command {
	return cmdline.Command{
		Name:  "spool",
		Brief: "check, measure, fold, archive, copy and mend a spool",
		Synopsis: []string{
			"check [-json | -q]",
			"salvage NEWDIR",
			"dump [FILE]",
			"restore [FILE]",
			"stat [-json]",
			"compact [-json | -q]",
			"archive [-damaged] [-json] MONTH [DIR]",
			"rename-domain OLD NEW",
			"log [-since TIME] [-who USER] [-n NUMBER] [-json]",
		},
		About: `Takes care of the spool, which the other commands only use. The first word says what to do. Only restore and salvage make a spool; the others want one that is there.

check reads every byte that the spool has on record, also while others work with it, and changes nothing. It sums up what is sound and tells all damage, with file and line. Exit status 1 means damage.

salvage writes what is whole in a damaged spool into a new one in NEWDIR. The old one is not touched.

dump writes all that the spool holds as plain ads, to FILE or to standard output. restore makes an equal spool of that in the directory of -spool, which has to be new or empty. dump also reads a spool of an older format: the two together carry it over.

stat says what the spool holds, and how large its parts are.

compact folds the journal now, which negotiate does by itself when it has 8 MB. Others work on meanwhile.

archive moves the history and the log of a MONTH that has passed, such as 2026-10, to DIR, or to the folder archive of the spool, and records that they are archived. With -damaged it moves only the files that are damaged, also of the present month, which goes on in a new file.

rename-domain makes NEW the UID_DOMAIN of the spool, which is OLD, in one transaction: the submitters' names in accounts, jobs, claims and samples end in @NEW then. It works whatever UID_DOMAIN the configuration says. To undo it, rename NEW to OLD.

log tells who did what, one transaction a line, the oldest first.`,
		Flags: []cmdline.Flag{
			{Name: "json", Help: "check, stat, compact, archive, log: show JSON, for programs"},
			{Name: "q", Aliases: []string{"quiet"}, Help: "check, compact: print nothing unless something needs a person"},
			{Name: "damaged", Help: "archive: move only files that do not check, as they stand, also of the present month"},
			{Name: "since", Args: []string{"TIME"}, Help: "log: from TIME on, Unix seconds, RFC 3339, a day, or so long ago, such as 90m, 2h or 1d"},
			{Name: "who", Args: []string{"USER"}, Help: "log: what USER did, a name or a uid"},
			{Name: "n", Args: []string{"NUMBER"}, Help: "log: the last NUMBER transactions of these"},
		},
		Examples: []cmdline.Example{
			{Does: "is anything damaged", Line: "spool check"},
			{Does: "save what is whole", Line: "spool salvage /var/spool/fairspool.new"},
			{Does: "a backup while the pool works", Line: "spool dump /backup/pool.dump"},
			{Does: "the backup as a spool again", Line: "spool restore -spool /var/spool/fairspool.new /backup/pool.dump"},
			{Does: "carry a spool over to the format of this version", Line: "spool dump | spool restore -spool /var/spool/fairspool.new"},
			{Does: "how large the journal is", Line: "spool stat"},
			{Does: "fold the journal before a backup", Line: "spool compact -q"},
			{Does: "make room: move the month of October to another disk", Line: "spool archive 2026-10 /backup/pool"},
			{Does: "give the pool the domain example.org instead of the machine's name", Line: "spool rename-domain vm example.org"},
			{Does: "what alice did since yesterday", Line: "spool log -who alice -since 1d"},
			{Does: "the last ten changes, for a program", Line: "spool log -n 10 -json"},
		},
		Actions: []cmdline.Action{
			{Name: "check", Flags: []string{"json", "q"}, Run: check},
			{Name: "salvage", Run: salvage},
			{Name: "dump", Run: dump},
			{Name: "restore", Run: restore},
			{Name: "stat", Flags: []string{"json"}, Run: stat},
			{Name: "compact", Flags: []string{"json", "q"}, Run: compact},
			{Name: "archive", Flags: []string{"damaged", "json"}, Run: archive},
			{Name: "rename-domain", Run: renameDomain},
			{Name: "log", Flags: []string{"since", "who", "n", "json"}, Run: showLog},
		},
	}
}

// noMore refuses arguments beyond those that an action takes.
func noMore(action string, args []string) error {
	if len(args) > 0 {
		return cmdline.Usagef("%s: %s: takes no argument; -spool DIR names another spool", action, args[0])
	}
	return nil
}

// size returns a number of bytes as people say it, in powers of 1024.
func size(bytes int64) string {
	if bytes < 1024 {
		return plural.Count(int(bytes), "byte")
	}
	f, unit := float64(bytes)/1024, 0
	for ; f >= 1023.95 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%.1f %s", f, units[unit])
}

var units = []string{"KB", "MB", "GB", "TB"}

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
