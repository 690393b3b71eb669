package launch

import (
	"slices"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

// slotWith returns an ad with the attributes given as name, value.
func slotWith(t *testing.T, pairs ...string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		if err != nil {
			t.Fatalf("ParseExpr(%s): %v", pairs[i+1], err)
		}
		ad.Set(pairs[i], e)
	}
	return ad
}

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		name        string
		slot, job   []string
		want        []string
		wantWithout []string // names
	}{
		{"where it runs", nil, nil,
			[]string{
				"_CONDOR_SLOT=slot1_2", "_CONDOR_JOB_IWD=/data", "_CONDOR_SCRATCH_DIR=/s/12.0.1", "TMPDIR=/s/12.0.1",
				"_CONDOR_JOB_AD=/s/12.0.1/.job.ad", "_CONDOR_MACHINE_AD=/s/12.0.1/.machine.ad", "BATCH_SYSTEM=HTCondor", "FAIRSPOOL_JOB=12.0",
			}, []string{"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"}},
		{"processors", []string{"Cpus", "4"}, nil, []string{"OMP_NUM_THREADS=4", "GOMAXPROCS=4", "TF_NUM_THREADS=4"}, nil},
		{"part of a processor", []string{"Cpus", "0.5"}, nil, []string{"OMP_NUM_THREADS=1"}, nil},
		{"processors, its own number", []string{"Cpus", "4"}, []string{"Environment", `"OMP_NUM_THREADS=1"`}, []string{"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=4"}, nil},
		{"no number of processors", []string{"Cpus", `"many"`}, nil, nil, []string{"OMP_NUM_THREADS"}},
		{"GPUs", []string{"AssignedGPUs", `"CUDA0, CUDA12"`}, []string{"Environment", `"CUDA_VISIBLE_DEVICES=7"`},
			[]string{"_CONDOR_AssignedGPUs=CUDA0, CUDA12", "CUDA_VISIBLE_DEVICES=0,12", "NVIDIA_VISIBLE_DEVICES=0,12", "GPU_DEVICE_ORDINAL=0,12"}, nil},
		{"GPUs by their own names", []string{"assignedgpus", `"GPU-1a2b,CUDAx,OCL3"`}, nil, []string{"CUDA_VISIBLE_DEVICES=GPU-1a2b,CUDAx,3"}, nil},
		{"other things", []string{"AssignedTapes", `"t1"`, "Assigned", `"x"`, "AssignedNone", "3"}, nil, []string{"_CONDOR_AssignedTapes=t1"},
			[]string{"_CONDOR_Assigned", "_CONDOR_AssignedNone", "CUDA_VISIBLE_DEVICES"}},
		{"the scratch directory", nil, []string{"Environment", `"A=$$(CondorScratchDir)/a:$$(condorscratchdir) B='$$(CondorScratchDirs) $$(' C=$$(CondorScratchDir"`},
			[]string{"A=/s/12.0.1/a:/s/12.0.1", "B=$$(CondorScratchDirs) $$(", "C=$$(CondorScratchDir"}, nil},
		{"ours come last", nil, []string{"Environment", `"BATCH_SYSTEM=x _CONDOR_JOB_AD=y TMP=z"`}, []string{"BATCH_SYSTEM=HTCondor", "_CONDOR_JOB_AD=/s/12.0.1/.job.ad", "TMP=z"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			place := Place{Slot: "slot1_2@node", Scratch: "/s/12.0.1"}
			if c.slot != nil {
				place.SlotAd = slotWith(t, c.slot...)
			}
			job, err := FromAd(jobAd(t, append([]string{"Cmd", `"/bin/true"`, "Iwd", `"/data"`}, c.job...)...), place, alice)
			testenv.OK(t, err)
			for _, want := range c.want {
				if !slices.Contains(job.Env, want) {
					t.Errorf("environment %q lacks %s", job.Env, want)
				}
			}
			for _, name := range c.wantWithout {
				if slices.ContainsFunc(job.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
					t.Errorf("environment %q has %s", job.Env, name)
				}
			}
		})
	}
}

// The reference to the scratch directory outlives the expansion where it means
// something, and nowhere else.
func TestExpandLeavesScratch(t *testing.T) {
	ad := jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`, "Environment", `"A=$$(CondorScratchDir) B=$$(Name)"`, "Arguments", `"-d $$(CondorScratchDir)/x '$$(CondorScratchDir) y'"`)
	slot := slotWith(t, "Name", `"slot1"`)
	expanded, _, err := Expand(ad, slot, valueIn(ad, slot))
	testenv.OK(t, err)
	job, err := FromAd(expanded, Place{Scratch: "/a b", SlotAd: slot}, alice)
	testenv.OK(t, err)
	if want := []string{"-d", "/a b/x", "/a b y"}; !slices.Equal(job.Args, want) {
		t.Errorf("arguments = %q, want %q", job.Args, want)
	}
	if !slices.Contains(job.Env, "A=/a b") || !slices.Contains(job.Env, "B=slot1") {
		t.Errorf("environment = %q, want A=/a b and B=slot1", job.Env)
	}
	literal := jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`, "Arguments", `"$'$'(CondorScratchDir)"`, "Environment", `"A=$'$'(CondorScratchDir)"`)
	if job, err = FromAd(literal, Place{Scratch: "/a b", SlotAd: slot}, alice); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(job.Args, []string{"$$(CondorScratchDir)"}) || !slices.Contains(job.Env, "A=$$(CondorScratchDir)") {
		t.Errorf("with quotes in the reference arguments = %q, environment = %q, want the text", job.Args, job.Env)
	}
	ad.SetString("Out", "$$(CondorScratchDir)/out")
	if _, _, err := Expand(ad, slot, valueIn(ad, slot)); err == nil || err.Error() != "Out: cannot expand $$(CondorScratchDir): the slot has no such attribute" {
		t.Errorf("Expand of an output in the scratch directory = %v, want an error", err)
	}
}

func TestFromSlot(t *testing.T) {
	account := alice
	account.limits, account.priority = []Rlimit{{1, 2, 3}}, 4
	for _, c := range []struct {
		slot []string
		want int
	}{{nil, 4}, {[]string{"Nice", "10"}, 10}, {[]string{"Nice", "0"}, 0}, {[]string{"Nice", "100"}, 19}, {[]string{"Nice", `"x"`}, 4}} {
		job, err := FromAd(jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`), Place{SlotAd: slotWith(t, c.slot...), CPUs: []int{3}}, account)
		if err != nil || job.Nice != c.want || !slices.Equal(job.CPUs, []int{3}) || !slices.Equal(job.Limits, account.limits) || job.Core != -1 {
			t.Errorf("slot %q: nice value %d, processors %v, limits %v, core %d, %v, want nice value %d", c.slot, job.Nice, job.CPUs, job.Limits, job.Core, err, c.want)
		}
	}
	for value, want := range map[string]int64{"0": 0, "4096": 4096, "-1": 1<<63 - 1, "undefined": -1} {
		if job, err := FromAd(jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`, "CoreSize", value), Place{}, alice); err != nil || job.Core != want {
			t.Errorf("CoreSize = %s: %d, %v, want %d", value, job.Core, err, want)
		}
	}
	if _, err := FromAd(jobAd(t, "Cmd", `"/bin/true"`, "Iwd", `"/"`, "CoreSize", `"big"`), Place{}, alice); err == nil || err.Error() != "CoreSize: want a number of bytes" {
		t.Errorf(`CoreSize = "big": %v, want an error`, err)
	}
}
