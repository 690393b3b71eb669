// Package heard keeps, in a spool directory, when other machines were last heard of. No transaction
// does that and nothing waits for the disk: what is lost after a power cut is a sign of life that is
// older than the boot.
package heard

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Sign is a sign of life of a machine, by the clocks of the spool's host.
type Sign struct {
	Boot string        // the boot of the spool's host, as it names it; one word
	Up   time.Duration // of the host, suspended time included, when the sign was received
	At   time.Time     // the policy time then
	Served
}

// Served is what a machine's pilot has done for the pool until the sign, but for what was lost in a power cut.
type Served struct {
	Pilot int           // its number; 0: it is not known which
	Jobs  int           // that ended by themselves there
	Idle  time.Duration // for so long it had no job, while it could be heard
}

// Elapsed returns how long ago the sign was received at least, when the host is up for the time up in
// a boot: where the host was booted since, that is since the boot. It depends on no clock that is set.
func (s Sign) Elapsed(boot string, up time.Duration) time.Duration {
	if s.Boot == boot {
		up -= s.Up
	}
	return max(up, 0)
}

// By returns for how long machines have not been heard of, by the signs in a spool directory, when its host
// is up for the time up in a boot; false where that is unknown.
func By(dir, boot string, up time.Duration) func(machine string) (time.Duration, bool) {
	return func(machine string) (time.Duration, bool) {
		s, ok, err := Last(dir, machine)
		return s.Elapsed(boot, up), ok && err == nil
	}
}

// size is that of the file: each sign is written over the one before it, by one write.
const size = 192

// Note makes a sign the last one of a machine, in whose name case does not matter.
func Note(dir, machine string, s Sign) error {
	text := fmt.Sprintf("%s %d %d %d %d %d .", s.Boot, s.Up.Nanoseconds(), s.At.UnixMilli(), s.Pilot, s.Jobs, s.Idle.Nanoseconds())
	if _, ok := parse(text); !ok || len(text) >= size || strings.Contains(text, "\n") {
		return fmt.Errorf("%.80q: not a sign of life", text)
	}
	// In a folder of its own, so that processes that wait for changes of the spool do not
	// wake.
	if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path(dir, machine), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%-*s\n", size-1, text)
	return errors.Join(err, f.Close())
}

// Last returns the last sign of a machine, in whose name case does not matter; false if
// there is no readable one.
func Last(dir, machine string) (Sign, bool, error) {
	b, err := os.ReadFile(path(dir, machine))
	if errors.Is(err, fs.ErrNotExist) {
		return Sign{}, false, nil
	}
	s, ok := parse(string(b))
	return s, ok, err
}

// parse is the inverse of what Note writes.
func parse(text string) (Sign, bool) {
	words := strings.Fields(text)
	if len(words) != 7 || words[6] != "." {
		return Sign{}, false
	}
	var n [5]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(words[i+1], 10, 64); err != nil || n[i] < 0 {
			return Sign{}, false
		}
	}
	up, at, pilot, jobs, idle := n[0], n[1], n[2], n[3], n[4]
	if at > math.MaxInt64/1_000_000 {
		return Sign{}, false
	}
	return Sign{words[0], time.Duration(up), time.UnixMilli(at).UTC(), Served{int(pilot), int(jobs), time.Duration(idle)}}, true
}

// Forget removes the signs of a machine.
func Forget(dir, machine string) error {
	err := os.Remove(path(dir, machine))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

const folder = "heard"

func path(dir, machine string) string {
	return filepath.Join(dir, folder, url.PathEscape(strings.ToLower(machine))+".sign")
}
