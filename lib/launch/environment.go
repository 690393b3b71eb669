package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
)

// threadNames are the variables by which libraries and runtimes are told how many
// processors they may use: the default of HTCondor's STARTER_NUM_THREADS_ENV_VARS.
var threadNames = []string{
	"CUBACORES", "GOMAXPROCS", "JULIA_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
	"OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "PYTHON_CPU_COUNT",
	"ROOT_MAX_THREADS", "TF_LOOP_PARALLEL_ITERATIONS", "TF_NUM_THREADS",
}

// gpuNames are the variables by which GPU runtimes are told which devices to use.
var gpuNames = []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}

// assigned begins the names of the attributes that say which things of a kind a slot
// has, such as AssignedGPUs.
const assigned = "Assigned"

// environment returns the job's whole environment but for its mark: what is usual,
// over that what its ad says, and over that what only we know.
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

// usual returns what a job finds that does not say otherwise.
func (j Job) usual(p Place) []string {
	env := []string{
		"PATH=" + DefaultPath,
		"HOME=" + j.Account.Home,
		"USER=" + j.Account.Name,
		"LOGNAME=" + j.Account.Name,
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

// known returns what a job finds in any case. BATCH_SYSTEM has HTCondor's name:
// programs look there for how to find all the others, and these are HTCondor's.
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

// scratchReference stands for the scratch directory in arguments and environment, whose
// path is not known before.
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
