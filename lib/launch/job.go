package launch

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"fairspool/lib/classad"
	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
)

// DefaultPath is the PATH of a job whose environment does not set one.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// Job is what has to be run. All paths are absolute.
type Job struct {
	Cmd  string   // the executable, and argument 0
	Args []string // the arguments behind it
	Env  []string // the whole environment, NAME=value
	Dir  string   // the working directory
	// In, Out and Err are the standard files.
	In, Out, Err string
	// Scratch is the scratch directory, which is not there before Place. Empty: the job
	// has none.
	Scratch string
	// Transfer is what is copied before and after; nil for a job that works on the
	// files in their places. Dir is its scratch directory otherwise.
	Transfer *Transfer
	// Account is whose rights the job has.
	Account Account
	Nice    int   // by how much it gives way to others, -20 to 19
	CPUs    []int // the processors that it may run on; nil: all
	Core    int64 // the largest core file, in bytes; -1: as it is for the supervisor
	// Limits are those of the account and whatever else is to be kept. Of two for one
	// resource the lower counts.
	Limits []Rlimit
	// AppendOut and AppendErr: what the files hold is kept.
	AppendOut, AppendErr bool
	// Mark, NAME=value, is put into the environment; empty: nothing is.
	Mark string

	notes notes
}

// Place is where a job runs.
type Place struct {
	Slot string // the slot's Name
	// SlotAd is the slot's ad; nil: nothing is known of it.
	SlotAd *classad.Ad
	// CPUs are the processors that the slot has to itself; nil: it has none such.
	CPUs []int
	// Scratch is the scratch directory that is made for the job, and Kept where its
	// files stay for its next attempt. Both are absolute. The folder that they are in
	// must be ours alone; a job of another account has to get through it.
	Scratch, Kept string
}

// FromAd returns what the ad of a job (with ClusterId and ProcId) asks to be
// run in a place. It looks at no file. Errors name the attribute at fault; a job
// that has one cannot be run anywhere.
func FromAd(ad *classad.Ad, p Place, account Account) (Job, error) {
	if err := suits(ad); err != nil {
		return Job{}, err
	}
	dir, err := text(ad, pool.AttrIwd, "")
	if err != nil {
		return Job{}, err
	}
	if !filepath.IsAbs(dir) {
		return Job{}, fmt.Errorf("%s: %q is not an absolute path", pool.AttrIwd, dir)
	}
	job := Job{
		Dir: filepath.Clean(dir), Scratch: p.Scratch, notes: notesOf(ad, p.SlotAd),
		Account: account, CPUs: p.CPUs, Limits: slices.Clone(account.limits), Nice: account.priority,
	}
	if p.SlotAd != nil {
		if nice, ok := p.SlotAd.EvalInt(&classad.Context{}, attrNice); ok {
			job.Nice = int(min(max(nice, -20), 19))
		}
	}
	if err := job.files(ad, p); err != nil {
		return Job{}, err
	}
	if job.Core, err = coreSize(ad); err != nil {
		return Job{}, err
	}
	if job.Args, err = jobargs.FromAd(ad); err != nil {
		return Job{}, err
	}
	if refersToSlot(ad, pool.AttrArguments, pool.AttrArgs) {
		for i := range job.Args {
			job.Args[i] = job.inScratch(job.Args[i])
		}
	}
	job.Env, err = job.environment(ad, p)
	return job, err
}

// attrNice is the nice value of a slot's jobs.
const attrNice = "Nice"

// coreSize returns the largest core file that a job wants, -1 when it does not say.
func coreSize(ad *classad.Ad) (int64, error) {
	v := ad.Eval(&classad.Context{}, pool.AttrCoreSize, nil)
	if v.Kind() == classad.KindUndefined {
		return -1, nil
	}
	size, ok := v.Int()
	if !ok {
		return 0, fmt.Errorf("%s: want a number of bytes", pool.AttrCoreSize)
	}
	if size < 0 { // of any size
		return math.MaxInt64, nil
	}
	return size, nil
}

// files sets the paths of the job, whose directory is its Iwd so far.
func (j *Job) files(ad *classad.Ad, p Place) error {
	for _, f := range []struct {
		attribute string
		field     *string
	}{{pool.AttrIn, &j.In}, {pool.AttrOut, &j.Out}, {pool.AttrErr, &j.Err}} {
		name, err := text(ad, f.attribute, os.DevNull)
		if err != nil {
			return err
		}
		*f.field = j.path(name)
	}
	cmd, err := text(ad, pool.AttrCmd, "")
	if err != nil {
		return err
	}
	if cmd == "" {
		return fmt.Errorf("%s: the job names no executable", pool.AttrCmd)
	}
	j.Cmd = j.path(cmd)
	if j.AppendOut, j.AppendErr, err = j.appends(ad); err != nil {
		return err
	}
	if j.Transfer, err = j.transfer(ad, p); err != nil || j.Transfer == nil {
		return err
	}
	j.Dir = p.Scratch
	if brings, given := ad.EvalBool(&classad.Context{}, pool.AttrTransferExecutable); given && !brings {
		j.Cmd = j.path(cmd) // it may come with the inputs
	}
	return nil
}

// path returns name as an absolute path, relative names from the working
// directory.
func (j Job) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(j.Dir, name)
}

// text returns a string attribute; otherwise stands for one that is missing,
// undefined or empty.
func text(ad *classad.Ad, name, otherwise string) (string, error) {
	v := ad.Eval(&classad.Context{}, name, nil)
	if v.Kind() == classad.KindUndefined {
		return otherwise, nil
	}
	s, ok := v.Text()
	if !ok {
		return "", fmt.Errorf("%s: want a string", name)
	}
	if s == "" {
		return otherwise, nil
	}
	return s, nil
}
