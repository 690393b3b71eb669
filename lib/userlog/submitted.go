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
