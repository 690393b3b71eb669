package jobad

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// clause is a condition that is added to the user's own Requirements.
type clause struct {
	text   string
	offers []string // not if the user's expression mentions one of these
	// lenient clauses are added without a request: only a slot that says otherwise fails
	// them. Ads of slots written by hand are short.
	lenient bool
}

func (c clause) String() string {
	if c.lenient {
		return "(" + c.text + " =!= false)"
	}
	return c.text
}

// requirements sets Requirements: the user's expression, and behind it, in
// HTCondor's order, the clauses for attributes of the slot that it does not
// mention. MY.Requirements is taken as it stands, and then nothing is to be done.
func (j *job) requirements(requests []request) error {
	if j.overrides["requirements"] {
		return j.bothRequirements()
	}
	files, err := j.transferClause()
	if err != nil {
		return err
	}
	r := &j.steady.all
	if !r.known || r.files != files.text || !slices.Equal(r.requests, requests) {
		*r = allRequirements{requests: slices.Clone(requests), files: files.text}
		varies, err := j.Varying(func() error { return j.join(r, files) })
		if err != nil {
			return err
		}
		r.known = !varies
	}
	if r.waits {
		j.setExpr("ScheddInterval", scheduleInterval)
	}
	j.setExpr(pool.AttrRequirements, r.text)
	return nil
}

// allRequirements is the Requirements for these requests and the clause for the transfer
// of files, which its text identifies.
type allRequirements struct {
	requests []request
	files    string
	text     string
	waits    bool // for a time
	known    bool // for the other procs too, since nothing else of it varies
}

// join works out the text.
func (j *job) join(r *allRequirements, files clause) error {
	own, err := j.ownRequirements()
	if err != nil {
		return err
	}
	all := slices.Clip(own.clauses)
	clauses, err := j.clauses(r, files)
	if err != nil {
		return err
	}
	for _, c := range clauses {
		known := false
		for _, offer := range c.offers {
			known = known || caseless.Contains(own.mentioned, offer)
		}
		if !known {
			all = append(all, c.String())
		}
	}
	if len(all) == 0 {
		all = []string{"true"}
	}
	r.text = strings.Join(all, " && ")
	return nil
}

// bothRequirements warns of requirements that MY.Requirements takes the place of.
func (j *job) bothRequirements() error {
	g, ok, err := j.command("requirements")
	if ok {
		j.caution(g, "has no effect beside +Requirements")
	}
	return err
}

// ownRequirements are the user's expression and APPEND_REQUIREMENTS as clauses,
// and the attributes of the slot that they mention.
type ownRequirements struct {
	text               string // the user's
	known              bool
	clauses, mentioned []string
}

// ownRequirements reads them.
func (j *job) ownRequirements() (ownRequirements, error) {
	g, ok, err := j.command("requirements")
	if err != nil || j.steady.own.known && j.steady.own.text == g.Text {
		return j.steady.own, err
	}
	own := ownRequirements{text: g.Text, known: true}
	if ok {
		e, err := j.compile(g, g.Text)
		if err != nil {
			return own, err
		}
		own.add(e)
	}
	if text := j.options.AppendRequirements; text != "" {
		e, err := j.exprs.Expr(text)
		if err != nil {
			return own, fmt.Errorf("APPEND_REQUIREMENTS: %s: %w", submitfile.Shorten(text), err)
		}
		own.add(e)
	}
	j.steady.own = own
	return own, nil
}

// add adds an expression, written anew, since a comment in its text would swallow
// what follows.
func (o *ownRequirements) add(e *classad.Expr) {
	o.clauses = append(o.clauses, "("+e.Format(classad.StyleSpool)+")")
	o.mentioned = append(o.mentioned, offersIn(e)...)
}

// offersIn returns the attributes of the slot that an expression of the job mentions:
// those with TARGET, and bare names.
func offersIn(e *classad.Expr) []string {
	if looks, ok := classad.Sides(e); ok {
		return append(looks.Other, looks.Either...)
	}
	_, external := classad.References(e, classad.New())
	return external
}

// clauses returns what HTCondor adds to requirements, in its order.
func (j *job) clauses(all *allRequirements, files clause) ([]clause, error) {
	out, err := j.platform()
	if err != nil {
		return nil, err
	}
	for _, r := range all.requests {
		if r.clause {
			out = append(out, r.wanted())
		}
	}
	encrypted, err := j.boolean("encrypt_execute_directory", false)
	if err != nil {
		return nil, err
	}
	if encrypted {
		out = append(out, clause{text: "TARGET.HasEncryptExecuteDirectory", offers: []string{"HasEncryptExecuteDirectory", "EncryptExecuteDirectory"}})
	}
	if files.text != "" {
		out = append(out, files)
	}
	if all.waits, err = j.waits(); err != nil {
		return nil, err
	}
	if all.waits {
		out = append(out, deferralClauses...)
	}
	c, err := j.cuda()
	return append(out, c...), err
}

// wanted returns the clause that compares the slot's offer with the job's request.
func (r request) wanted() clause {
	c := clause{text: "(TARGET." + r.offer + " >= " + r.attr + ")", lenient: !r.asked}
	if !r.always {
		c.offers = []string{r.offer}
	}
	switch {
	case r.text:
		c.text = "regexp(" + r.attr + ", TARGET." + r.offer + ")"
	case r.property != "":
		c.text = "(countMatches(MY." + r.property + ",TARGET.Available" + r.offer + ") >= " + r.attr + ")"
	}
	return c
}

// operatingSystem are the attributes of a slot that say which system it has.
var operatingSystem = []string{"OpSys", "OpSysAndVer", "OpSysLongName", "OpSysShortName", "OpSysName", "OpSysLegacy"}

// platform returns the clauses on the machine's platform for jobs of this universe: the
// architecture and system on which the job was submitted, unless the job brings its own.
func (j *job) platform() ([]clause, error) {
	words, err := j.capability()
	if err != nil {
		return nil, err
	}
	if len(words) > 0 {
		return []clause{{text: "TARGET." + strings.Join(words, " && TARGET.")}}, nil
	}
	var out []clause
	if arch := j.options.Arch; arch != "" {
		out = append(out, clause{"(TARGET.Arch == " + classad.Quoted(arch) + ")", []string{"Arch"}, true})
	}
	if system := j.options.OpSys; system != "" {
		out = append(out, clause{"(TARGET.OpSys == " + classad.Quoted(system) + ")", operatingSystem, true})
	}
	return out, nil
}

// capability returns the attributes of a slot that can run jobs of this universe,
// none for plain processes.
func (j *job) capability() ([]string, error) {
	u, err := j.universe()
	switch {
	case err != nil:
		return nil, err
	case u.docker:
		return []string{"HasDocker"}, nil
	case u.number == pool.Java:
		return []string{"HasJava"}, nil
	case !u.container:
		return nil, nil
	}
	_, docker, err := j.command("docker_image")
	if err != nil {
		return nil, err
	}
	image, _, err := j.command("container_image")
	_, capability := imageAttributes(image.Text, docker)
	return []string{"HasContainer", capability}, err
}

// scheduleInterval is HTCondor's SCHEDD_INTERVAL, in seconds: a deferred job is
// matched that much before its time.
const scheduleInterval = "300"

// deferralClauses are the clauses of a job that is to begin at a certain time.
var deferralClauses = []clause{
	{text: "TARGET.HasJobDeferral", lenient: true},
	{text: "(((time() + ScheddInterval) >= (DeferralTime - DeferralPrepTime)) && (time() < (DeferralTime + DeferralWindow)))"},
}

// cuda returns the clause of a job that asks for a CUDA runtime.
func (j *job) cuda() ([]clause, error) {
	_, ok, err := j.command("cuda_version")
	if !ok || err != nil {
		return nil, err
	}
	return []clause{{text: "(CUDAVersion <= TARGET.CUDAMaxSupportedVersion)"}}, nil
}

// rank sets Rank: the user's expression and APPEND_RANK, added up.
func (j *job) rank() error {
	found, err := j.expression("rank", pool.AttrRank)
	if err != nil {
		return err
	}
	more := j.options.AppendRank
	if more == "" {
		if !found {
			j.setExpr(pool.AttrRank, "0.0")
		}
		return nil
	}
	added, err := j.exprs.Expr(more)
	if err != nil {
		return fmt.Errorf("APPEND_RANK: %s: %w", submitfile.Shorten(more), err)
	}
	text := added.Format(classad.StyleSpool)
	if found {
		g, _, err := j.command("rank")
		if err != nil {
			return err
		}
		own, err := j.compile(g, g.Text)
		if err != nil {
			return err
		}
		text = "(" + own.Format(classad.StyleSpool) + ") + (" + text + ")"
	}
	j.setExpr(pool.AttrRank, text)
	return nil
}

const gpusRequest = "request_gpus"

// gpuLimits are the limits that a job may set for every GPU it gets: the commands, the
// job's attributes, and the comparison with the property of a GPU.
var gpuLimits = [...]struct{ command, attr, property, relation string }{
	{"gpus_minimum_capability", "GPUsMinCapability", "Capability", ">="},
	{"gpus_maximum_capability", "GPUsMaxCapability", "Capability", "<="},
	{"gpus_minimum_memory", "GPUsMinMemory", "GlobalMemoryMb", ">="},
	{"gpus_minimum_runtime", "GPUsMinRuntime", "MaxSupportedVersion", ">="},
}

// requireGPUs sets RequireGPUs, the required properties of a GPU, and adds it to the
// request for GPUs. It skips properties that the user's own expression mentions.
func (j *job) requireGPUs(requests []request) error {
	var gpus *request
	for i := range requests {
		if requests[i].offer == "GPUs" {
			gpus = &requests[i]
		}
	}
	own, ok, err := j.command("require_gpus")
	if err != nil {
		return err
	}
	if ok && gpus == nil {
		j.caution(own, "has no effect without request_gpus")
	}
	var clauses, mentioned []string
	if ok && gpus != nil {
		e, err := j.compile(own, own.Text)
		if err != nil {
			return err
		}
		clauses = append(clauses, j.conjunct(e))
		_, mentioned = classad.References(e, classad.New())
	}
	for _, l := range gpuLimits {
		given, err := j.gpuLimit(l.command, l.attr, gpus != nil)
		if err != nil {
			return err
		}
		if given && !caseless.Contains(mentioned, l.property) {
			clauses = append(clauses, l.property+" "+l.relation+" "+l.attr)
		}
	}
	if len(clauses) > 0 {
		j.setExpr("RequireGPUs", strings.Join(clauses, " && "))
		gpus.property = "RequireGPUs"
	}
	return j.cudaVersion()
}

// conjunct writes an expression as an operand of &&, in parentheses if it binds less
// tightly.
func (j *job) conjunct(e *classad.Expr) string {
	text := e.Format(classad.StyleSpool)
	joined, err := j.exprs.Expr(text + " && x")
	if err != nil || len(joined.Clauses()) != len(e.Clauses())+1 {
		return "(" + text + ")"
	}
	return text
}

// gpuLimit sets one limit, if it is given to a job that asks for GPUs.
func (j *job) gpuLimit(command, attr string, wanted bool) (bool, error) {
	g, ok, err := j.command(command)
	switch {
	case err != nil || !ok:
		return false, err
	case !wanted:
		j.caution(g, "has no effect without request_gpus")
		return false, nil
	case command == "gpus_minimum_memory":
		n, _, err := j.size(g, g.Text, megabyte)
		if err == nil {
			j.setExpr(attr, n)
		}
		return err == nil, err
	case command == "gpus_minimum_runtime":
		if n, ok := runtimeVersion(g.Text); ok {
			j.setExpr(attr, strconv.Itoa(n))
			return true, nil
		}
	}
	return j.expression(command, attr)
}

// runtimeVersion reads a version as 12.2 or 12, or as CUDA writes it in one number,
// 1000 for each major and 10 for each minor one.
func runtimeVersion(text string) (n int, ok bool) {
	first, second, dotted := strings.Cut(text, ".")
	major, err := strconv.ParseUint(first, 10, 20)
	if err != nil {
		return 0, false
	}
	if !dotted {
		if major > 1000 {
			return int(major), true
		}
		return int(major) * 1000, true
	}
	minor, err := strconv.ParseUint(second, 10, 20)
	if err != nil || minor >= 100 {
		return 0, false
	}
	return int(major)*1000 + int(minor)*10, true
}

// cudaVersion sets CUDAVersion, in HTCondor's older way to ask for a runtime: a
// minor version counts 1 there, not 10.
func (j *job) cudaVersion() error {
	g, ok, err := j.command("cuda_version")
	if !ok || err != nil {
		return err
	}
	first, second, dotted := strings.Cut(unquoted(g.Text), ".")
	major, err := strconv.ParseUint(first, 10, 20)
	minor := uint64(0)
	if err == nil && dotted {
		minor, err = strconv.ParseUint(second, 10, 20)
	}
	if err != nil {
		return j.refuse(g, "%q: want a version, such as 12 or 12.1", submitfile.Shorten(g.Text))
	}
	if dotted || major < 1000 {
		major = major*1000 + minor%100
	}
	j.setExpr("CUDAVersion", strconv.FormatUint(major, 10))
	return nil
}
