package qstat

import (
	"fmt"
	"io"
	"strings"
	"time"

	"fairspool/cmd/internal/health"
	"fairspool/cmd/internal/selection"
	"fairspool/lib/classad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/pool"
)

// details writes everything that matters about the jobs, as Grid Engine's
// -j does: a rule before each, then keys and values. Jobs of a cluster of which the
// same is said share that.
func (q queue) details(w io.Writer, spans []selection.Span) error {
	claims := q.claims(spans)
	last, fits, amiss := q.report(), q.fitting(), q.amiss()
	p := pile{w: w}
	for _, s := range spans {
		for _, r := range q.split(s, claims) {
			d := sheet{queue: q, row: r, context: q.context(), pool: amiss}
			d.all(last, fits)
			if err := p.add(&d); err != nil {
				return err
			}
		}
	}
	return p.flush()
}

// claims returns the claims of jobs.
func (q queue) claims(spans []selection.Span) map[pool.JobID]pool.Claim {
	claims := map[pool.JobID]pool.Claim{}
	list := claimsOf(q.view.Claims())
	for _, s := range spans {
		for _, c := range list.parts(s) {
			if c != nil {
				claims[c.Job] = *c
			}
		}
	}
	return claims
}

// sheet is what -j shows of jobs that are alike.
type sheet struct {
	queue
	*row
	context *classad.Context
	pool    []health.Finding // what is amiss in it
	text    []byte
	named   []naming // where in the text the jobs are named
}

// all writes the sheet.
func (d *sheet) all(last cycle, fits *fitting) {
	d.text = append(d.text, strings.Repeat("=", 62)+"\n"...)
	d.identity()
	d.program()
	d.requests()
	if d.hierarchy != nil {
		d.hierarchy.sheet(d)
	}
	d.policy()
	d.dependencies()
	d.course()
	d.line("scheduling info", d.lines(last, fits)...)
}

// lines says why the jobs wait, what would let them run, and where they could.
func (d *sheet) lines(last cycle, fits *fitting) []string {
	var why []string
	if moving := d.moving(d.row); moving != "" {
		why = append(why, moving)
	}
	why = append(append(why, d.release()...), d.stuck()...)
	if d.state != "qw" {
		return append(why, d.could(last, fits)...)
	}
	if at := d.time(jobpolicy.AttrDeferralTime); at.After(d.call.Now) {
		why = append(why, "is not to be executed before "+clock(at))
	}
	return append(append(why, last.scheduling(d.row)...), d.could(last, fits)...)
}

// line writes a key with its values below each other; nothing without one.
func (d *sheet) line(key string, values ...string) {
	for i, v := range values {
		switch {
		case v == "":
		case i == 0:
			d.text = fmt.Appendf(d.text, "%-27s %s\n", key+":", d.filled(v))
		default:
			d.text = fmt.Appendf(d.text, "%27s %s\n", "", d.filled(v))
		}
	}
}

// value returns an attribute's value as -af shows it, empty if it is undefined.
func (d *sheet) value(name string) string {
	v := d.ad.Eval(d.context, name, nil)
	if s, ok := v.Text(); ok {
		return s
	}
	if v.Kind() == classad.KindUndefined {
		return ""
	}
	return v.String()
}

// expression returns an attribute as it was written, empty if there is none or it is
// one of the usual ones.
func (d *sheet) expression(name string, usual ...string) string {
	e, ok := d.ad.Lookup(name)
	if !ok {
		return ""
	}
	text := e.String()
	for _, u := range usual {
		if strings.EqualFold(text, u) {
			return ""
		}
	}
	return text
}

// number returns a whole number, 0 if there is none.
func (d *sheet) number(name string) int64 {
	if n, ok := d.ad.EvalInt(d.context, name); ok {
		return n
	}
	return 0
}

// time returns a point in time, zero if there is none.
func (d *sheet) time(name string) time.Time {
	if n := d.number(name); n > 0 {
		return unix(n)
	}
	return time.Time{}
}

// since returns a point in time as it is shown, empty if there is none.
func (d *sheet) since(name string) string {
	t := d.time(name)
	if t.IsZero() {
		return ""
	}
	return clock(t)
}
