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
// run in the named slot. It looks at no file. Errors name the attribute at
// fault; a job that has one cannot be run anywhere.
func FromAd(ad *classad.Ad, slot string, account Account) (Job, error) {
	dir, err := text(ad, pool.AttrIwd, "")
	if err != nil {
		return Job{}, err
	}
	if !filepath.IsAbs(dir) {
		return Job{}, fmt.Errorf("%s: %q is not an absolute path", pool.AttrIwd, dir)
	}
	job := Job{Dir: filepath.Clean(dir)}
	if job.Cmd, err = text(ad, pool.AttrCmd, ""); err != nil {
		return Job{}, err
	}
	if job.Cmd == "" {
		return Job{}, fmt.Errorf("%s: the job names no executable", pool.AttrCmd)
	}
	job.Cmd = job.path(job.Cmd)
	for _, f := range []struct {
		attribute string
		field     *string
	}{{pool.AttrIn, &job.In}, {pool.AttrOut, &job.Out}, {pool.AttrErr, &job.Err}} {
		name, err := text(ad, f.attribute, os.DevNull)
		if err != nil {
			return Job{}, err
		}
		*f.field = job.path(name)
	}
	if job.Args, err = jobargs.FromAd(ad); err != nil {
		return Job{}, err
	}
	job.Env, err = job.environment(ad, slot, account)
	return job, err
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
	name, _, _ := strings.Cut(slot, "@")
	ours := []string{
		"_CONDOR_SLOT=" + name,
		"_CONDOR_JOB_IWD=" + j.Dir,
		"FAIRSPOOL_JOB=" + pool.JobID{Cluster: int(cluster), Proc: int(proc)}.String(),
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
