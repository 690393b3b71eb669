package jobad

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// request is something that a job asks of its slot.
type request struct {
	attr   string // of the job, RequestCpus
	offer  string // of the slot, Cpus
	clause bool   // Requirements compares the two
}

// matching sets what decides where the job may run and where it likes to:
// the requests, Requirements and Rank.
func (j *job) matching() error {
	requests, err := j.requests()
	if err != nil {
		return err
	}
	if err := j.requirements(requests); err != nil {
		return err
	}
	found, err := j.expression("rank", pool.AttrRank)
	if err == nil && !found {
		j.setExpr(pool.AttrRank, "0.0")
	}
	return err
}

// requests sets the Request attributes and returns them in the order in
// which Requirements names them.
func (j *job) requests() ([]request, error) {
	o := &j.options
	disk, err := j.amount("request_disk", pool.AttrRequestDisk, o.RequestDisk, kilobyte)
	if err != nil {
		return nil, err
	}
	memory, err := j.amount("request_memory", pool.AttrRequestMemory, o.RequestMemory, megabyte)
	if err != nil {
		return nil, err
	}
	cpus, err := j.cpus()
	if err != nil {
		return nil, err
	}
	others, err := j.otherRequests()
	if err != nil {
		return nil, err
	}
	return append([]request{
		{pool.AttrRequestDisk, pool.AttrDisk, disk},
		{pool.AttrRequestMemory, pool.AttrMemory, memory},
		{pool.AttrRequestCpus, pool.AttrCpus, cpus},
	}, others...), nil
}

// cpus sets RequestCpus. One processor, or less, is what every slot has, so
// only other requests become a clause.
func (j *job) cpus() (clause bool, err error) {
	g, ok, err := j.command("request_cpus")
	if err != nil {
		return false, err
	}
	if !ok {
		j.setExpr(pool.AttrRequestCpus, strconv.FormatInt(j.options.RequestCpus, 10))
		return j.options.RequestCpus > 1, nil
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		return false, err
	}
	n, isNumber := plainNumber(e)
	v, constant := e.Constant()
	switch {
	case beyondInteger(g.Text),
		isNumber && !(n >= 0 && n <= maxCpus && n == math.Trunc(n)),
		constant && !isNumber && v.Kind() != classad.KindUndefined:
		return false, j.refuse(g, "%s: want a whole number from 0 to %d", submitfile.Shorten(g.Text), maxCpus)
	}
	j.setExpr(pool.AttrRequestCpus, g.Text)
	return !isNumber || n > 1, nil
}

// maxCpus is more than any slot has.
const maxCpus = 1_000_000

// otherRequests sets what request_NAME asks for, in the order of the names.
// Each becomes a clause, save for a plain 0: who wants none needs no slot
// that has some.
func (j *job) otherRequests() ([]request, error) {
	var keys []string
	for _, key := range j.Names() {
		if len(key) > len(requestPrefix) && strings.HasPrefix(key, requestPrefix) && otherNames[key] == "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out []request
	for _, key := range keys {
		g, ok, err := j.command(key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		offer := resourceName(g.Name[len(requestPrefix):])
		if !isAttributeName(offer) {
			return nil, j.refuse(g, "%q is no name of an attribute", offer)
		}
		n, isNumber, err := j.quantity(g, "Request"+offer)
		if err != nil {
			return nil, err
		}
		out = append(out, request{"Request" + offer, offer, !isNumber || n != 0})
	}
	return out, nil
}

// resourceName spells a custom resource as slot ads do.
func resourceName(name string) string {
	if strings.EqualFold(name, "gpus") {
		return "GPUs"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// quantity sets attr to a command's expression; a plain number comes back,
// and must not be negative.
func (j *job) quantity(g given, attr string) (n float64, isNumber bool, err error) {
	e, err := j.compile(g, g.Text)
	if err != nil {
		return 0, false, err
	}
	n, isNumber = plainNumber(e)
	switch {
	case isNumber && n < 0:
		return 0, false, j.refuse(g, "%s: want no negative number", submitfile.Shorten(g.Text))
	case beyondInteger(g.Text):
		return 0, false, j.refuse(g, "%s: too large", submitfile.Shorten(g.Text))
	}
	j.setExpr(attr, g.Text)
	return n, isNumber, nil
}

// plainNumber returns the value of an expression that is a number as it
// stands.
func plainNumber(e *classad.Expr) (float64, bool) {
	v, ok := e.Constant()
	if !ok || v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal {
		return 0, false
	}
	return v.Number()
}

const (
	kilobyte = 1 << 10
	megabyte = 1 << 20
)

// amount sets attr to a size in units of unit bytes: a number of units, a
// number with K, M, G or T (rounded up), or an expression. It tells whether
// the user asked for it.
func (j *job) amount(command, attr string, fallback int64, unit float64) (asked bool, err error) {
	g, ok, err := j.command(command)
	if err != nil {
		return false, err
	}
	if !ok {
		j.setExpr(attr, strconv.FormatInt(fallback, 10))
		return false, nil
	}
	n, ok := parseSize(g.Text, unit)
	if !ok {
		_, _, err := j.quantity(g, attr)
		return true, err
	}
	if n > math.MaxInt64/2 {
		return false, j.refuse(g, "%s: too large", submitfile.Shorten(g.Text))
	}
	j.setExpr(attr, strconv.FormatInt(int64(n), 10))
	return true, nil
}

// parseSize reads a number of units, or of what a suffix says, in units,
// rounded up. Not ok: it is something else, maybe an expression.
func parseSize(text string, unit float64) (units float64, ok bool) {
	digits := strings.TrimRight(text, "KMGTBIkmgtbi")
	suffix := strings.ToLower(text[len(digits):])
	digits = strings.TrimSpace(digits)
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, false
	}
	scale := unit
	switch suffix {
	case "":
	case "b":
		scale = 1
	case "k", "kb", "kib":
		scale = 1 << 10
	case "m", "mb", "mib":
		scale = 1 << 20
	case "g", "gb", "gib":
		scale = 1 << 30
	case "t", "tb", "tib":
		scale = 1 << 40
	default:
		return 0, false
	}
	return math.Ceil(n * scale / unit), true
}

// requirements sets Requirements: the user's expression and a clause for
// each request whose offer it does not mention. MY.Requirements has been
// taken as it stands, then nothing is to be done.
func (j *job) requirements(requests []request) error {
	if j.overrides["requirements"] {
		return nil
	}
	g, ok, err := j.command("requirements")
	if err != nil {
		return err
	}
	var clauses, mentioned []string
	if ok {
		e, err := j.compile(g, g.Text)
		if err != nil {
			return err
		}
		// Written anew, since a comment in the text would swallow the clauses.
		clauses = append(clauses, "("+e.Format(classad.StyleSpool)+")")
		own, external := classad.References(e, classad.New())
		mentioned = append(own, external...)
	}
	for _, r := range requests {
		if r.clause && !slices.ContainsFunc(mentioned, func(n string) bool { return strings.EqualFold(n, r.offer) }) {
			clauses = append(clauses, "(TARGET."+r.offer+" >= "+r.attr+")")
		}
	}
	if len(clauses) == 0 {
		clauses = []string{"true"}
	}
	j.setExpr(pool.AttrRequirements, strings.Join(clauses, " && "))
	return nil
}

// beyondInteger tells whether text is a number too large for a ClassAd
// integer. The language takes such a one for 0, which nobody means.
func beyondInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return errors.Is(err, strconv.ErrRange)
}
