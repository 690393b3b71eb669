package launch

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

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
	// Transfer is what is copied before and after; nil for a job that works on the
	// files in their places. Dir is its scratch directory otherwise.
	Transfer *Transfer
}

// Place is where a job runs.
type Place struct {
	Slot string // the slot's Name
	// Scratch is the scratch directory that is made for a job that wants one, and
	// Kept where its files stay for its next attempt. Both are absolute.
	Scratch, Kept string
}

// Account is the user that a job runs as, by what its environment says.
type Account struct {
	Name string // USER and LOGNAME
	Home string // HOME
}

// CurrentAccount returns the account of this process. A uid without an entry
// in the user database goes by its number and lives in /.
func CurrentAccount() Account {
	uid := strconv.Itoa(os.Getuid())
	u, err := user.LookupId(uid)
	if err != nil {
		return Account{Name: uid, Home: "/"}
	}
	return Account{Name: u.Username, Home: u.HomeDir}
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
	job := Job{Dir: filepath.Clean(dir)}
	if err := job.files(ad, p); err != nil {
		return Job{}, err
	}
	if job.Args, err = jobargs.FromAd(ad); err != nil {
		return Job{}, err
	}
	job.Env, err = job.environment(ad, p.Slot, account)
	return job, err
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

func (j Job) environment(ad *classad.Ad, slot string, account Account) ([]string, error) {
	asked, err := jobargs.EnvFromAd(ad)
	if err != nil {
		return nil, err
	}
	c := &classad.Context{}
	cluster, ok1 := ad.EvalInt(c, pool.AttrClusterID)
	proc, ok2 := ad.EvalInt(c, pool.AttrProcID)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%s, %s: want numbers", pool.AttrClusterID, pool.AttrProcID)
	}
	base := []string{
		"PATH=" + DefaultPath,
		"HOME=" + account.Home,
		"USER=" + account.Name,
		"LOGNAME=" + account.Name,
	}
	if j.Transfer != nil {
		base = append(base, "TMPDIR="+j.Dir, "TMP="+j.Dir, "TEMP="+j.Dir)
	}
	name, _, _ := strings.Cut(slot, "@")
	ours := []string{
		"_CONDOR_SLOT=" + name,
		"_CONDOR_JOB_IWD=" + j.Dir,
		"FAIRSPOOL_JOB=" + pool.JobID{Cluster: int(cluster), Proc: int(proc)}.String(),
	}
	if j.Transfer != nil {
		ours = append(ours, "_CONDOR_SCRATCH_DIR="+j.Dir)
	}
	return jobargs.MergeEnv(jobargs.MergeEnv(base, asked), ours), nil
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
