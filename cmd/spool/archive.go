package main

import (
	"fmt"

	"fairspool/cmd/internal/cmdline"
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
