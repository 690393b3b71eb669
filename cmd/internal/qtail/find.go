package qtail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// file is a standard file of a job.
type file struct {
	call  *cmdline.Call
	spool *spool.Spool
	job   pool.JobID
	owner string
	what  string // output or error
	path  string // absolute; empty: it is not known before the job has started
	stage stage
	ran   bool   // it was started
	held  string // why the job is held
	away  string // the machine that the job runs on and has the file; empty: the file is here

	looked time.Time // the last look at the spool, by the machine's clock
}

// stage is how far a job has come.
type stage int

const (
	waiting stage = iota // it was never started
	begun
	ended
)

// find looks up the job that the command line names.
func find(c *cmdline.Call) (*file, error) {
	f := &file{call: c, what: "output"}
	if c.Has("e") {
		f.what = "error"
	}
	switch {
	case len(c.Args) == 0:
		return nil, cmdline.Usagef("which job? name a cluster, or a job like 12.0")
	case len(c.Args) > 1:
		return nil, cmdline.Usagef("%s: one job at a time", c.Args[1])
	}
	word, whole := c.Args[0], !strings.Contains(c.Args[0], ".")
	var err error
	if whole {
		f.job.Cluster, err = pool.ParseCluster(word)
	} else {
		f.job, err = pool.ParseJobID(word)
	}
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if f.spool, err = c.Spool(); err != nil {
		return nil, err
	}
	ad := (*classad.Ad)(nil)
	err = f.spool.View(func(v *spool.View) (err error) {
		ad, err = f.choose(v.Listed(), whole)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.owner, _ = ad.EvalString(&classad.Context{}, pool.AttrOwner)
	if c.ThroughDoor() { // else it shows when the file is opened
		who, err := c.Caller()
		if err == nil && !who.May(f.owner) {
			err = f.refuse(who)
		}
		if err != nil {
			return nil, err
		}
	}
	return f, f.read(ad)
}

// choose returns the ad of the job: of the only one of its cluster where whole says that the
// cluster was named.
func (f *file) choose(v *spool.View, whole bool) (*classad.Ad, error) {
	if !whole {
		if ad, ok := v.Job(f.job); ok {
			f.see(v, ad)
			return ad, nil
		}
	}
	least, greatest, err := f.procs(v)
	switch {
	case err != nil:
		return nil, err
	case greatest < 0:
		return nil, fmt.Errorf("%s: no such job: qstat shows those in the queue, qstat -history those that have left it", f.call.Args[0])
	case whole && least < greatest:
		return nil, fmt.Errorf("%d: has several jobs: name one of them, %d.%d to %d.%d", f.job.Cluster, f.job.Cluster, least, f.job.Cluster, greatest)
	case whole:
		f.job.Proc = greatest
		if ad, ok := v.Job(f.job); ok {
			f.see(v, ad)
			return ad, nil
		}
	}
	ad, err := f.past(v)
	if err != nil || ad != nil {
		f.stage = ended
		return ad, err
	}
	if late, ok := v.Factory(f.job.Cluster); ok && f.job.Proc >= late.Next && f.job.Proc < late.Jobs {
		return nil, fmt.Errorf("%v: is still to come, and has written nothing", f.job)
	}
	if least == greatest {
		return nil, fmt.Errorf("%v: no such job: cluster %d has only %d.%d", f.job, f.job.Cluster, f.job.Cluster, least)
	}
	return nil, fmt.Errorf("%v: no such job: cluster %d has %d.%d to %d.%d", f.job, f.job.Cluster, f.job.Cluster, least, f.job.Cluster, greatest)
}

// procs returns the least and the greatest proc that the cluster has, or had; -1: none.
func (f *file) procs(v *spool.View) (least, greatest int, err error) {
	least, greatest = -1, -1
	note := func(first, last int) {
		if least < 0 || first < least {
			least = first
		}
		greatest = max(greatest, last)
	}
	if c, ok := v.Cluster(f.job.Cluster); ok {
		for _, r := range c.Runs {
			note(r.First, r.Last)
		}
	}
	if late, ok := v.Factory(f.job.Cluster); ok {
		note(late.Next, late.Jobs-1)
	}
	err = v.History(spool.Left{Clusters: map[int]bool{f.job.Cluster: true}}, func(ad *classad.Ad) bool {
		if proc, ok := ad.EvalInt(&classad.Context{}, pool.AttrProcID); ok {
			note(int(proc), int(proc))
		}
		return true
	})
	return least, greatest, err
}

// past returns the job's last ad; nil if it has not left the queue.
func (f *file) past(v *spool.View) (found *classad.Ad, err error) {
	err = v.History(spool.Left{Clusters: map[int]bool{f.job.Cluster: true}}, func(ad *classad.Ad) bool {
		if proc, ok := ad.EvalInt(&classad.Context{}, pool.AttrProcID); ok && int(proc) == f.job.Proc {
			found = ad
		}
		return found == nil
	})
	return found, err
}

// see notes how far the job is, and where the file is.
func (f *file) see(v *spool.View, ad *classad.Ad) {
	f.stage, f.away = stageOf(v, f.job, ad), ""
	claim, ok := v.Claim(f.job)
	if !ok || claim.Instance == "" {
		return // no pilot runs it
	}
	here, err := f.call.Hostname()
	domain := ""
	for _, slot := range v.SlotsNamed([]string{claim.SlotAd()}) {
		domain, _ = slot.Ad.EvalString(&classad.Context{}, pool.AttrFileSystemDomain)
	}
	if err == nil && !strings.EqualFold(domain, here) {
		f.away = claim.Machine
	}
}

// stageOf returns how far a job of the queue has come.
func stageOf(v *spool.View, id pool.JobID, ad *classad.Ad) stage {
	c := &classad.Context{}
	status, _ := ad.EvalInt(c, pool.AttrJobStatus)
	_, claimed := v.Claim(id)
	switch {
	case !claimed && (pool.Status(status) == pool.Completed || pool.Status(status) == pool.Removed):
		return ended
	case !wasStarted(ad):
		return waiting
	}
	return begun
}

// wasStarted reports whether a job of the queue, or one that has left it, was ever started.
func wasStarted(ad *classad.Ad) bool {
	c := &classad.Context{}
	status, _ := ad.EvalInt(c, pool.AttrJobStatus)
	starts, _ := ad.EvalInt(c, pool.AttrNumJobStarts)
	return starts > 0 || pool.Status(status) == pool.Running
}

// read reads the data about the file from the job's ad. If the path depends on the slot, the
// ad of a job that was started has it.
func (f *file) read(ad *classad.Ad) error {
	c := &classad.Context{}
	f.owner, _ = ad.EvalString(c, pool.AttrOwner)
	f.ran = wasStarted(ad)
	status, _ := ad.EvalInt(c, pool.AttrJobStatus)
	if f.held = ""; pool.Status(status) == pool.Held {
		f.held, _ = ad.EvalString(c, pool.AttrHoldReason)
	}
	attr := pool.AttrOut
	if f.what == "error" {
		attr = pool.AttrErr
	}
	name, ok := ad.EvalString(c, "MATCH_EXP_"+attr)
	if !ok {
		name, _ = ad.EvalString(c, attr)
	}
	if name == "" || name == os.DevNull {
		return fmt.Errorf("%v: its %s is not kept: give %s = FILE when you submit", f.job, f.what, f.what)
	}
	if !ok && strings.Contains(name, "$$(") {
		f.path = ""
		return nil
	}
	if f.path = name; !filepath.IsAbs(name) {
		dir, _ := ad.EvalString(c, pool.AttrIwd)
		f.path = filepath.Join(dir, name)
	}
	return nil
}

// open opens the file for reading, with the rights of the job's owner if root does that. A
// job that was never started has no output: a file of that name is another one.
func (f *file) open() (*os.File, error) {
	switch {
	case f.stage == ended && !f.ran:
		return nil, fmt.Errorf("%v: was removed before it had started, and has written nothing", f.job)
	case f.stage == waiting || f.path == "":
		why := ""
		if f.held != "" {
			why = ": it is held (" + f.held + ")"
		}
		return nil, fmt.Errorf("%v: has not started, and has written nothing%s", f.job, why)
	}
	who, err := f.call.Caller()
	if err != nil {
		return nil, err
	}
	if !who.May(f.owner) {
		return nil, f.refuse(who)
	}
	var in *os.File
	err = asuser.Do(f.owner, f.call.Config.NobodySlotUser, func() (err error) {
		// A pipe would be waited for.
		in, err = os.OpenFile(f.path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return nil, f.wrong(err)
	}
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		in.Close()
		if err != nil {
			return nil, f.wrong(err)
		}
		return nil, fmt.Errorf("%v: its %s is not kept: %s is no file", f.job, f.what, f.path)
	}
	return in, nil
}

// refuse says that the job is another user's.
func (f *file) refuse(who cmdline.Caller) error {
	return fmt.Errorf("%v: belongs to %s: you are %s, not an administrator", f.job, f.owner, who.Name)
}

// wrong says why the file cannot be opened.
func (f *file) wrong(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.stage == ended:
		return fmt.Errorf("%v: %s: no such file: it was removed, or moved, when the job had ended", f.job, f.path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%v: %s: permission denied%s", f.job, f.path, belongsTo(f.path))
	}
	return fmt.Errorf("%v: %w", f.job, named(f.path, err))
}

// belongsTo names the owner of the first folder or file on the way to a path that may not be read; nothing
// where that is not known.
func belongsTo(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			if dir == filepath.Dir(dir) {
				return ""
			}
			continue
		}
		about, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return ""
		}
		name := "uid " + strconv.Itoa(int(about.Uid))
		if u, err := user.LookupId(strconv.Itoa(int(about.Uid))); err == nil {
			name = u.Username
		}
		if dir == path {
			return ": it belongs to " + name
		}
		return ": " + dir + " belongs to " + name
	}
}
