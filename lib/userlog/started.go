package userlog

import (
	"fmt"
	"strings"
)

// Submitted is event 000: the job entered the queue.
type Submitted struct {
	Host  string   // where submit ran
	Notes []string // further lines, may be empty
}

// ClusterSubmitted is event 035: a cluster was submitted whose jobs appear
// little by little. Each of them has its event 000 besides.
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

// String returns the word for it in an event.
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

// ImageSize is event 006: the job has become larger. What is below 0 is not
// known, and not written but for ImageKB.
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
