package main

import (
	"errors"
	"fmt"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/plural"
	"fairspool/spool"
)

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
