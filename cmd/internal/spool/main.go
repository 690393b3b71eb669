// Package spool is the command that takes care of a spool: it checks, measures, folds and copies
// it, saves the whole parts of a damaged one, archives months, and shows who changed what.
package spool

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/spool"
)

func Command() cmdline.Command {
	return cmdline.Command{
		Name:  "spool",
		Brief: "check, measure, fold, archive, copy and mend a spool",
		Synopsis: []string{
			"check [-json | -q]",
			"salvage [-json] NEWDIR",
			"dump [-json] [FILE]",
			"restore [-json] [FILE]",
			"stat [-json]",
			"compact [-json | -q]",
			"archive [-damaged] [-json] MONTH [DIR]",
			"rename-domain [-json] OLD NEW",
			"log [-since TIME] [-who USER] [-n NUMBER] [-json]",
		},
		About: `Maintains the spool. The first word says what to do. Only restore and salvage create a spool.

check reads every byte that the spool has on record, and changes nothing; other commands may work meanwhile. It prints a summary, and all damage with file and line. Exit status 1 means damage.

salvage writes the undamaged parts of a spool to a new spool in NEWDIR. The old spool does not change.

dump writes all that the spool holds as plain ads, to FILE or to standard output. restore makes an equal spool of a dump, in the directory of -spool, which must be new or empty. To carry a spool over to the format of a new version, dump it with the old version and restore it with the new one.

stat shows what the spool holds, and how large its parts are.

compact folds the journal now; negotiate does so when the journal has 8 MB. Other commands may work meanwhile.

archive moves the history and the log of a past MONTH, such as 2026-10, to DIR, or to the folder archive of the spool, and records that they are archived. With -damaged it moves only damaged files, also of the current month, which then goes on in a new file.

rename-domain changes the UID_DOMAIN of the spool from OLD to NEW in one transaction: the names of submitters in accounts, jobs, claims and samples then end in @NEW. The configured UID_DOMAIN does not matter. To undo it, rename NEW to OLD.

log shows who did what, one transaction a line, the oldest first.`,
		Flags: []cmdline.Flag{
			{Name: "json", Help: "print JSON; dump: of the FILE that is written"},
			{Name: "q", Aliases: []string{"quiet"}, Help: "check, compact: print nothing unless something needs attention"},
			{Name: "damaged", Help: "archive: move only files with damage, unchanged, also of the current month"},
			{Name: "since", Args: []string{"TIME"}, Help: "log: since TIME: Unix seconds, RFC 3339, a day, or an age such as 90m, 2h or 1d"},
			{Name: "who", Args: []string{"USER"}, Help: "log: only changes by USER, a name or a uid"},
			{Name: "n", Args: []string{"NUMBER"}, Help: "log: only the last NUMBER of these transactions"},
		},
		Examples: []cmdline.Example{
			{Does: "is anything damaged", Line: "spool check"},
			{Does: "save what is undamaged", Line: "spool salvage /var/spool/fairspool.saved"},
			{Does: "a backup while the pool works", Line: "spool dump /mnt/backup/pool.dump"},
			{Does: "make a spool of the backup", Line: "spool restore -spool /var/spool/fairspool.new /mnt/backup/pool.dump"},
			{Does: "how large the journal is", Line: "spool stat"},
			{Does: "fold the journal before a backup", Line: "spool compact -q"},
			{Does: "move the month of October to another disk", Line: "spool archive 2026-10 /mnt/backup/pool"},
			{Does: "give the pool the domain example.org instead of the machine's name", Line: "spool rename-domain vm example.org"},
			{Does: "what alice did since yesterday", Line: "spool log -who alice -since 1d"},
			{Does: "the last ten changes, for a program", Line: "spool log -n 10 -json"},
		},
		Outputs: func() []cmdline.Output {
			return []cmdline.Output{
				{Name: "spool-check", Value: checked{}}, {Name: "spool-stat", Value: status{}}, {Name: "spool-compact", Value: folding{}},
				{Name: "spool-archive", Value: archived{}}, {Name: "spool-dump", Value: cmdline.Wrote{}},
				{Name: "spool-restore", Value: restored{}}, {Name: "spool-salvage", Value: salvaged{}}, {Name: "spool-rename-domain", Value: renamed{}}, {Name: "spool-log", Value: cmdline.List{Member: "Transactions", Of: logged{}}},
			}
		},
		Actions: []cmdline.Action{
			{Name: "check", Flags: []string{"json", "q"}, Run: check},
			{Name: "salvage", Flags: []string{"json"}, Run: salvage},
			{Name: "dump", Flags: []string{"json"}, Run: dump},
			{Name: "restore", Flags: []string{"json"}, Run: restore},
			{Name: "stat", Flags: []string{"json"}, Run: stat},
			{Name: "compact", Flags: []string{"json", "q"}, Run: compact},
			{Name: "archive", Flags: []string{"damaged", "json"}, Run: archive},
			{Name: "rename-domain", Flags: []string{"json"}, Run: renameDomain},
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
	d := lifecycle.Renaming{From: args[0], To: args[1]}
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
	s, err := c.ExistingSpool()
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
		c.Warn("warning: the configuration says UID_DOMAIN = %q, with which no command can open this spool: change it to %q, or remove the line", configured, d.To)
	}
	if local := c.Config.LocalDomain; local == d.From {
		c.Warn("warning: the configuration says ACCOUNTANT_LOCAL_DOMAIN = %q: the pool's submitters count as remote now", local)
	}
	if c.Has("json") {
		return c.JSON(renamed{d.From, d.To, n})
	}
	_, err = fmt.Fprintf(c.Stdout, "UID_DOMAIN is %s now, and was %s: %s renamed.\n", d.To, d.From, plural.Count(n, "submitter"))
	return err
}

// renamed is what rename-domain prints with -json.
type renamed struct {
	From, To   string
	Submitters int // whose names changed
}

// renameReport renames submitters in the last cycle's report, by which qstat explains why
// jobs wait. A report that does not parse stays as it is.
func renameReport(s *spool.Spool, d lifecycle.Renaming) error {
	b, err := s.Report()
	var damage *spool.DamageError
	if b == nil || errors.Is(err, spool.ErrOutdated) || errors.As(err, &damage) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.SetReport(strings.NewReader(d.Text(spool.Unsealed(b))))
}

// dump writes the spool as ads.
func dump(c *cmdline.Call, args []string) error {
	file, err := oneFile("dump", args)
	switch {
	case err != nil:
		return err
	case file == "" && c.Has("json"):
		return cmdline.Usagef("-json: the dump goes to standard output: name a file")
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	if file == "" {
		return s.Dump(c.Data())
	}
	if spool.Inside(file, s.Dir()) {
		return cmdline.Usagef("dump: %s is in the spool: give a file outside of it", file)
	}
	n, err := cmdline.Replace(file, 0o600, s.Dump)
	if err != nil {
		return fmt.Errorf("%s: not written: %w", file, cmdline.Cause(err))
	}
	if c.Has("json") {
		return c.JSON(cmdline.Wrote{File: file, Bytes: n})
	}
	_, err = fmt.Fprintf(c.Stdout, "%s written to %s.\n", size(n), file)
	return err
}

// oneFile returns the file that an action is to use, empty for standard input
// or output.
func oneFile(action string, args []string) (string, error) {
	switch {
	case len(args) == 0 || len(args) == 1 && args[0] == "-":
		return "", nil
	case args[0] == "":
		return "", cmdline.Usagef("%s: the name of the file is empty", action)
	}
	return args[0], noMore(action, args[1:])
}

// restore makes a spool from the output of dump.
func restore(c *cmdline.Call, args []string) error {
	file, err := oneFile("restore", args)
	if err != nil {
		return err
	}
	dir, err := directory(c)
	if err != nil {
		return err
	}
	from := c.Stdin
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, cmdline.Cause(err))
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return fmt.Errorf("%s: is a directory", file)
		}
		from = f
	}
	p := c.Progress("restoring")
	made, err := spool.Restore(dir, from, c.SpoolOptions(), func(ads int) { p.Count(ads, "ads") })
	p.End()
	var wrong *spool.DumpError
	if errors.As(err, &wrong) && file != "" {
		return fmt.Errorf("%s:%d: %s", file, wrong.Line, wrong.Why)
	}
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(restored{dir, made.Domain, made.Contents})
	}
	_, err = fmt.Fprintf(c.Stdout, "Restored into %s, UID_DOMAIN %s: %s.\n", dir, made.Domain, contents(made.Contents))
	return err
}

// salvage saves the whole parts. It reports losses, which are no failure: the new spool
// exists.
func salvage(c *cmdline.Call, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cmdline.Usagef("salvage: want one new directory for the undamaged parts")
	}
	dir, err := directory(c)
	if err != nil {
		return err
	}
	to, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if spool.Inside(to, dir) {
		return cmdline.Usagef("salvage: %s is in the spool, which must not change", args[0])
	}
	saved, err := spool.Salvage(dir, to, c.SpoolOptions(), func(f spool.Finding) {
		if f.Damaged {
			c.Warn("%s: %s", place(f), f.What)
		}
	})
	if err != nil {
		return err
	}
	if c.Has("json") {
		err = c.JSON(salvaged{to, saved.Contents, saved.Lost})
	} else if _, err = fmt.Fprintf(c.Stdout, "Saved into %s: %s.\n", to, contents(saved.Contents)); err == nil && saved.Lost == 0 {
		_, err = fmt.Fprintln(c.Stdout, "Nothing is lost.")
	}
	if err != nil || saved.Lost == 0 {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	c.Warn("%s: %s %s damaged: the parts named above are missing from the new spool, or were copied unverified", dir, plural.Count(saved.Lost, "place"), plural.Pick(saved.Lost, "is", "are"))
	return nil
}

// directory returns the directory of the spool, absolute, whatever is there.
func directory(c *cmdline.Call) (string, error) {
	dir, err := c.SpoolDir()
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// restored is what restore prints with -json.
type restored struct {
	Directory string
	UIDDomain string `json:"UidDomain"`
	spool.Contents
}

// salvaged is what salvage prints with -json.
type salvaged struct {
	Directory string
	spool.Contents
	Damaged int // places of the old spool
}

// contents words the content of a new spool.
func contents(n spool.Contents) string {
	parts := []string{
		plural.Count(n.Jobs, "job") + " in " + plural.Count(n.Clusters, "cluster"), plural.Count(n.Slots, "slot"), plural.Count(n.Claims, "claim"),
		plural.Count(n.Submitters, "submitter"), plural.Count(n.Left, "job") + " of the history",
	}
	if n.Factories > 0 { // most pools have none
		parts = append(parts, plural.Count(n.Factories, "factory"))
	}
	return strings.Join(parts, ", ")
}

// archive moves the files of a month out of the spool.
func archive(c *cmdline.Call, args []string) error {
	if len(args) == 0 || args[0] == "" {
		return cmdline.Usagef("archive: want the month, such as 2026-10")
	}
	dir := ""
	if len(args) > 1 {
		if dir = args[1]; dir == "" {
			return cmdline.Usagef("archive: the name of the directory is empty")
		}
		if err := noMore("archive", args[2:]); err != nil {
			return err
		}
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	files, err := s.Archive(args[0], dir, c.Has("damaged"))
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(archivedOf(args[0], files))
	}
	if len(files) == 0 {
		_, err = fmt.Fprintf(c.Stdout, "%s is archived already.\n", args[0])
	}
	for _, f := range files {
		if err == nil {
			_, err = fmt.Fprintln(c.Stdout, tellArchived(f))
		}
	}
	return err
}

func tellArchived(f spool.Archived) string {
	switch {
	case f.To == "":
		return f.File + " was missing: it is no longer recorded."
	case f.Damaged:
		return fmt.Sprintf("%s is damaged: %s moved to %s.", f.File, size(f.Bytes), f.To)
	}
	return fmt.Sprintf("%s: %s moved to %s.", f.File, size(f.Bytes), f.To)
}

// archived is the JSON of a moved month.
type archived struct {
	Month string
	Files []archivedFile
}

type archivedFile struct {
	File     string
	To       string `json:",omitempty"` // not there: the file was missing
	Bytes    int64
	Checksum string // CRC-32C
	Damaged  bool
}

func archivedOf(month string, files []spool.Archived) archived {
	list := make([]archivedFile, len(files))
	for i, f := range files {
		list[i] = archivedFile{f.File, f.To, f.Bytes, fmt.Sprintf("%08x", f.CRC), f.Damaged}
	}
	return archived{month, list}
}

// compact folds the journal, however small it is.
func compact(c *cmdline.Call, args []string) error {
	if err := noMore("compact", args); err != nil {
		return err
	}
	if _, err := c.One("json", "q"); err != nil {
		return err
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	p := c.Progress("folding")
	done, err := s.Fold(0, p.Step)
	p.End()
	switch {
	case c.Has("q") && errors.Is(err, spool.ErrFolding):
		return errors.Join(cmdline.ErrReported, err) // that one does the work
	case err != nil:
		return err
	case c.Has("q"):
		return nil
	case c.Has("json"):
		return c.JSON(folding{done.Generation, done.Folded, done.Written, done.Kept, done.Bytes, done.Locked.Seconds(), done.Took.Seconds()})
	}
	_, err = fmt.Fprintln(c.Stdout, tellFolding(done))
	return err
}

// folding is the JSON of a fold; times are in seconds.
type folding struct {
	Generation                    int
	FoldedBytes                   int64
	SegmentsWritten, SegmentsKept int
	WrittenBytes                  int64
	LockedSeconds, TookSeconds    float64
}

func tellFolding(f spool.Folding) string {
	if f.Folded == 0 {
		return fmt.Sprintf("The journal is empty: generation %d stays.", f.Generation)
	}
	return fmt.Sprintf("%s of journal folded into generation %d: %s written (%s), %d kept as they were.\nWriters had to wait %s; the whole took %s.",
		size(f.Folded), f.Generation, plural.Count(f.Written, "segment"), size(f.Bytes), f.Kept, span(f.Locked), span(f.Took))
}

// span returns a duration in seconds, or in milliseconds where it is short.
func span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// stat describes the spool.
func stat(c *cmdline.Call, args []string) error {
	if err := noMore("stat", args); err != nil {
		return err
	}
	s, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	st, err := s.Stat()
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(statusOf(s.Dir(), st))
	}
	for _, l := range statLines(s.Dir(), st) {
		if _, err := fmt.Fprintf(c.Stdout, "%-13s %s\n", l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}

// statLines returns what people want to know, each with a heading.
func statLines(dir string, st spool.Stat) [][2]string {
	lines := [][2]string{
		{"Spool", dir},
		{"Format", fmt.Sprintf("%d, UID_DOMAIN %s, id %s", st.Format, st.Domain, st.ID)},
		{"Generation", fmt.Sprint(st.Generation)},
		{"Transactions", fmt.Sprintf("%d, %d of them in the journal", st.Seq, st.Transactions)},
		{"Journal", fmt.Sprintf("%s; negotiate folds it at %s", size(st.Journal), size(spool.JournalSize))},
		{"Segments", fmt.Sprintf("%d, %s; tables %s", st.Segments, size(st.SegmentBytes), size(st.TableBytes))},
		{"Jobs", fmt.Sprintf("%d in %s; the next cluster is %d", st.Jobs, plural.Count(st.Clusters, "cluster"), st.Next)},
		{"Slots", fmt.Sprintf("%d advertised, %d left alone for a while", st.Slots, st.Backoffs)},
		{"Claims", fmt.Sprint(st.Claims)},
		{"Submitters", fmt.Sprint(st.Submitters)},
		{"Tallies", fmt.Sprint(st.Tallies)},
		{"Factories", factories(st)},
		{"History", months(st.History)},
		{"Log", months(st.Log)},
		{"Samples", samples(st.Samples)},
	}
	if len(st.Older) > 0 {
		numbers := strings.Trim(fmt.Sprint(st.Older), "[]")
		lines = append(lines, [2]string{"Kept", plural.Count(len(st.Older), "old generation") + " (" + numbers + "), while a reader uses them"})
	}
	return lines
}

// factories says what clusters are made a few procs at a time.
func factories(st spool.Stat) string {
	if st.Factories == 0 {
		return "none"
	}
	return fmt.Sprintf("%d, digests %s", st.Factories, size(st.DigestBytes))
}

// months sums up files of months.
func months(files map[string]int64) string {
	if len(files) == 0 {
		return "none"
	}
	total := int64(0)
	for _, n := range files {
		total += n
	}
	names := slices.Sorted(maps.Keys(files))
	if len(names) == 1 {
		return fmt.Sprintf("%s, of %s", size(total), names[0])
	}
	return fmt.Sprintf("%s, %s from %s to %s", size(total), plural.Count(len(names), "month"), names[0], names[len(names)-1])
}

// samples sums up the tiers.
func samples(tiers map[string]int64) string {
	if len(tiers) == 0 {
		return "none"
	}
	total := int64(0)
	for _, n := range tiers {
		total += n
	}
	return size(total)
}

// status is what JSON shows of a spool. Sizes are in bytes.
type status struct {
	Directory           string
	Format              int
	UIDDomain           string `json:"UidDomain"`
	ID                  string `json:"Id"`
	Generation          int
	OlderGenerations    []int // that still have readers
	LastTransaction     uint64
	NextCluster         int
	JournalTransactions int
	JournalBytes        int64
	FoldedAtBytes       int64 // by negotiate
	Segments            int
	SegmentBytes        int64
	TableBytes          int64
	Clusters, Jobs      int
	Slots               int // advertised
	Claims, Submitters  int
	Backoffs            int // slots that are left alone
	Tallies, Marks      int
	Factories           int              // clusters with procs that are made a few at a time
	DigestBytes         int64            // of the factories
	HistoryBytes        map[string]int64 // by month
	LogBytes            map[string]int64 // by month
	SampleBytes         map[string]int64 // by tier
}

func statusOf(dir string, st spool.Stat) status {
	return status{
		Directory: dir, Format: st.Format, UIDDomain: st.Domain, ID: st.ID,
		Generation: st.Generation, OlderGenerations: append([]int{}, st.Older...),
		LastTransaction: st.Seq, NextCluster: st.Next,
		JournalTransactions: st.Transactions, JournalBytes: st.Journal, FoldedAtBytes: spool.JournalSize,
		Segments: st.Segments, SegmentBytes: st.SegmentBytes, TableBytes: st.TableBytes,
		Clusters: st.Clusters, Jobs: st.Jobs, Slots: st.Slots, Claims: st.Claims, Submitters: st.Submitters, Backoffs: st.Backoffs,
		Tallies: st.Tallies, Marks: st.Marks, Factories: st.Factories, DigestBytes: st.DigestBytes,
		HistoryBytes: st.History, LogBytes: st.Log, SampleBytes: st.Samples,
	}
}
