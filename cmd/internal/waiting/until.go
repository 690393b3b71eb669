package waiting

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"fairspool/cmd/internal/cmdline"
)

// Far is how far the jobs have come when they are looked at.
type Far struct {
	Ended, All int
	Done       bool     // there is nothing more to wait for
	News       []string // lines to be told at once
}

// Pace is how to wait.
type Pace struct {
	Every   time.Duration  // from one look to the next
	Timeout *time.Duration // give up after that; nil: never
}

// What Until returns when the jobs have not ended.
var (
	ErrTimedOut    = errors.New("timed out")
	ErrInterrupted = errors.New("interrupted")
)

// Interrupted is the exit status of a command that was interrupted at waiting: that
// which shells give for SIGINT.
const Interrupted = bySignal + 2

// Until looks again and again until everything is done, which returns nil, or
// looking fails, which returns that error. When the time is up it looks once more.
// SIGINT ends the waiting, and a second one the process.
func Until(c *cmdline.Call, pace Pace, look func() (Far, error)) error {
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var timeout <-chan time.Time
	if pace.Timeout != nil {
		timer := time.NewTimer(*pace.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	again := time.NewTicker(pace.Every)
	defer again.Stop()
	p := c.Progress("waiting")
	defer func() { p.End() }()
	for last := false; ; {
		far, err := look()
		if len(far.News) > 0 {
			p.End()
			for _, line := range far.News {
				c.Warn("%s", line)
			}
			p = c.Progress("waiting")
		}
		switch {
		case err != nil || far.Done:
			return err
		case last:
			return ErrTimedOut
		}
		p.Count(far.Ended, fmt.Sprintf("of %d jobs have ended", far.All))
		select {
		case <-again.C:
		case <-timeout:
			last = true
		case <-interrupted.Done():
			return ErrInterrupted
		}
	}
}
