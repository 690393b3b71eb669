package starter

import (
	"math"
	"strings"
	"syscall"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// TestUpdates follows a job that runs: its ad and its log say what it uses, and when its
// supervisor dies, that stays.
func TestUpdates(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	p.write("config.toml", "NETWORK_HOSTNAME = \"node1\"\nSTARTER_INITIAL_UPDATE_INTERVAL = 0.2\nSTARTER_UPDATE_INTERVAL = 0.3\n")
	id := p.match(`echo $$ >main; while :; do :; done`)
	c := p.running(id)
	number := func(name string) (x float64) {
		testenv.OK(t, p.spool.View(func(v *spool.View) error {
			if ad, ok := v.Job(id); ok {
				x, _ = ad.EvalNumber(&classad.Context{}, name)
			}
			return nil
		}))
		return x
	}
	p.until("two updates", func() bool { return number("RemoteWallClockTime") > 0.4 })
	testenv.OK(t, syscall.Kill(c.PID, syscall.SIGKILL))
	p.until("the supervisor is dead", func() bool { return !alive(c.PID) })
	wall, cpu := number("RemoteWallClockTime"), number("RemoteUserCpu")+number("RemoteSysCpu")
	if size := number("ResidentSetSize"); cpu <= 0 || cpu > 2*wall || size <= 0 || number("ImageSize") < size || number("MemoryUsage") < 1 || number("CpusUsage") <= 0 {
		t.Errorf("the ad: %s", p.queued(id, "RemoteWallClockTime", "RemoteUserCpu", "RemoteSysCpu", "ResidentSetSize", "ImageSize", "MemoryUsage", "CpusUsage"))
	}
	if began, at := number("JobCurrentStartDate"), number("JobCurrentStartExecutingDate"); at < began || at > began+60 {
		t.Errorf("JobCurrentStartExecutingDate = %v, want soon after %v", at, began)
	}
	p.logged("006 (001.000.000)", "ResidentSetSize of job (KB)")
	if n := strings.Count(p.read("log"), "\n006 "); n > 2 {
		t.Errorf("%d events 006 of a job that does not grow", n)
	}
	p.starter(0, 0)
	const rounded = 1e-5 // sums of seconds that are rounded to the millionth
	same := func(name string) bool { return math.Abs(number(name)-wall) < rounded }
	if !same("RemoteWallClockTime") || !same("WastedTime") || !same("LastRemoteWallClockTime") {
		t.Errorf("after its supervisor's death: %s, want RemoteWallClockTime %v, all of it wasted", p.queued(id, "RemoteWallClockTime", "WastedTime", "LastRemoteWallClockTime"), wall)
	}
}
