package cycle

import (
	"fmt"
	"mime"
	"strings"
	"time"

	"fairspool/lib/clean"
	"fairspool/lib/lifecycle"
	"fairspool/lib/plural"
	"fairspool/lib/report"
)

// Message is mail about a cluster, to its owner.
type Message struct{ Subject, Body string }

// Full returns the message with its header.
func (m Message) Full(to []string) string {
	return "To: " + strings.Join(to, ", ") + "\nSubject: " + mime.QEncoding.Encode("utf-8", m.Subject) +
		"\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\nAuto-Submitted: auto-generated\n\n" + m.Body
}

// mostName bounds the name of a cluster in a subject.
const mostName = 60

// Mail words the message that is owed about a cluster.
func Mail(m lifecycle.Owed) Message {
	name := ""
	if m.Name != "" {
		name = " (" + shortened(clean.Blanked(m.Name)) + ")"
	}
	var b text
	subject := fmt.Sprintf("[fairspool] cluster %d%s: ", m.Cluster, name)
	b.line("Cluster", fmt.Sprintf("%d%s", m.Cluster, name))
	b.line("Owner", m.Owner)
	switch m.About {
	case lifecycle.TellHeld:
		subject += fmt.Sprintf("%d %s held", m.Held, plural.Pick(m.Held, "job was", "jobs were"))
		b.line("Jobs held", fmt.Sprint(m.Held))
		b.sum(m.Endings)
		b.list("The first of them", []string{m.FirstHeld})
		b.end(fmt.Sprintf("Why: qstat -j %d. Once that is put right, qrls %d lets them run.", m.Cluster, m.Cluster))
	case lifecycle.TellStart:
		subject += "the first job was started"
		b.sum(m.Endings)
		b.end(fmt.Sprintf("More: qstat %d.", m.Cluster))
	default:
		subject += how(m.Endings)
		b.sum(m.Endings)
		b.list("The first that did not succeed", m.Troubles)
		if len(m.Shown) > 1 {
			b.list("Of "+clean.Blanked(m.Shown[0])+", the last to end", m.Shown[1:])
		}
		b.end(fmt.Sprintf("More: qstat -history %d.", m.Cluster))
	}
	return Message{subject, b.String()}
}

// how says how the jobs of a cluster ended.
func how(e lifecycle.Endings) string {
	all := e.Jobs()
	switch {
	case e.Succeeded == all && all == 1:
		return "the job succeeded"
	case e.Succeeded == all:
		return fmt.Sprintf("all %d jobs succeeded", all)
	}
	of, failed := fmt.Sprintf("of %s", plural.Count(all, "job")), e.Failed+e.Signalled
	removed := plural.Pick(e.Removed, "was removed", "were removed")
	switch {
	case e.Removed == 0:
		return fmt.Sprintf("%d %s failed", failed, of)
	case failed == 0:
		return fmt.Sprintf("%d %s %s", e.Removed, of, removed)
	}
	return fmt.Sprintf("%d %s failed, %d %s", failed, of, e.Removed, removed)
}

// text is the body of a message. No line begins with a tilde or a dot, which a mail
// program could take for an order.
type text struct{ strings.Builder }

func (b *text) line(head, value string) { fmt.Fprintf(b, "%-12s %s\n", head, clean.Blanked(value)) }

// sum sums up how jobs have ended.
func (b *text) sum(e lifecycle.Endings) {
	if e.Jobs() > 0 {
		b.line("Ended", fmt.Sprintf("%d: %d with success, %d with another exit code, %d by a signal, %d removed",
			e.Jobs(), e.Succeeded, e.Failed, e.Signalled, e.Removed))
	}
	for _, x := range [...]struct {
		head string
		at   int64
	}{{"Submitted", e.Submitted}, {"First start", e.First}, {"Last end", e.Last}} {
		if x.at > 0 {
			b.line(x.head, report.Moment(time.Unix(x.at, 0)))
		}
	}
	if e.Jobs() > 0 {
		b.line("Wall time", work(e.Wall))
		b.line("CPU time", work(e.CPU))
	}
}

func (b *text) list(head string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s:\n", head)
	}
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", clean.Blanked(l))
	}
}

func (b *text) end(line string) { fmt.Fprintf(b, "\n%s\n", line) }

func shortened(s string) string {
	if r := []rune(s); len(r) > mostName {
		return string(r[:mostName-3]) + "..."
	}
	return s
}
