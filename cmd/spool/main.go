// Command spool takes care of a spool: it checks, measures, folds and copies
// it, saves what is whole of a damaged one, archives months, and tells who did what.
package main

import "fairspool/cmd/internal/cmdline"

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
