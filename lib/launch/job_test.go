package launch

import (
	"slices"
	"strings"
	"testing"

	"fairspool/lib/classad"
)

// jobAd returns the ad of job 12.0 with the attributes given as name, value;
// values are ClassAd expressions.
func jobAd(t *testing.T, pairs ...string) *classad.Ad {
	t.Helper()
	ad := classad.New()
	ad.SetInt("ClusterId", 12)
	ad.SetInt("ProcId", 0)
	for i := 0; i < len(pairs); i += 2 {
		e, err := classad.ParseExpr(pairs[i+1])
		if err != nil {
			t.Fatalf("ParseExpr(%s): %v", pairs[i+1], err)
		}
		ad.Set(pairs[i], e)
	}
	return ad
}

var alice = Account{Name: "alice", Home: "/home/alice"}

func TestFromAd(t *testing.T) {
	ad := jobAd(t, "Cmd", `"bin/run"`, "Iwd", `"/data/exp/"`, "Args", `"ignored"`,
		"Arguments", `"-n 'two words'"`, "Environment", `"B=2 PATH=/opt/bin FAIRSPOOL_JOB=7.7"`,
		"Out", `"out/1"`, "Err", `"/tmp/err"`, "In", `""`)
	got, err := FromAd(ad, Place{Slot: "slot1@node.example.org"}, alice)
	if err != nil {
		t.Fatalf("FromAd: %v", err)
	}
	want := Job{
		Cmd: "/data/exp/bin/run", Args: []string{"-n", "two words"}, Dir: "/data/exp",
		In: "/dev/null", Out: "/data/exp/out/1", Err: "/tmp/err",
		Env: []string{
			"PATH=/opt/bin", "HOME=/home/alice", "USER=alice", "LOGNAME=alice", "B=2",
			"FAIRSPOOL_JOB=12.0", "_CONDOR_SLOT=slot1", "_CONDOR_JOB_IWD=/data/exp", "BATCH_SYSTEM=HTCondor",
		},
	}
	if !slices.Equal(got.Args, want.Args) {
		t.Errorf("Args = %q, want %q", got.Args, want.Args)
	}
	if !slices.Equal(got.Env, want.Env) {
		t.Errorf("Env = %q, want %q", got.Env, want.Env)
	}
	if got.Cmd != want.Cmd || got.Dir != want.Dir || got.In != want.In || got.Out != want.Out || got.Err != want.Err {
		t.Errorf("FromAd = %+v, want %+v", got, want)
	}
}

func TestFromAdRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []string
		want  string
	}{
		{"no directory", []string{"Cmd", `"/bin/true"`}, `Iwd: "" is not an absolute path`},
		{"relative directory", []string{"Cmd", `"/bin/true"`, "Iwd", `"here"`}, `Iwd: "here" is not an absolute path`},
		{"no executable", []string{"Iwd", `"/"`}, "Cmd: the job names no executable"},
		{"executable is a number", []string{"Iwd", `"/"`, "Cmd", "3"}, "Cmd: want a string"},
		{"output is a number", []string{"Iwd", `"/"`, "Cmd", `"/bin/true"`, "Out", "3"}, "Out: want a string"},
		{"open quote", []string{"Iwd", `"/"`, "Cmd", `"/bin/true"`, "Arguments", `"'a"`}, "Arguments: a single quote is not closed"},
		{"environment", []string{"Iwd", `"/"`, "Cmd", `"/bin/true"`, "Environment", `"=x"`}, "Environment: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromAd(jobAd(t, c.pairs...), Place{Slot: "slot1@node"}, alice)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("FromAd = %v, want %s", err, c.want)
			}
		})
	}
}
