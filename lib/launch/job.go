package launch

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
)

// DefaultPath is the PATH of a job that sets none in its environment.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin"

// Job is a program to run. All paths are absolute.
type Job struct {
	Cmd  string   // the executable
	Arg0 string   // argument 0; empty: Cmd
	Args []string // the arguments behind it
	Env  []string // the whole environment, NAME=value
	Dir  string   // the working directory
	// In, Out and Err are the standard files.
	In, Out, Err string
	// Input replaces the standard input that In names; empty: In holds.
	Input string
	// Scratch is the scratch directory, which is not there before Place. Empty: the job
	// has none.
	Scratch string
	// Transfer is the copying before and after the job; nil for a job that works on the
	// files in their places. Otherwise Dir is its scratch directory.
	Transfer *Transfer
	// Account is the user that the job runs as.
	Account Account
	Nice    int   // by how much it gives way to others, -20 to 19
	CPUs    []int // the processors that it may run on; nil: all
	Core    int64 // the largest core file, in bytes; -1: as it is for the supervisor
	// Limits are the account's limits and all others that hold. Of two for one resource
	// the lower counts.
	Limits []Rlimit
	// AppendOut and AppendErr: the files keep their content.
	AppendOut, AppendErr bool
	// Mark, NAME=value, is put into the environment; empty: nothing is.
	Mark string
	// Container is the job's container; nil: it runs as a plain process.
	Container *Container
	// Monitor is where a program that runs the job's container reports: a file that it inherits as
	// file descriptor 4. nil: Cmd is the job's own program.
	Monitor *os.File
	// Inherited is what such a program reads from the same descriptor; nil: nothing.
	Inherited *os.File
	// Stdio is all three standard files, in the place of those that are named; nil: these are. A terminal controls the session.
	Stdio *os.File
	// AsRoot: it is executed with root's rights, and gives the job those of the account.
	AsRoot bool

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
	// Apart: the machine does not see the submitter's files.
	Apart bool
}

// FromAd returns the job that an ad (with ClusterId and ProcId) describes, at a place. It
// looks at no file. Errors name the attribute at fault; a job with such an error cannot
// be run anywhere.
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
	if job.Container, err = containerOf(ad); err != nil {
		return Job{}, err
	}
	if err := job.files(ad, p); err != nil {
		return Job{}, err
	}
	if job.Container != nil {
		job.contain(ad, p)
	}
	if job.Core, err = coreSize(ad); err != nil {
		return Job{}, err
	}
	if job.Args, err = jobargs.FromAd(ad); err != nil {
		return Job{}, err
	}
	if refersToSlot(ad, pool.AttrArguments, pool.AttrArgs) {
		for i := range job.Args {
			job.Args[i] = job.inside().inScratch(job.Args[i])
		}
	}
	job.Env, err = job.inside().environment(ad, p)
	return job, err
}

// attrNice is the nice value of a slot's jobs.
const attrNice = "Nice"

// coreSize returns the largest core file that a job wants, -1 when it does not say.
func coreSize(ad *classad.Ad) (int64, error) {
	v := ad.Eval(setting, pool.AttrCoreSize, nil)
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

// files sets the paths of the job. The job's directory is its Iwd so far.
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
	switch {
	case cmd != "":
		j.Cmd = j.path(cmd)
	case j.Container == nil:
		return fmt.Errorf("%s: the job names no executable", pool.AttrCmd)
	}
	if j.AppendOut, j.AppendErr, err = j.appends(ad); err != nil {
		return err
	}
	if j.Transfer, err = j.transfer(ad, p); err != nil || j.Transfer == nil {
		return err
	}
	j.Dir = p.Scratch
	brings, given := ad.EvalBool(&classad.Context{}, pool.AttrTransferExecutable)
	if given && !brings && cmd != "" {
		j.Cmd = j.path(cmd) // it may come with the inputs
	}
	j.Transfer.brings = p.Apart && (brings || !given) && cmd != ""
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

// setting bounds what an attribute may take that is read when a job begins, while others wait for the spool, as
// EvalInt and its like do.
var setting = &classad.Context{MaxSteps: 5_000}

// text returns a string attribute; otherwise stands for one that is missing,
// undefined or empty.
func text(ad *classad.Ad, name, otherwise string) (string, error) {
	v := ad.Eval(setting, name, nil)
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

// unserved are the universes that need more than a process.
var unserved = map[pool.Universe]string{
	4: "PVM", 8: "MPI", pool.Grid: "grid", pool.Java: "java", pool.VM: "vm",
}

// suits refuses jobs that cannot run as a plain process. Jobs of the standard, scheduler
// and local universes run like vanilla ones.
func suits(ad *classad.Ad) error {
	c := &classad.Context{}
	number, given := ad.EvalInt(c, pool.AttrJobUniverse)
	universe := pool.Universe(number)
	hosts, _ := ad.EvalInt(c, pool.AttrMinHosts)
	switch {
	case !given:
		return nil
	case universe == pool.Parallel && hosts > 1:
		return fmt.Errorf("%s: the job needs %d machines at once, and a job has one slot", pool.AttrMinHosts, hosts)
	}
	switch universe {
	case pool.Standard, pool.Vanilla, pool.Scheduler, pool.Local, pool.Parallel:
		return nil
	}
	if name, known := unserved[universe]; known {
		return fmt.Errorf("%s: this machine runs no jobs of the %s universe", pool.AttrJobUniverse, name)
	}
	return fmt.Errorf("%s: this machine runs no jobs of universe %d", pool.AttrJobUniverse, number)
}

// threadNames are the variables that tell libraries and runtimes how many processors they
// may use: the default of HTCondor's STARTER_NUM_THREADS_ENV_VARS.
var threadNames = []string{
	"CUBACORES", "GOMAXPROCS", "JULIA_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
	"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "PYTHON_CPU_COUNT",
	"ROOT_MAX_THREADS", "TF_LOOP_PARALLEL_ITERATIONS", "TF_NUM_THREADS",
}

// gpuNames are the variables that tell GPU runtimes which devices to use.
var gpuNames = []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}

// assigned begins the names of the attributes that say which things of a kind a slot
// has, such as AssignedGPUs.
const assigned = "Assigned"

// environment returns the job's whole environment except for its mark: the usual
// variables, overridden by the ad's, overridden by those that only fairspool knows.
func (j Job) environment(ad *classad.Ad, p Place) ([]string, error) {
	asked, err := jobargs.EnvFromAd(ad)
	if err != nil {
		return nil, err
	}
	if refersToSlot(ad, pool.AttrEnvironment, pool.AttrEnv) {
		asked = slices.Clone(asked)
		for i := range asked {
			asked[i] = j.inScratch(asked[i])
		}
	}
	ours, err := j.known(ad, p)
	if err != nil {
		return nil, err
	}
	return jobargs.MergeEnv(jobargs.MergeEnv(j.usual(p), asked), ours), nil
}

// usual returns the variables that the job's ad may override.
func (j Job) usual(p Place) []string {
	env := []string{
		"PATH=" + DefaultPath,
		"HOME=" + j.Account.Home,
		"USER=" + j.Account.Name,
		"LOGNAME=" + j.Account.Name,
	}
	if j.Container != nil {
		env = env[1:] // an image has its own
	}
	if j.Scratch != "" {
		env = append(env, "TMPDIR="+j.Scratch, "TMP="+j.Scratch, "TEMP="+j.Scratch)
	}
	if p.SlotAd == nil {
		return env
	}
	if cpus, ok := p.SlotAd.EvalNumber(&classad.Context{}, pool.AttrCpus); ok && cpus > 0 && cpus < 1e6 {
		for _, name := range threadNames {
			env = append(env, name+"="+strconv.Itoa(max(int(cpus), 1)))
		}
	}
	return env
}

// known returns the variables that the job's ad cannot override. BATCH_SYSTEM has
// HTCondor's name: programs find by it all the others, and these are HTCondor's.
func (j Job) known(ad *classad.Ad, p Place) ([]string, error) {
	c := &classad.Context{}
	cluster, ok1 := ad.EvalInt(c, pool.AttrClusterID)
	proc, ok2 := ad.EvalInt(c, pool.AttrProcID)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("%s, %s: want numbers", pool.AttrClusterID, pool.AttrProcID)
	}
	name, _, _ := strings.Cut(p.Slot, "@")
	env := []string{
		"_CONDOR_SLOT=" + name,
		"_CONDOR_JOB_IWD=" + j.Dir,
		"BATCH_SYSTEM=HTCondor",
		"FAIRSPOOL_JOB=" + pool.JobID{Cluster: int(cluster), Proc: int(proc)}.String(),
	}
	if j.Scratch != "" {
		env = append(env, "_CONDOR_SCRATCH_DIR="+j.Scratch,
			"_CONDOR_JOB_AD="+j.inNotes(jobNote), "_CONDOR_MACHINE_AD="+j.inNotes(machineNote))
	}
	return append(env, devices(p.SlotAd)...), nil
}

// devices returns what says which things the slot has that can be told apart.
func devices(slot *classad.Ad) (env []string) {
	if slot == nil {
		return nil
	}
	for _, name := range slot.Names() {
		if len(name) <= len(assigned) || !strings.EqualFold(name[:len(assigned)], assigned) {
			continue
		}
		which, ok := slot.EvalString(&classad.Context{}, name)
		if !ok || strings.ContainsAny(which, "\x00") {
			continue
		}
		env = append(env, "_CONDOR_"+name+"="+which)
		if strings.EqualFold(name, assigned+"GPUs") {
			for _, variable := range gpuNames {
				env = append(env, variable+"="+ordinals(which))
			}
		}
	}
	slices.Sort(env)
	return env
}

// ordinals returns the names of GPUs as their runtimes know them: CUDA0 and OCL0 are 0
// to these, and anything else is its own name.
func ordinals(names string) string {
	var out []string
	for _, name := range list(names) {
		for _, kind := range []string{"CUDA", "OCL"} {
			if n, ok := strings.CutPrefix(name, kind); ok && n != "" && strings.Trim(n, "0123456789") == "" {
				name = n
				break
			}
		}
		out = append(out, name)
	}
	return strings.Join(out, ",")
}

// scratchReference stands for the scratch directory in arguments and environment, as its
// path is not known earlier.
const scratchReference = "CondorScratchDir"

// refersToSlot reports whether one of the attributes has a $$() as it stands. A word that has
// one only when it is read, as jobargs.FormatLiteral writes it, means the text.
func refersToSlot(ad *classad.Ad, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		text, ok := constant(ad, name)
		return !ok && ad.Has(name) || strings.Contains(text, "$$(")
	})
}

// inScratch puts the scratch directory in where a text refers to it.
func (j Job) inScratch(text string) string {
	if j.Scratch == "" || !strings.Contains(text, "$$(") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "$$(")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		n := len(scratchReference)
		if len(rest) > n && strings.EqualFold(rest[:n], scratchReference) && rest[n] == ')' {
			b.WriteString(j.Scratch)
			text = rest[n+1:]
			continue
		}
		b.WriteString("$$(")
		text = rest
	}
}
