package accounts

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"fairspool/lib/accountant"
)

// Write explains the standing in words, one paragraph for each question.
func (w *Standing) Write(to io.Writer) error {
	lines := []string{w.place(), w.policy(), w.product(), w.factor()}
	lines = append(lines, w.direction()...)
	lines = append(lines, w.real(), w.usage(), w.share())
	lines = append(lines, w.cycle()...)
	lines = append(lines, w.bounds()...)
	lines = append(lines, w.inGroup())
	lines = append(lines, w.prospects()...)
	lines = withoutEmpty(lines)
	_, err := io.WriteString(to, strings.Join(lines, "\n")+"\n")
	return err
}

// withoutEmpty returns the lines that say something.
func withoutEmpty(lines []string) (said []string) {
	for _, l := range lines {
		if l != "" {
			said = append(said, l)
		}
	}
	return said
}

func (w *Standing) place() string {
	if w.Rank == nil {
		return fmt.Sprintf("%s is an accounting group. Lower priorities are better.", w.Name)
	}
	who := fmt.Sprintf("%d of %d", w.Rank.Place, w.Rank.Of)
	if !w.Rank.Active {
		return fmt.Sprintf("%s neither uses nor waits for anything now; if it did, it would be number %s, the best first. Lower priorities are better.", w.Name, who)
	}
	text := fmt.Sprintf("%s is number %s who use or wait for something now, the best first. Lower priorities are better.", w.Name, who)
	if w.Rank.Nice {
		text += " It is a nice user: it gets what all others leave."
	}
	return text
}

// policy says that EUPs decide nothing where all jobs stand in one queue.
func (w *Standing) policy() string {
	if w.Policy == "" {
		return ""
	}
	text := fmt.Sprintf("But its EUP decides nothing: by JOB_PRIORITY_POLICY = %q all jobs stand in one queue, which qstat -pri shows.", w.Policy)
	if w.Tree {
		text += " What was used counts by the share tree, which userprio -tree shows."
	}
	return text
}

func (w *Standing) product() string {
	return fmt.Sprintf("Effective priority (EUP): %s, which is the real priority (RUP) %s times the factor %s.", figure(w.EUP), figure(w.RUP), short(w.Factor))
}

// factor says where the factor comes from.
func (w *Standing) factor() string {
	from := w.FactorFrom
	text := "Factor: "
	switch from.kind {
	case accountant.FactorSet, accountant.FactorLeased:
		text += "set by hand"
		if from.By != "" {
			text += fmt.Sprintf(" by %s on %s", from.By, dateOf(from.At))
		}
		if from.Until != 0 {
			text += fmt.Sprintf(", until %s; then it is %s", date24(w.record.FactorLease.Until), short(from.Then))
		}
		return text + "."
	case accountant.FactorNice:
		text += "that of nice users, "
	case accountant.FactorGroup:
		text += "that of the group's members, "
	case accountant.FactorRemote:
		text += "that of users of other pools, "
		if local := w.future.p.LocalDomain; local != "" {
			text = strings.TrimSuffix(text, "pools, ") + "domains than " + local + ", "
		}
	default:
		text += "the default, "
	}
	where := "by default"
	if from.Where != "" {
		where = from.Where
	}
	return text + from.Key + " (" + where + ")."
}

// direction explains the effect of a factor other than the default.
func (w *Standing) direction() []string {
	usual := w.future.p.DefaultFactor
	if w.Factor == usual || w.Rank == nil || w.Rank.Nice || w.Policy != "" {
		return nil
	}
	ratio := usual / w.Factor
	return []string{
		fmt.Sprintf("  The default is %s. At the same RUP it gets %s times of what one with the default gets. A RUP follows use, so when both go on", short(usual), short(ratio)),
		fmt.Sprintf("  it is the square root of that, %s times: a quarter of a factor is worth twice the slots, not four times.", short(math.Sqrt(ratio))),
	}
}

// real explains the RUP.
func (w *Standing) real() string {
	whose, uses := "it uses", max(w.record.InUse, w.record.Subtree)
	if w.record.IsGroup() {
		whose = "it and the groups below use"
	}
	return fmt.Sprintf("RUP: it follows the slot weight that %s, which is %s now, half of the way in %s; it is never below %v.",
		whose, uses, long(time.Duration(w.HalfLife*float64(time.Second))), accountant.MinPriority)
}

func (w *Standing) usage() string {
	text := fmt.Sprintf("Usage: %.2f weighted slot hours", w.Usage/3600)
	switch {
	case w.Begin != 0:
		text += " since " + dateOf(w.Begin)
	case w.Usage == 0:
		return "Usage: none so far."
	}
	if w.Last != 0 && w.InUse == 0 {
		text += ", the last on " + dateOf(w.Last)
	}
	return text + "."
}

// share says what part of the pool its EUP is worth, if it decides anything.
func (w *Standing) share() string {
	if w.Rank == nil || w.Policy != "" {
		return ""
	}
	of := "of the pool, as far as those who use or wait for something want all of theirs"
	if w.Rank.Nice {
		of = "of what others leave to nice users"
	}
	if w.Rank.Of == 1 {
		return "Share: nobody else uses or waits for anything, so it may have the whole pool."
	}
	return fmt.Sprintf("Share: by its EUP %s %s; %s in the end, when all have gone on for long.", percent(w.Rank.Share), of, percent(w.Rank.ShareInTheEnd))
}

// cycle says what the last cycle gave, and which limits kept it from giving more.
func (w *Standing) cycle() []string {
	if w.Rank == nil {
		return nil
	}
	if w.Waiting > 0 && (w.Cycle == nil || !w.Cycle.Took) {
		return []string{"Last cycle: " + w.future.unseen() + "."}
	}
	if w.Cycle == nil {
		return []string{"Last cycle: " + w.NoCycle + "."}
	}
	at := "Last cycle, " + dateOf(w.Cycle.At) + ": "
	if !w.Cycle.Took {
		return []string{at + "it took no part, because it had no idle jobs and used nothing."}
	}
	slice := ""
	if !w.Cycle.oneQueue {
		slice = fmt.Sprintf("its slice was %.2f slots (%s of all slices), which left room for %.2f more; ", w.Cycle.PieSlice, percent(w.Cycle.SlicePart), w.Cycle.Limit)
	}
	lines := []string{at + slice + jobs(w.Cycle.Idle, w.Cycle.Matched) + "."}
	if stop := w.stop(); stop != "" {
		lines = append(lines, "What keeps it from more: "+stop+".")
	}
	const most = 3
	for i, x := range w.Cycle.Reasons {
		if i == most {
			return append(lines, fmt.Sprintf("  and %d more reasons, see qstat -j", len(w.Cycle.Reasons)-most))
		}
		lines = append(lines, fmt.Sprintf("  job %s and like it, %d in all: %s", x.Job, x.Count, x.Reason))
	}
	return lines
}

func jobs(idle, matched int) string {
	switch {
	case idle == 0:
		return "it had no idle jobs"
	case idle == matched:
		return fmt.Sprintf("all of its %d idle jobs were matched", idle)
	}
	return fmt.Sprintf("%d of its %d idle jobs were matched", matched, idle)
}

// stop says what kept the last cycle from giving more.
func (w *Standing) stop() string {
	waiting := w.Cycle.Idle - w.Cycle.Matched
	switch {
	case w.Cycle.Idle == 0:
		return "it has no idle jobs"
	case waiting <= 0:
		return ""
	case w.Ceiling >= 0 && w.InUse >= float64(w.Ceiling):
		return fmt.Sprintf("its ceiling of %d is used up", w.Ceiling)
	case w.InUse >= w.Cycle.PieSlice-0.5 && w.Cycle.PieSlice > 0:
		return fmt.Sprintf("it uses %s of its slice of %.2f", w.record.InUse, w.Cycle.PieSlice)
	}
	return fmt.Sprintf("no slot was left that its jobs match and that it may take; %d wait", waiting)
}

// bounds explains the settings besides the factor.
func (w *Standing) bounds() (lines []string) {
	if w.Ceiling >= 0 {
		lines = append(lines, fmt.Sprintf("Ceiling: it may not use more than a slot weight of %d%s.", w.Ceiling, until(w.record.CeilingLease)))
	}
	switch {
	case w.Floor > 0 && w.Policy != "":
		lines = append(lines, fmt.Sprintf("Floor: its floor of %d does not count in one queue.", w.Floor))
	case w.Floor > 0:
		lines = append(lines, w.floor())
	}
	return lines
}

// floor explains a floor. A lower ceiling bounds its effect.
func (w *Standing) floor() string {
	most, why := w.Floor, ""
	if w.Ceiling >= 0 && w.Ceiling < w.Floor {
		most, why = w.Ceiling, fmt.Sprintf(", its ceiling: the floor is %d", w.Floor)
	}
	if most == 0 {
		return fmt.Sprintf("Floor: of its floor of %d nothing counts, because its ceiling is 0%s.", w.Floor, until(w.record.FloorLease))
	}
	return fmt.Sprintf("Floor: it is served before all others until it uses a slot weight of %d%s%s.", most, why, until(w.record.FloorLease))
}

func until(l accountant.Lease) string {
	if l.Until.IsZero() {
		return ""
	}
	return ", until " + date24(l.Until)
}

func (w *Standing) inGroup() string {
	g := w.Group
	if g == nil {
		return ""
	}
	text := fmt.Sprintf("Group: %s, whose members use %s, with the groups below %s", g.Name, short(g.InUse), short(g.Subtree))
	if g.Quota < 0 {
		return text + "; no cycle has computed its quota yet."
	}
	text += fmt.Sprintf(", of a quota of %s", short(g.Quota))
	if g.SubtreeQuota != g.Quota {
		text += fmt.Sprintf(" (%s with those below)", short(g.SubtreeQuota))
	}
	switch g.Surplus {
	case "regroup":
		text += "; beyond it they share what all groups leave"
	case "byquota":
		text += "; it accepts what others leave of theirs"
	}
	return text + "."
}

// prospects says where the priority goes: as things are, and without jobs.
func (w *Standing) prospects() []string {
	f := w.future
	idle := f
	idle.of.InUse, idle.of.Subtree, idle.of.ResourcesUsed = 0, 0, 0
	rests := idle.of.InUse == f.of.InUse && idle.of.Subtree == f.of.Subtree
	_, best := idle.of.Best(f.now, f.p)
	switch {
	case best.At.Equal(f.now) && rests:
		return []string{"Forecast: it is at the best EUP that it can have, and stays there as long as it uses nothing."}
	case best.At.Equal(f.now):
		return []string{fmt.Sprintf("Forecast: if it goes on like this its EUP tends to %s; if its jobs end now it stays at %s.", figure(w.TendsTo), figure(w.EUP))}
	case rests:
		return append([]string{"Forecast: as long as it uses nothing, " + idle.recovery()}, f.afterLease()...)
	}
	lines := append([]string{fmt.Sprintf("Forecast: if it goes on like this its EUP tends to %s.", figure(w.TendsTo))}, f.afterLease()...)
	return append(lines, "  If its jobs end now, "+idle.recovery())
}

// recovery says when the EUP of a submitter without usage will be better.
func (f Future) recovery() string {
	text := ""
	if half := f.of.Reaches(f.eup(f.now)/2, f.now, f.p); !half.Never {
		text = "half of its EUP is gone in " + long(half.At.Sub(f.now)) + "; "
	}
	eup, at := f.of.Best(f.now, f.p)
	what := "back at the best, "
	if _, leased := f.of.FactorLeaseEnd(f.now); leased {
		what = "at the best that lasts, "
	}
	text += "it is " + what + figure(eup) + ", "
	if at.Never {
		return text + "not within 100 years."
	}
	return text + "in " + long(at.At.Sub(f.now)) + "."
}

// afterLease explains the effect on the EUP of the end of a lease on the factor.
func (f Future) afterLease() []string {
	end, leased := f.of.FactorLeaseEnd(f.now)
	if !leased {
		return nil
	}
	before, _ := f.of.FactorIn(f.now, f.p)
	from, to := f.of.AsOf(end, f.p).Priority*before, f.eup(end)
	way := "falls"
	switch {
	case to > from:
		way = "rises"
	case to == from:
		return []string{fmt.Sprintf("  The lease on its factor ends on %s, in %s: its EUP, %s then, stays as it is.", date24(end), long(end.Sub(f.now)), figure(to))}
	}
	return []string{fmt.Sprintf("  The lease on its factor ends on %s, in %s: its EUP %s from %s to %s then.", date24(end), long(end.Sub(f.now)), way, figure(from), figure(to))}
}

func dateOf(seconds int64) string { return date24(time.Unix(seconds, 0)) }

// short writes a number without needless digits, at most four that count.
func short(x float64) string {
	if x >= 1000 && x < 1e9 && x == math.Trunc(x) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// percent writes a part, down to hundredths of a percent.
func percent(part float64) string {
	switch {
	case part > 0 && part < 0.0001:
		return "less than 0.01%"
	case part < 0.1:
		return fmt.Sprintf("%.2f%%", 100*part)
	}
	return fmt.Sprintf("%.0f%%", 100*part)
}
