package main

import (
	"errors"
	"fmt"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/plural"
	"fairspool/spool"
)

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
	s, err := c.ExistingSpool(false)
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

// archived is what was moved as JSON shows it.
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
	s, err := c.ExistingSpool(false)
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
		return c.JSON(foldingOf(done))
	}
	_, err = fmt.Fprintln(c.Stdout, tellFolding(done))
	return err
}

// folding is what was done as JSON shows it; times are in seconds.
type folding struct {
	Generation                    int
	FoldedBytes                   int64
	SegmentsWritten, SegmentsKept int
	WrittenBytes                  int64
	LockedSeconds, TookSeconds    float64
}

func foldingOf(f spool.Folding) folding {
	return folding{f.Generation, f.Folded, f.Written, f.Kept, f.Bytes, f.Locked.Seconds(), f.Took.Seconds()}
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
