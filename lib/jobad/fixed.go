package jobad

import (
	"math"
	"strconv"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// fixed sets whose job it is, and since when.
func (j *job) fixed() error {
	now := strconv.FormatInt(j.options.Now.Unix(), 10)
	j.setString(pool.AttrMyType, "Job")
	j.setString(pool.AttrOwner, j.options.Owner)
	j.setString(pool.AttrUser, j.options.Owner+"@"+j.options.Domain)
	j.setExpr(pool.AttrQDate, now)
	j.setExpr(pool.AttrEnteredStatus, now)
	return nil
}

// zeroes are what a job has not done yet, as HTCondor's submit writes it.
var zeroes = []setting{
	{name: pool.AttrNumJobStarts, text: "0"}, {name: pool.AttrNumJobMatches, text: "0"},
	{name: "NumJobCompletions", text: "0"}, {name: "NumRestarts", text: "0"}, {name: "NumSystemHolds", text: "0"},
	{name: "NumCkpts", text: "0"}, {name: "CurrentHosts", text: "0"}, {name: "JobSubmitMethod", text: "0"},
	{name: pool.AttrWallClock, text: "0.0"}, {name: pool.AttrUserCPU, text: "0.0"}, {name: pool.AttrSysCPU, text: "0.0"},
	{name: "CumulativeRemoteUserCpu", text: "0.0"}, {name: "CumulativeRemoteSysCpu", text: "0.0"},
	{name: "CommittedTime", text: "0"}, {name: "CommittedSlotTime", text: "0"}, {name: "CumulativeSlotTime", text: "0"},
	{name: "TotalSuspensions", text: "0"}, {name: "LastSuspensionTime", text: "0"},
	{name: "CumulativeSuspensionTime", text: "0"}, {name: "CommittedSuspensionTime", text: "0"},
	{name: "ExitStatus", text: "0"}, {name: pool.AttrExitBySignal, text: "false"},
}

// counters sets them.
func (j *job) counters() error {
	for _, s := range zeroes {
		j.set(s)
	}
	return nil
}

// priority sets what orders the job among others of its submitter. A fraction is cut off,
// as HTCondor's submit does.
func (j *job) priority() error {
	g, ok, err := j.command("priority")
	if err != nil {
		return err
	}
	if !ok {
		j.setExpr(pool.AttrJobPrio, "0")
		return nil
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		return err
	}
	v := e.Eval(&classad.Context{}, classad.New(), nil)
	x, ok := v.Number()
	n := math.Trunc(x)
	if !ok || v.Kind() == classad.KindBoolean || BeyondInteger(g.Text) || !(n >= math.MinInt32 && n <= math.MaxInt32) {
		return j.refuse(g, "%q: want a whole number from %d to %d", submitfile.Shorten(g.Text), math.MinInt32, math.MaxInt32)
	}
	if n != x {
		j.caution(g, "%s: cut to %d, as a priority is a whole number", submitfile.Shorten(g.Text), int64(n))
	}
	j.setExpr(pool.AttrJobPrio, strconv.FormatInt(int64(n), 10))
	return nil
}
