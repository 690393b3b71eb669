package jobad

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
	"fairspool/lib/submitfile"
)

// request is something that a job asks of its slot.
type request struct {
	attr, offer string // of the job and of the slot: RequestCpus, Cpus
	clause      bool   // Requirements compares the two
	always      bool   // also when the user's expression mentions the offer
	asked       bool   // by the user, so that a slot must advertise the resource
	text        bool   // a pattern, not an amount
	property    string // attribute of the job that says what each has to be like, if any
}

// matching sets what decides where the job may run and where it likes to:
// the requests, Requirements and Rank.
func (j *job) matching() error {
	if err := j.onEvict(); err != nil {
		return err
	}
	requests, err := j.requests()
	if err != nil {
		return err
	}
	if err := j.requireGPUs(requests); err != nil {
		return err
	}
	if err := j.requirements(requests); err != nil {
		return err
	}
	return j.rank()
}

// requests sets the Request attributes and returns them in the order in which
// Requirements names them.
func (j *job) requests() ([]request, error) {
	disk, err := j.amount(diskRequest, j.options.RequestDisk)
	if err != nil {
		return nil, err
	}
	memory, err := j.amount(memoryRequest, j.options.RequestMemory)
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
	s := &j.steady
	s.requests = append(append(s.requests[:0], disk, memory, cpus), others...)
	return s.requests, nil
}

// cpus sets RequestCpus. One processor, or less, is what every slot has, so
// only other requests become a clause.
func (j *job) cpus() (request, error) {
	r := request{attr: pool.AttrRequestCpus, offer: pool.AttrCpus}
	g, ok, err := j.asked("request_cpus", r.attr)
	if err != nil {
		return r, err
	}
	if !ok {
		g = given{Name: defaultCpus, Text: j.options.RequestCpus}
	}
	if isUndefined(g.Text) {
		return r, nil
	}
	n, isNumber, err := j.processors(g)
	if err != nil {
		return r, err
	}
	if ok {
		j.doubtAmount(g, r.offer)
	}
	j.setExpr(r.attr, g.Text)
	r.clause, r.asked = !isNumber || n > 1, ok
	return r, nil
}

// processors returns the number of a request for processors, if it is a plain one.
func (j *job) processors(g given) (n float64, isNumber bool, err error) {
	if n, err := strconv.Atoi(g.Text); err == nil && n >= 0 && n <= maxCpus { // as nearly always
		return float64(n), true, nil
	}
	e, err := j.compile(g, g.Text)
	if err != nil {
		if isMeasure(g.Text) {
			err = j.refuse(g, "%s: want only a number of processors", submitfile.Shorten(g.Text))
		}
		return 0, false, err
	}
	n, isNumber = plainNumber(e)
	_, constant := e.Constant()
	if BeyondInteger(g.Text) || isNumber && !(n >= 0 && n <= maxCpus && n == math.Trunc(n)) || constant && !isNumber {
		err = j.refuse(g, "%s: want a whole number from 0 to %d", submitfile.Shorten(g.Text), maxCpus)
	}
	return n, isNumber, err
}

// CheckDefaultRequest returns an error when a text is not what JOB_DEFAULT_REQUESTCPUS,
// JOB_DEFAULT_REQUESTMEMORY or JOB_DEFAULT_REQUESTDISK may be.
func CheckDefaultRequest(setting, text string) (err error) {
	j := &job{Jobs: newJobs(nil, Options{})}
	g := given{Name: setting, Text: text}
	switch {
	case isUndefined(text):
	case setting == defaultCpus:
		_, _, err = j.processors(g)
	case setting == memoryRequest.setting:
		_, _, err = j.size(g, text, memoryRequest.unit)
	case setting == diskRequest.setting:
		_, _, err = j.size(g, text, diskRequest.unit)
	}
	var bad *submitfile.Error
	if errors.As(err, &bad) {
		return errors.New(strings.TrimPrefix(bad.Msg, setting+": "))
	}
	return err
}

// defaultCpus is the setting for jobs that ask for no processors.
const defaultCpus = "JOB_DEFAULT_REQUESTCPUS"

// doubtDefaults warns of default requests that are no number for the job. The other
// attributes of the job are set before.
func (j *job) doubtDefaults() {
	var ad *classad.Ad
	for _, d := range [...]struct{ setting, command, attr, text string }{
		{defaultCpus, "request_cpus", pool.AttrRequestCpus, j.options.RequestCpus},
		{memoryRequest.setting, memoryRequest.command, memoryRequest.attr, j.options.RequestMemory},
		{diskRequest.setting, diskRequest.command, diskRequest.attr, j.options.RequestDisk},
	} {
		_, size := parseSize(d.text, 1)
		if _, asked, err := j.asked(d.command, d.attr); size || asked || err != nil || isUndefined(d.text) {
			continue
		}
		if ad == nil {
			ad = classad.New()
			for _, s := range j.settings {
				ad.Set(s.name, j.expr(s))
			}
		}
		v := ad.Eval(&classad.Context{Now: j.options.Now}, d.attr, nil)
		if n, isNumber := v.Number(); !isNumber || n < 0 {
			j.caution(given{Name: d.setting}, "%s: is %s for a job that has not run: it asks for none", submitfile.Shorten(d.text), v)
		}
	}
}

// doubtAmount warns of an amount that is one word and no attribute of the job. It accepts
// words that end in the offer's name, such as TotalCpus, which slots have.
func (j *job) doubtAmount(g given, offer string) {
	if j.isStray(g.Text) && !strings.HasSuffix(strings.ToLower(g.Text), strings.ToLower(offer)) {
		want := "a number"
		if offer != pool.AttrCpus && offer != resourceName("gpus") {
			want += ", or a text in double quotes" // as the complexes of Grid Engine have some
		}
		j.caution(g, "%s: the job has no such attribute: want %s", submitfile.Shorten(g.Text), want)
	}
}

// asked returns a job's request by a command or, as it stands in the ad, by +Attr.
func (j *job) asked(command, attr string) (g given, ok bool, err error) {
	if len(j.overrides) == 0 {
		return j.command(command)
	}
	key := strings.ToLower(attr)
	if !j.overrides[key] {
		return j.command(command)
	}
	g, ok, err = j.Lookup(customPrefix + key)
	g.Name = "+" + attr
	if g.Text == "" {
		g.Text = "undefined"
	}
	return g, ok, err
}

// maxCpus is more than any slot has.
const maxCpus = 1_000_000

// isUndefined reports whether a request is taken back: then the job has no such
// attribute, not even a default, and Requirements no clause for it.
func isUndefined(text string) bool { return strings.EqualFold(text, "undefined") }

// otherRequests sets what request_NAME asks for, in the order of the names, and what
// require_NAME says that each has to be like. Each becomes a clause, except for a plain
// 0: a job that wants none needs no slot that has some.
func (j *job) otherRequests() ([]request, error) {
	named, err := j.named()
	if err != nil {
		return nil, err
	}
	var out []request
	for _, key := range named.resources {
		g, ok, err := j.asked(key, "Request"+resourceName(key[len(requestPrefix):]))
		if err != nil {
			return nil, err
		}
		if !ok || isUndefined(g.Text) {
			continue
		}
		r, err := j.otherRequest(g, key)
		if meant := likeRequest(key); err != nil && meant != "" {
			return nil, j.refuse(g, "no such command; did you mean %s?", meant)
		}
		if err != nil {
			return nil, err
		}
		if err := j.require(&r); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, j.unrequired(named.properties, out)
}

// require sets the required properties of each unit of a resource. requireGPUs does so
// for GPUs.
func (j *job) require(r *request) error {
	attr := "Require" + r.offer
	if r.offer == resourceName("gpus") {
		return nil
	}
	if j.overrides[strings.ToLower(attr)] {
		r.property = attr
		return nil
	}
	found, err := j.expression(requirePrefix+strings.ToLower(r.offer), attr)
	if found {
		r.property = attr
	}
	return err
}

// unrequired warns of required properties of resources that the job does not request.
func (j *job) unrequired(keys []string, requests []request) error {
	for _, key := range keys {
		name := key[len(requirePrefix):]
		if slices.ContainsFunc(requests, func(r request) bool { return strings.EqualFold(r.offer, name) }) || j.refers(key) {
			continue
		}
		g, ok, err := j.command(key)
		switch {
		case err != nil:
			return err
		case !ok:
		case slices.Contains(ordinaryResources, name):
			j.caution(g, "has no effect: %s has no properties", name)
		default:
			j.caution(g, "has no effect without %s%s", requestPrefix, name)
		}
	}
	return nil
}

// named are the commands with part of their name from the user, in lower case and sorted,
// which have an effect.
type named struct {
	resources  []string // request_NAME for others than processors, memory and disk
	properties []string // require_NAME for others than GPUs
	transforms []string // transform_body_NAME
}

// named returns those that are given, and request_gpus.
func (j *job) named() (*named, error) {
	if j.steady.named != nil {
		return j.steady.named, nil
	}
	n := &named{resources: []string{gpusRequest}}
	for _, key := range j.Names() {
		switch right, mistaken := mistakenRequests[key]; {
		case mistaken:
			g, ok, err := j.command(key)
			if err != nil {
				return nil, err
			}
			if ok {
				j.caution(g, "is no command and has no effect, did you mean %s?", right)
			}
		case isRequest(key):
			n.resources = append(n.resources, key)
		case byName()[key] != nil || !isCommand(key):
		case strings.HasPrefix(key, requirePrefix):
			n.properties = append(n.properties, key)
		case strings.HasPrefix(key, transformPrefix):
			n.transforms = append(n.transforms, key)
		}
	}
	for _, keys := range [...][]string{n.resources, n.properties, n.transforms} {
		slices.Sort(keys)
	}
	j.steady.named = n
	return n, nil
}

// steady is the data that is computed once for the procs of a queue line, or for as long
// as it is the same.
type steady struct {
	named     *named          // nil: not known
	own       ownRequirements // the user's Requirements
	requests  []request       // reused for each proc
	all       allRequirements // those with the clauses that are added
	plugins   kept[carriers]
	transfers kept[*transfers]
	files     *transfers // of proc, which is not the first
	proc      int
	first     int // the first proc that was worked out, if any has begun
	begun     bool
}

// mistakenRequests would be custom resources that no slot has. HTCondor passes
// over them with a warning, too.
var mistakenRequests = map[string]string{
	"request_cpu": "request_cpus", "request_gpu": gpusRequest,
	"request_gpu_memory": "gpus_minimum_memory", "request_gpus_memory": "gpus_minimum_memory",
}

// otherRequest sets one such request: an amount, or a regular expression that the slot's
// value has to match.
func (j *job) otherRequest(g given, key string) (request, error) {
	name := key[len(requestPrefix):]
	if strings.HasPrefix(strings.ToLower(g.Name), requestPrefix) {
		name = g.Name[len(requestPrefix):] // the user's spelling
	}
	offer := resourceName(name)
	r := request{attr: "Request" + offer, offer: offer, asked: true}
	if !isAttributeName(offer) {
		return r, j.refuse(g, "%q is no name of an attribute", offer)
	}
	n, isNumber, err := j.quantity(g, r.attr)
	if err != nil {
		return r, err
	}
	j.doubtAmount(g, offer)
	r.clause = !isNumber || n != 0
	if e, err := j.exprs.Expr(g.Text); err == nil {
		if v, constant := e.Constant(); constant && !isNumber {
			text, _ := v.Text()
			r.clause, r.text = text != "", true
		}
	}
	return r, nil
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
		return 0, false, j.refuse(g, "%s: must not be negative", submitfile.Shorten(g.Text))
	case BeyondInteger(g.Text):
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

// BeyondInteger reports whether an expression is, as text, a number too large for a ClassAd
// integer. The language reads such a number as 0, which is never meant.
func BeyondInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return errors.Is(err, strconv.ErrRange)
}

// concurrency sets ConcurrencyLimits: the job's limits, as names in order, with commas between. They
// compare without case, and keep the user's spelling. An expression is left to the negotiator, which
// skips invalid names.
func (j *job) concurrency() error {
	g, ok, err := j.command("concurrency_limits")
	if err != nil {
		return err
	}
	found, err := j.expression("concurrency_limits_expr", pool.AttrConcurrencyLimits)
	switch {
	case err != nil || !ok:
		return err
	case found:
		return j.refuse(g, "excludes concurrency_limits_expr")
	}
	limits, err := limitsOf(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	slices.SortStableFunc(limits, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	j.setString(pool.AttrConcurrencyLimits, strings.Join(limits, ","))
	return nil
}

// limitsOf returns the names of limits that a text has, with their units.
func limitsOf(text string) ([]string, error) {
	limits := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	for _, l := range limits {
		if !isLimit(l) {
			return nil, fmt.Errorf("%q: want names of limits, as in license, sw.matlab:2", submitfile.Shorten(l))
		}
	}
	return limits, nil
}

// isLimit reports whether a text names a limit: a name, or a set and a name with a
// dot between, and perhaps a colon and a number of units above 0.
func isLimit(text string) bool {
	name, amount, given := strings.Cut(text, ":")
	if given {
		units, err := strconv.ParseFloat(amount, 64)
		if err != nil || !(units > 0) || math.IsInf(units, 0) {
			return false
		}
	}
	set, rest, inSet := strings.Cut(name, ".")
	return pool.ResourceName(set) && (!inSet || pool.ResourceName(rest))
}

// parallelSlots sets ParallelSlots: how many slots the job wants, as qsub -pe has it. A
// single number is one in the ad, too.
func (j *job) parallelSlots() error {
	g, ok, err := j.command("parallel_slots")
	if !ok || err != nil {
		return err
	}
	text, err := sge.SlotsText(unquoted(g.Text))
	if err != nil {
		return j.refuse(g, "%w", err)
	}
	if strings.ContainsAny(text, "-,") {
		j.setString(sge.AttrParallelSlots, text)
		return nil
	}
	j.setExpr(sge.AttrParallelSlots, text)
	return nil
}

// checkSlots checks an attribute with a number of slots, or with a text of several.
func checkSlots(v classad.Value) error {
	text, isText := v.Text()
	if n, isInt := v.Int(); isInt && v.Kind() != classad.KindBoolean {
		text, isText = strconv.FormatInt(n, 10), true
	}
	if !isText {
		return fmt.Errorf("%s: want a number of slots, or ranges in double quotes", submitfile.Shorten(v.String()))
	}
	_, err := sge.SlotsText(text)
	return err
}

// jobShare sets JobShare, the job's part in the functional policy and the share tree.
func (j *job) jobShare() error {
	g, ok, err := j.command("job_share")
	if !ok || err != nil {
		return err
	}
	n, err := j.integer(g, false)
	switch {
	case err != nil:
		return err
	case n < 0 || n > sge.MostShares:
		return j.refuse(g, "%s: want a whole number from 0 to %d", submitfile.Shorten(g.Text), uint32(sge.MostShares))
	}
	j.setExpr(sge.AttrJobShare, strconv.FormatInt(n, 10))
	return nil
}

// overrideTickets refuses what Grid Engine leaves to its operators: a job's nice value may hang
// on it.
func (j *job) overrideTickets() error {
	g, ok, err := j.command("override_tickets")
	if !ok || err != nil {
		return err
	}
	return j.refuse(g, "only administrators may give them, to a job in the queue: prio -ot N JOB")
}

const (
	kilobyte = 1 << 10
	megabyte = 1 << 20
)

// sized is a request that is a size.
type sized struct {
	command, attr, offer string
	setting              string  // with the default request
	retry, increase, max string  // the commands for the requests of later attempts
	unit                 float64 // of the attribute, in bytes
	least                float64 // a job that asks for no more fits everywhere
	subcode              string  // HTCondor's VacateReasonSubCode of a job that took more
}

var (
	memoryRequest = &sized{"request_memory", pool.AttrRequestMemory, pool.AttrMemory, "JOB_DEFAULT_REQUESTMEMORY",
		"retry_request_memory", "retry_request_memory_increase", "retry_request_memory_max", megabyte, 1, "102"}
	diskRequest = &sized{"request_disk", pool.AttrRequestDisk, pool.AttrDisk, "JOB_DEFAULT_REQUESTDISK",
		"retry_request_disk", "retry_request_disk_increase", "retry_request_disk_max", kilobyte, 0, "104"}
)

// amount sets a request that is a size: a number of units, a number with K, M, G
// or T (rounded up), or an expression. Of several with commas between, the first
// holds, and the others are for when that was not enough.
func (j *job) amount(s *sized, fallback string) (request, error) {
	r := request{attr: s.attr, offer: s.offer, always: true}
	g, ok, err := j.asked(s.command, s.attr)
	if err != nil {
		return r, err
	}
	text, later := fallback, []string(nil)
	if ok {
		sizes := topLevel(g.Text)
		text, later = sizes[0], sizes[1:]
	} else {
		g = given{Name: s.setting, Text: fallback}
	}
	if isUndefined(g.Text) {
		return r, j.laterAmounts(s, g, "", nil)
	}
	first, isSize, err := j.size(g, text, s.unit)
	if err != nil {
		return r, err
	}
	n, _ := strconv.ParseFloat(first, 64)
	j.setExpr(s.attr, first)
	r.clause, r.asked = !isSize || n > s.least, ok
	return r, j.laterAmounts(s, g, first, later)
}

// size returns the text of an attribute in units of unit bytes, and whether it
// is a plain number.
func (j *job) size(g given, text string, unit float64) (expr string, isSize bool, err error) {
	n, isSize := parseSize(text, unit)
	switch {
	case isSize && n > math.MaxInt64/2:
		return "", false, j.refuse(g, "%s: too large", submitfile.Shorten(text))
	case isSize:
		return strconv.FormatInt(int64(n), 10), true, nil
	case j.isStray(text):
		return "", false, j.refuse(g, "%q: want a size, such as 512 MB or 1.5 GB, or an expression", submitfile.Shorten(text))
	}
	e, err := j.compile(g, text)
	if err != nil {
		if isMeasure(text) {
			err = j.refuse(g, "%s: want a size, such as 512 MB or 1.5 GB, or an expression", submitfile.Shorten(text))
		}
		return "", false, err
	}
	if x, isNumber := plainNumber(e); isNumber && x < 0 {
		return "", false, j.refuse(g, "%s: must not be negative", submitfile.Shorten(text))
	}
	if v, constant := e.Constant(); constant && v.Kind() != classad.KindInteger && v.Kind() != classad.KindReal && !isUndefined(text) {
		return "", false, j.refuse(g, "%s: want a size, such as 512 MB or 1.5 GB, or an expression", submitfile.Shorten(text))
	}
	return e.Format(classad.StyleSpool), false, nil // without comments, which could hide other text
}

// isMeasure reports whether a text is a number and a word, which no expression is.
func isMeasure(text string) bool {
	word := strings.TrimLeft(text, "0123456789. ")
	return word != text && isAttributeName(word)
}

// isStray reports whether a text is a lone word that is no attribute of the job: a
// mistake, though it reads as an expression.
func (j *job) isStray(text string) bool {
	return isAttributeName(text) && !j.overrides[strings.ToLower(text)] && !measured[strings.ToLower(text)]
}

// measured are the attributes that a size may be, by themselves, and the words
// that are values.
var measured = map[string]bool{
	"undefined": true, "error": true, "true": true, "false": true,
	"memoryusage": true, "residentsetsize": true, "residentsetsize_raw": true, "imagesize": true, "imagesize_raw": true,
	"diskusage": true, "diskusage_raw": true, "executablesize": true, "transferinputsizemb": true,
	"requestcpus": true, "requestmemory": true, "requestdisk": true, "requestgpus": true,
}

// parseSize reads a number, of units or with a suffix's unit, and returns it in units,
// rounded up. Not ok: the text is something else, maybe an expression.
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

// IsSize reports whether a text is a size as request_memory and request_disk take it: a number,
// alone or with K, M, G or T.
func IsSize(text string) bool {
	n, ok := parseSize(text, 1)
	return ok && n <= math.MaxInt64/2
}

// topLevel splits a text at the commas that stand in no parentheses and in no
// quotes.
func topLevel(text string) []string {
	var out []string
	depth, begin := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '"', '\'':
			i = closing(text, i)
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(text[begin:i]))
				begin = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(text[begin:]))
}

// closing returns where the quotes end that begin at i, or the end of the text.
func closing(text string, i int) int {
	for n := i + 1; n < len(text); n++ {
		switch text[n] {
		case '\\':
			n++
		case text[i]:
			return n
		}
	}
	return len(text)
}
