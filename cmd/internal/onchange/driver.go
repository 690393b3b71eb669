package onchange

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// inherited is the descriptor on which a driver finds the file with the lock.
const inherited = 3

// Driver is what a driver holds.
type Driver struct {
	file
	dir string
}

// Take takes over the lock that this process was started with as the driver of the spool in dir.
// It fails in a process that was not.
func Take(dir string) (*Driver, error) {
	unix.CloseOnExec(inherited)
	f := os.NewFile(inherited, fileName)
	info, err := f.Stat()
	there, missing := os.Stat(filepath.Join(dir, fileName))
	if err != nil || missing != nil || !os.SameFile(info, there) {
		return nil, errors.New("-" + Flag + " is internal: a command that has changed the queue calls negotiate so")
	}
	d := &Driver{dir: dir}
	if d.file, err = opened(f); err != nil {
		return nil, err
	}
	locked, err := d.lock() // of the open file that has the lock already
	if err == nil && !locked {
		err = errors.New("another driver is at work")
	}
	return d, err
}

// Rest waits until it is so long since the last cycle.
func (d *Driver) Rest(least time.Duration) {
	if ago := time.Since(lastCycle(d.dir)); ago >= 0 && ago < least {
		time.Sleep(least - ago)
	}
}

// Begin notes that a cycle is made for all changes that were committed before.
func (d *Driver) Begin() error {
	if err := d.put(making, true); err != nil {
		return err
	}
	return d.put(waits, false)
}

// Done notes that the cycle and its pass are over.
func (d *Driver) Done() error { return d.put(making, false) }

// Release lets go of the lock. If a change waits by then, this process starts the next driver
// when its command ends, as any would.
func (d *Driver) Release() error { return d.unlock() }
