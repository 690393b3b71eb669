// Package hooks runs commands for job events: EVENT_COMMAND of the configuration, and the
// notify_command of a job.
//
// # The files
//
// Commands to run are in files of claims.d in the spool, a file for each transaction that caused events:
//
//  1. The transaction that ends an attempt, or takes jobs out of the queue, writes
//     hook.CLUSTER.PROC.ATTEMPT or hook.CLUSTER.PROC.0-NUMBER (Keep).
//  2. It is committed.
//  3. The file is renamed to hook-TIME-NUMBER (Commit). For other events the file gets this name at
//     once, after the commit (Put).
//  4. A runner, a detached `starter -hooks`, runs the commands. It adds a line to the file for
//     each one that it has started.
//  5. The runner removes the file.
//
// If the process is killed between 2 and 3, package joblog finds the file and looks in the spool whether
// its transaction was committed, as for the events of logs. A rename happens once, so no event is
// delivered twice. If the runner is killed, the next one waits for the commands that were started, and
// starts the others. A command runs twice only if its runner is killed between the start and the line.
//
// At most one runner is at work on a spool: it has the flock on hooks.lock. It looks for files again after
// it has freed the lock, so a process that has made a file and then finds the lock taken starts no other
// runner.
package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/jobevent"
	"fairspool/lib/pool"
)

// Order is a command that is to be run for one event of some jobs: once for each of them.
type Order struct {
	// AsOwner: the command runs with the rights of the jobs' owner, otherwise with the spool's account's.
	AsOwner bool
	Words   []string // the command
	Kind    jobevent.Kind
	At      time.Time
	Procs   pool.Procs
	Owner   string // of the jobs
	Ad      []byte // of the first job, in long form
}

// NewOrder returns an order for procs that are alike, without its time. The ad is the first one's.
func NewOrder(words []string, asOwner bool, kind jobevent.Kind, procs pool.Procs, ad *classad.Ad) Order {
	owner, _ := ad.EvalString(&classad.Context{}, pool.AttrOwner)
	own := classad.New().Chain(ad)
	own.Set(pool.AttrClusterID, classad.Literal(classad.Int(int64(procs.Cluster))))
	own.Set(pool.AttrProcID, classad.Literal(classad.Int(int64(procs.First))))
	return Order{AsOwner: asOwner, Words: words, Kind: kind, Procs: procs, Owner: owner, Ad: own.AppendLong(nil)}
}

// adOf returns the ad of one of the procs, in long form.
func (o *Order) adOf(proc int) []byte {
	line := func(n int) []byte { return fmt.Appendf(nil, "\n%s = %d\n", pool.AttrProcID, n) }
	return bytes.Replace(o.Ad, line(o.Procs.First), line(proc), 1)
}

// The beginnings of the names of files: of those that a transaction keeps, of those with commands to run, and of
// those that are being written.
const (
	keptPrefix = "hook."
	duePrefix  = "hook-"
	newPrefix  = "hooking-"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const endLine = "end "

// textOf returns the file of orders: a line of JSON for each, and a checksum at the end.
func textOf(orders []Order) (b []byte, err error) {
	for _, o := range orders {
		line, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		b = append(append(b, line...), '\n')
	}
	b = append(b, endLine...)
	return fmt.Appendf(b, "%08x\n", crc32.Checksum(b, castagnoli)), nil
}

var errTorn = errors.New("it is not whole: commands for some events are not run")

// ordersOf is the inverse of textOf. It returns what stands behind the checksum, too.
func ordersOf(text []byte) (orders []Order, notes []byte, err error) {
	for at := 0; ; {
		size := bytes.IndexByte(text[at:], '\n')
		if size < 0 {
			return nil, nil, errTorn
		}
		line := text[at : at+size]
		if sum, is := bytes.CutPrefix(line, []byte(endLine)); is {
			if string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text[:at+len(endLine)], castagnoli)) {
				return nil, nil, errTorn
			}
			return orders, text[at+size+1:], nil
		}
		var o Order
		if err := json.Unmarshal(line, &o); err != nil || len(o.Words) == 0 {
			return nil, nil, errTorn
		}
		orders, at = append(orders, o), at+size+1
	}
}

// keptPath returns the path of the file of an attempt in a folder claims.d.
func keptPath(folder string, a pool.Attempt) string {
	return filepath.Join(folder, keptPrefix+a.String())
}

// Keep keeps the orders of a transaction that ends an attempt, until Commit is called. Without
// orders it removes what an earlier transaction kept that was not committed.
func Keep(folder string, a pool.Attempt, orders []Order) error {
	path := keptPath(folder, a)
	if len(orders) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := textOf(orders)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	return err
}

// Commit gives the kept orders of an attempt to the runner, and reports whether there were any.
func Commit(folder string, a pool.Attempt) bool { return Release(keptPath(folder, a)) }

// Release gives the orders of a kept file to the runner. It reports false if another process has
// done so, or if there is no such file.
func Release(path string) bool { return os.Rename(path, dueName(filepath.Dir(path))) == nil }

// KeepRemoved keeps the orders of a transaction that takes jobs out of the queue, first among them, and
// returns the path of the file for Release.
func KeepRemoved(folder string, first pool.JobID, orders []Order) (path string, err error) {
	text, err := textOf(orders)
	if err != nil {
		return "", err
	}
	path = fmt.Sprintf("%s-%d-%d", keptPath(folder, pool.Attempt{Job: first}), os.Getpid(), made.Add(1))
	return path, os.WriteFile(path, text, 0o600)
}

// Put gives orders of a committed transaction to the runner.
func Put(folder string, orders []Order) error {
	if len(orders) == 0 {
		return nil
	}
	text, err := textOf(orders)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, fmt.Sprintf("%s%d-%d", newPrefix, os.Getpid(), made.Add(1)))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		os.Remove(path)
		return err
	}
	return os.Rename(path, dueName(folder))
}

var made atomic.Int64

// dueName returns the path of a new file with commands to run. Names sort in the order of
// creation.
func dueName(folder string) string {
	return filepath.Join(folder, fmt.Sprintf("%s%020d-%d-%d", duePrefix, time.Now().UnixNano(), os.Getpid(), made.Add(1)))
}

// NamedAt returns when a file got its name, of a prefix, the nanoseconds and more, as dueName's are; zero for another name.
func NamedAt(path, prefix string) (at time.Time) {
	var nanoseconds int64
	if _, err := fmt.Sscanf(filepath.Base(path), prefix+"%d-", &nanoseconds); err == nil {
		at = time.Unix(0, nanoseconds)
	}
	return at
}

// Kept is a file of a transaction that may or may not be committed.
type Kept struct {
	pool.Attempt // Number 0: the transaction took the job out of the queue, and it had no attempt
	Path         string
}

// Files returns the files of a folder claims.d: those with commands to run, the oldest first, and those that
// are kept. Names are the names of the files there, sorted.
func Files(folder string, names []string) (due []string, kept []Kept) {
	for _, name := range names {
		path := filepath.Join(folder, name)
		rest, is := strings.CutPrefix(name, keptPrefix)
		switch {
		case strings.HasPrefix(name, duePrefix):
			due = append(due, path)
		case is:
			rest, _, _ = strings.Cut(rest, "-")
			dot := max(strings.LastIndexByte(rest, '.'), 0)
			id, err := pool.ParseJobID(rest[:dot])
			attempt, bad := strconv.Atoi(strings.TrimPrefix(rest[dot:], "."))
			if err == nil && bad == nil {
				kept = append(kept, Kept{pool.Attempt{Job: id, Number: attempt}, path})
			}
		}
	}
	return due, kept
}

// Due returns the files with commands to run, the oldest first.
func Due(folder string) (due []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries { // in the order of their names
		if strings.HasPrefix(e.Name(), duePrefix) {
			due = append(due, filepath.Join(folder, e.Name()))
		}
	}
	return due
}
