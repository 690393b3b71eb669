package userlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/elapsed"
)

// Submitted is event 000: the job entered the queue.
type Submitted struct {
	Host  string   // where submit ran
	Notes []string // further lines, may be empty
}

// ClusterSubmitted is event 035: a cluster was submitted with jobs that appear little by
// little. Each of them has its own event 000.
type ClusterSubmitted struct {
	Host  string
	Notes []string
}

// ClusterRemoved is event 036: of the cluster no more jobs will appear.
type ClusterRemoved struct {
	Jobs, Items int // so many were made, of so many items of the queue line
	// Completion is Complete, Incomplete or Paused; below 0 it is the number of
	// an error.
	Completion Completion
	Notes      string // may be empty
}

// Completion tells how far a cluster's jobs had been made when it ended.
type Completion int

// The values of Completion that are no errors.
const (
	Incomplete Completion = iota
	Complete
	Paused
)

func (Submitted) number() int        { return 0 }
func (ClusterSubmitted) number() int { return 35 }
func (ClusterRemoved) number() int   { return 36 }

const (
	jobFrom     = "Job submitted from host: <"
	clusterFrom = "Cluster submitted from host: <"
	noteIndent  = "    "
)

func (s Submitted) appendTo(b []byte) []byte {
	return appendLines(appendText(b, jobFrom, s.Host, ">"), noteIndent, s.Notes)
}

func (s ClusterSubmitted) appendTo(b []byte) []byte {
	return appendLines(appendText(b, clusterFrom, s.Host, ">"), noteIndent, s.Notes)
}

func readSubmitted(head string, l *lines) Body {
	host, ok := hostOf(head, jobFrom)
	if !ok {
		return nil
	}
	return Submitted{host, l.indented(noteIndent, nil)}
}

func readClusterSubmitted(head string, l *lines) Body {
	host, ok := hostOf(head, clusterFrom)
	if !ok {
		return nil
	}
	return ClusterSubmitted{host, l.indented(noteIndent, nil)}
}

// hostOf returns the host behind a text that ends with "<"; some programs write
// it without brackets, or none at all.
func hostOf(head, before string) (string, bool) {
	if host, ok := between(head, before, ">"); ok {
		return host, true
	}
	return strings.CutPrefix(head, strings.TrimSuffix(before, "<"))
}

func (c ClusterRemoved) appendTo(b []byte) []byte {
	b = fmt.Appendf(b, "Cluster removed\n\tMaterialized %d jobs from %d items.\t%s\n", c.Jobs, c.Items, c.Completion)
	return appendReason(b, c.Notes)
}

// String returns the completion's word in an event.
func (c Completion) String() string {
	switch {
	case c < 0:
		return fmt.Sprintf("Error %d", int(c))
	case c == Incomplete:
		return "Incomplete"
	case c == Complete:
		return "Complete"
	}
	return "Paused"
}

func readClusterRemoved(head string, l *lines) Body {
	if !strings.Contains(strings.ToLower(head), "remove") {
		return nil
	}
	var c ClusterRemoved
	line, _ := l.next()
	made, how, _ := strings.Cut(line, "\t")
	if !scan(made, "Materialized %d jobs from %d items.", &c.Jobs, &c.Items) {
		return c
	}
	l.skip()
	var code int
	switch {
	case scan(how, "Error %d", &code):
		c.Completion = Completion(min(code, -1))
	case how == "Complete":
		c.Completion = Complete
	case how == "Paused":
		c.Completion = Paused
	}
	c.Notes = l.reason()
	return c
}

// Executing is event 001: the job was started.
type Executing struct {
	Host string   // where it runs
	Slot string   // the slot's Name; empty when not known
	Ad   []string // attributes of the slot, "Cpus = 4" each; may be empty
}

// ExecutableError is event 002: the job's program cannot be run.
type ExecutableError struct {
	Type int // 0: it is no program; 1: it is linked wrongly; others have no name
}

// ImageSize is event 006: the job has become larger. A value below 0 is unknown, and not
// written, except ImageKB.
type ImageSize struct {
	ImageKB, MemoryMB, ResidentKB, ProportionalKB int64
}

// Suspended is event 010: the job was stopped where it runs, and stays there.
type Suspended struct {
	Processes int
}

// Unsuspended is event 011: the job goes on.
type Unsuspended struct{}

func (Executing) number() int       { return 1 }
func (ExecutableError) number() int { return 2 }
func (ImageSize) number() int       { return 6 }
func (Suspended) number() int       { return 10 }
func (Unsuspended) number() int     { return 11 }

const executingOn = "Job executing on host: <"

func (x Executing) appendTo(b []byte) []byte {
	b = appendText(b, executingOn, x.Host, ">")
	if x.Slot != "" {
		b = appendText(b, "\tSlotName: ", x.Slot, "")
	}
	return appendLines(b, "\t", x.Ad)
}

func readExecuting(head string, l *lines) Body {
	host, ok := hostOf(head, executingOn)
	if !ok {
		return nil
	}
	x := Executing{Host: host}
	x.Slot, _ = l.take("SlotName: ", "")
	x.Ad = l.indented("\t", func(line string) bool { return strings.Contains(line, " = ") })
	return x
}

func (x ExecutableError) appendTo(b []byte) []byte {
	words := "[Bad error number.]"
	switch x.Type {
	case 0:
		words = "Job file not executable."
	case 1:
		words = "Job not properly linked for Condor."
	}
	return fmt.Appendf(b, "(%d) %s\n", x.Type, words)
}

func readExecutableError(head string, _ *lines) Body {
	number, _, ok := strings.Cut(head, ") ")
	var x ExecutableError
	if !ok || !scan(number, "(%d", &x.Type) {
		return nil
	}
	return x
}

// sizes are the lines of event 006 behind its first.
var sizes = [...]string{"MemoryUsage of job (MB)", "ResidentSetSize of job (KB)", "ProportionalSetSize of job (KB)"}

func (s ImageSize) appendTo(b []byte) []byte {
	b = fmt.Appendf(b, "Image size of job updated: %d\n", s.ImageKB)
	for i, n := range [...]int64{s.MemoryMB, s.ResidentKB, s.ProportionalKB} {
		if n >= 0 {
			b = fmt.Appendf(b, "\t%d  -  %s\n", n, sizes[i])
		}
	}
	return b
}

func readImageSize(head string, l *lines) Body {
	var kb int
	if !scan(head, "Image size of job updated: %d", &kb) {
		return nil
	}
	s := ImageSize{int64(kb), -1, -1, -1}
	for i, to := range [...]*int64{&s.MemoryMB, &s.ResidentKB, &s.ProportionalKB} {
		if n, ok := l.counted(sizes[i], ""); ok {
			*to = n
		}
	}
	return s
}

func (s Suspended) appendTo(b []byte) []byte {
	return fmt.Appendf(b, "Job was suspended.\n\tNumber of processes actually suspended: %d\n", s.Processes)
}

func readSuspended(head string, l *lines) Body {
	if head != "Job was suspended." {
		return nil
	}
	var s Suspended
	l.scan("Number of processes actually suspended: %d", &s.Processes)
	return s
}

func (Unsuspended) appendTo(b []byte) []byte { return append(b, "Job was unsuspended.\n"...) }

func readUnsuspended(head string, _ *lines) Body {
	if head != "Job was unsuspended." {
		return nil
	}
	return Unsuspended{}
}

// FileTransfer is event 040: a step of moving the job's files.
type FileTransfer struct {
	Step   TransferStep
	Queued int    // so many seconds it waited for its turn; below 0 if that is not told
	Host   string // to which; may be empty
}

// TransferStep is a step of a transfer.
type TransferStep int

// The steps, in their order.
const (
	InputQueued TransferStep = iota
	InputStarted
	InputFinished
	OutputQueued
	OutputStarted
	OutputFinished
)

var steps = [...]string{
	"Entered queue to transfer input files",
	"Started transferring input files",
	"Finished transferring input files",
	"Entered queue to transfer output files",
	"Started transferring output files",
	"Finished transferring output files",
}

// String returns the step's words in an event.
func (s TransferStep) String() string { return steps[min(max(s, 0), OutputFinished)] }

func (FileTransfer) number() int { return 40 }

func (f FileTransfer) appendTo(b []byte) []byte {
	b = appendText(b, "", f.Step.String(), "")
	if f.Queued >= 0 {
		b = fmt.Appendf(b, "\tSeconds spent in queue: %d\n", f.Queued)
	}
	if f.Host != "" {
		b = appendText(b, "\tTransferring to host: ", f.Host, "")
	}
	return b
}

func readFileTransfer(head string, l *lines) Body {
	step := slices.Index(steps[:], head)
	if step < 0 {
		return nil
	}
	f := FileTransfer{Step: TransferStep(step), Queued: -1}
	l.scan("Seconds spent in queue: %d", &f.Queued)
	f.Host, _ = l.take("Transferring to host: ", "")
	return f
}

// AdInformation is event 028: attributes of the job, to go with the event before
// it.
type AdInformation struct {
	Ad []string // "Proc = 0" each
}

// AttributeChanged is event 033: an attribute of the job's ad was changed by
// hand.
type AttributeChanged struct {
	Name     string
	From, To string // ClassAd text; From is empty when there was no value
}

func (AdInformation) number() int    { return 28 }
func (AttributeChanged) number() int { return 33 }

const adInformation = "Job ad information event triggered."

func (a AdInformation) appendTo(b []byte) []byte {
	return appendLines(append(b, adInformation+"\n"...), "", a.Ad)
}

func readAdInformation(head string, l *lines) Body {
	if head != adInformation {
		return nil
	}
	return AdInformation{l.indented("", nil)}
}

func (c AttributeChanged) appendTo(b []byte) []byte {
	if c.From == "" {
		return appendText(b, "Setting job attribute ", c.Name+" to "+c.To, "")
	}
	return appendText(b, "Changing job attribute ", c.Name+" from "+c.From+" to "+c.To, "")
}

func readAttributeChanged(head string, _ *lines) Body {
	if rest, ok := strings.CutPrefix(head, "Setting job attribute "); ok {
		name, to, ok := strings.Cut(rest, " to ")
		if !ok {
			return nil
		}
		return AttributeChanged{Name: name, To: to}
	}
	rest, ok := strings.CutPrefix(head, "Changing job attribute ")
	name, values, named := strings.Cut(rest, " from ")
	from, to, parted := cutValues(values)
	if !ok || !named || !parted {
		return nil
	}
	return AttributeChanged{name, from, to}
}

// cutValues parts two ClassAd texts at the first " to " that is not in a string.
func cutValues(text string) (from, to string, ok bool) {
	const between = " to "
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], between):
			return text[:i], text[i+len(between):], true
		}
	}
	return strings.Cut(text, between)
}

// Usage is processor time, to the second.
type Usage struct {
	User, System time.Duration
}

func (u Usage) appendTo(b []byte, of string) []byte {
	b = elapsed.AppendDays(append(b, "\t\tUsr "...), whole(u.User), ' ')
	b = elapsed.AppendDays(append(b, ", Sys "...), whole(u.System), ' ')
	return append(append(append(b, "  -  "...), of...), " Usage\n"...)
}

// whole returns the whole seconds of a duration, 0 for a negative one.
func whole(d time.Duration) int64 { return int64(max(d, 0) / time.Second) }

// usage takes a line of processor time.
func (l *lines) usage(of string) (u Usage, ok bool) {
	line, ok := l.next()
	if !ok {
		return u, false
	}
	times, ok := strings.CutSuffix(line, " Usage")
	if !ok {
		return u, false
	}
	if times, ok = strings.CutSuffix(times, of); !ok {
		return u, false
	}
	var d, h, m, s, sd, sh, sm, ss int
	if !scan(times, "Usr %d %d:%d:%d, Sys %d %d:%d:%d  -  ", &d, &h, &m, &s, &sd, &sh, &sm, &ss) {
		return u, false
	}
	l.skip()
	return Usage{duration(d, h, m, s), duration(sd, sh, sm, ss)}, true
}

// maxDays keeps a time within the range of a Duration.
const maxDays = 100_000

func duration(d, h, m, s int) time.Duration {
	for _, n := range [...]int{d, h, m, s} {
		if n < 0 || n > maxDays {
			return 0
		}
	}
	return time.Duration(d*86400+h*3600+m*60+s) * time.Second
}

// Bytes is the amount copied for a job: output is sent, input received. The files of a
// job that works on its own file system do not count.
type Bytes struct {
	Sent, Received int64
}

const sentBytes, receivedBytes = " Bytes Sent By Job", " Bytes Received By Job"

func (y Bytes) appendTo(b []byte, of string) []byte {
	b = appendCount(b, "\t", y.Sent)
	b = append(append(append(b, "  -  "...), of...), sentBytes+"\n"...)
	b = appendCount(b, "\t", y.Received)
	return append(append(append(b, "  -  "...), of...), receivedBytes+"\n"...)
}

// bytes takes the two lines of a transfer, or one that is alone.
func (l *lines) bytes(of string) (y Bytes) {
	y.Sent, _ = l.counted(of, sentBytes)
	y.Received, _ = l.counted(of, receivedBytes)
	return y
}

// counted takes a line that is a number and a text in two parts, false if the next
// is another.
func (l *lines) counted(of, text string) (int64, bool) {
	line, _ := l.next()
	line, ok := strings.CutSuffix(line, text)
	if !ok {
		return 0, false
	}
	if line, ok = strings.CutSuffix(line, of); !ok {
		return 0, false
	}
	if line, ok = strings.CutSuffix(line, "  -  "); !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, false
	}
	l.skip()
	return n, true
}
