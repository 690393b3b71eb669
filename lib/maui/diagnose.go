package maui

import (
	"slices"
	"strconv"
)

// NothingDiagnosed is what diagnose -p says instead of a table when no job is eligible.
const NothingDiagnosed = "no idle jobs in queue\n"

// Diagnosis writes the output of Maui's diagnose -p: the weights in the head, a line for
// each job, and below all how much each term contributed. A job's line has its raw
// priority, before bounds and system priority, and for each component that counts
//
//   - how many percent of the absolute sum it is, and behind that in parentheses
//   - of CRED the absolute factors, of TARG the component's percents once more, of the
//     others what each term adds to the priority.
//
// Numbers are cut to five characters, as Maui cuts them. In the last line all percents are
// of the absolute sum over all jobs, for the terms with the weights of the head; if a
// component is capped, or has terms of both signs, its terms' percents do not add up to its
// own. (Observed on Maui 3.3.1.)
//
// Head comes first, then Job for each job in the order of the queue, then Foot. The zero
// value is not ready: NewDiagnosis.
type Diagnosis struct {
	config     *Config
	shown      []shownComponent
	components [Components]float64 // sums of the absolute contributions
	subs       [Subs]float64       // sums of the absolute factors
	total      float64
}

// shownComponent is a component with a column, and its terms with columns.
type shownComponent struct {
	Component
	subs []Sub
}

// shownOrder are the components in the order of diagnose -p.
var shownOrder = [...]Component{Credentials, FairShare, Service, Target, Resource, Usage}

// componentHeads and subHeads are the words in the head of diagnose -p. Usage goes by the
// name of Resource there.
var (
	componentHeads = [Components]string{
		Credentials: "  Cred(", FairShare: "    FS(", Service: "  Serv(", Target: "  Targ(", Resource: "   Res(", Usage: "   Res(",
	}
	subHeads = [Subs]string{
		QueueTime: "QTime", XFactor: "XFctr", SPViolation: "SPVio", Bypass: "Bypas",
		TargetQueueTime: "QTime", TargetXFactor: "XFctr",
		CredUser: " User", CredGroup: "Group", CredAccount: "Accnt", CredQOS: "  QOS", CredClass: "Class",
		FSUser: " User", FSGroup: "Group", FSAccount: "Accnt", FSQOS: "  QOS", FSClass: "Class",
		Node: " Node", Proc: " Proc", Mem: "  Mem", Swap: " Swap", Disk: " Disk", PS: "   PS", PE: "   PE", WallTime: "WTime",
		Consumed: "Cons ", Remaining: "Rem  ", Percent: "PerC ",
	}
)

// NewDiagnosis returns a diagnosis of jobs with priorities by a configuration. The columns
// are the components and terms that have a weight, or get one from a QOS.
func NewDiagnosis(c *Config) *Diagnosis {
	d := &Diagnosis{config: c}
	for _, of := range shownOrder {
		if s := (shownComponent{of, c.counting(of)}); len(s.subs) > 0 {
			d.shown = append(d.shown, s)
		}
	}
	return d
}

// counting returns the terms of a component that can make a difference.
func (c *Config) counting(of Component) (subs []Sub) {
	weighs := func(here int64, more func(Credential) int64) bool {
		if here != 0 || more == nil {
			return here != 0
		}
		for _, q := range c.Credentials[QOS] {
			if more(q) != 0 {
				return true
			}
		}
		return false
	}
	var more func(Credential) int64
	if of == FairShare && !c.Compatible {
		more = func(q Credential) int64 { return q.FSWeight }
	}
	if of == Attribute || !weighs(c.Components[of].Weight, more) {
		return nil
	}
	for s := range Subs {
		if s.Component() != of || s == UProc || s == UJob {
			continue
		}
		more = nil
		switch s {
		case QueueTime:
			more = func(q Credential) int64 { return q.QTWeight }
		case XFactor:
			more = func(q Credential) int64 { return q.XFWeight }
		}
		if weighs(c.Subs[s].Weight, more) {
			subs = append(subs, s)
		}
	}
	return subs
}

// Head appends the lines above the jobs.
func (d *Diagnosis) Head(b []byte) []byte {
	b = append(b, "diagnosing job priority information (partition: ALL)\n\n"...)
	b = appendLeft(b, "Job", nameWidth)
	b = append(appendRight(append(b, ' '), "PRIORITY", totalWidth), "* "...)
	for _, c := range d.shown {
		b = append(b, componentHeads[c.Component]...)
		for i, s := range c.subs {
			b = append(link(b, i), subHeads[s]...)
		}
		b = append(b, ')')
	}
	b = appendRight(append(b, '\n'), "Weights", nameWidth)
	b = append(appendRight(append(b, ' '), "--------", totalWidth), "  "...)
	for _, c := range d.shown {
		b = append(appendWeight(append(b, ' '), d.config.Components[c.Component].Weight), '(')
		for i, s := range c.subs {
			b = appendWeight(link(b, i), d.config.Subs[s].Weight)
		}
		b = append(b, ')')
	}
	return append(b, "\n\n"...)
}

// Job appends the line of jobs that are equal, count of them, under one name. System says
// that they have a system priority, which a * shows.
func (d *Diagnosis) Job(b []byte, name string, count int, system bool, p *Priority) []byte {
	percents, _ := p.Percents()
	b = appendLeft(b, name, nameWidth)
	b = appendRight(append(b, ' '), strconv.FormatFloat(p.Raw, 'f', 0, 64), totalWidth)
	if system {
		b = append(b, "* "...)
	} else {
		b = append(b, "  "...)
	}
	for _, c := range d.shown {
		percent, weight := percents[c.Component], float64(p.Parts[c.Component].Weight)
		b = append(appendNumber(append(b, ' '), percent), '(')
		for i, s := range c.subs {
			x := percent
			switch c.Component {
			case Credentials:
				x = magnitude(p.Subs[s].Factor)
			case Target:
			default:
				x = weight * float64(p.Subs[s].Weight) * p.Subs[s].Factor
			}
			b = appendNumber(link(b, i), x)
		}
		b = append(b, ')')
	}
	d.count(float64(max(count, 1)), p)
	return append(b, '\n')
}

// count adds jobs to the sums of the last line.
func (d *Diagnosis) count(jobs float64, p *Priority) {
	for c := range Components {
		x := jobs * magnitude(p.Parts[c].Adds())
		d.components[c] += x
		d.total += x
	}
	for s := range Subs {
		d.subs[s] += jobs * magnitude(p.Subs[s].Factor)
	}
}

// Foot appends the lines below the jobs.
func (d *Diagnosis) Foot(b []byte) []byte {
	b = appendLeft(append(b, '\n'), "Percent Contribution", nameWidth)
	b = append(appendRight(append(b, ' '), "--------", totalWidth), "  "...)
	for _, c := range d.shown {
		b = append(appendNumber(append(b, ' '), footShare(d.components[c.Component], d.total)), '(')
		weight := float64(d.config.Components[c.Component].Weight)
		for i, s := range c.subs {
			b = appendNumber(link(b, i), magnitude(footShare(d.subs[s]*float64(d.config.Subs[s].Weight)*weight, d.total)))
		}
		b = append(b, ')')
	}
	return append(b, "\n\n* indicates system prio set on job\n\n"...)
}

// Percents returns how many percent of the sum of all components' absolute contributions
// each component is, and each term as it would be if its component had no cap.
func (p *Priority) Percents() (components [Components]float64, subs [Subs]float64) {
	total := 0.0
	for c := range Components {
		total += magnitude(p.Parts[c].Adds())
	}
	for c := range Components {
		components[c] = share(magnitude(p.Parts[c].Adds()), total)
	}
	for s := range Subs {
		if s != UProc && s != UJob {
			subs[s] = share(magnitude(float64(p.Parts[s.Component()].Weight)*p.Subs[s].Adds()), total)
		}
	}
	return components, subs
}

// share returns how many percent of a total something is, 0 of nothing.
func share(x, total float64) float64 {
	if total == 0 {
		return 0
	}
	return x / total * 100
}

// footShare is share for the last line. Its formula multiplies by 100 first. One digit is
// shown, and 49 of 80 is 61.2 in one order and 61.3 in the other; none of the observed
// cases distinguishes them.
func footShare(x, total float64) float64 {
	if total == 0 {
		return 0
	}
	return 100 * x / total
}

// magnitude returns a number without its sign. A negative zero keeps it, as in Maui,
// where it can be seen.
func magnitude(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

const (
	nameWidth  = 20
	totalWidth = 10
	cellWidth  = 5
)

// appendNumber appends a number with one place behind the point, cut to a cell.
func appendNumber(b []byte, x float64) []byte {
	text := strconv.AppendFloat(make([]byte, 0, 32), x, 'f', 1, 64)
	return appendRight(b, string(text[:min(len(text), cellWidth)]), cellWidth)
}

// appendWeight appends a weight, which widens its cell where it has to.
func appendWeight(b []byte, n int64) []byte {
	return appendRight(b, strconv.FormatInt(n, 10), cellWidth)
}

// link appends what stands between the terms of a component.
func link(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ':')
	}
	return b
}

func appendLeft(b []byte, s string, width int) []byte {
	return appendBlanks(append(b, s...), width-len(s))
}

func appendRight(b []byte, s string, width int) []byte {
	return append(appendBlanks(b, width-len(s)), s...)
}

func appendBlanks(b []byte, n int) []byte {
	b = slices.Grow(b, max(n, 0))
	for ; n > 0; n-- {
		b = append(b, ' ')
	}
	return b
}
