package jobad

import (
	"strconv"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

const gpusRequest = "request_gpus"

// gpuLimits are what a job may ask of every GPU it gets: the commands, the job's
// attributes, and what compares them with the property of a GPU.
var gpuLimits = [...]struct{ command, attr, property, relation string }{
	{"gpus_minimum_capability", "GPUsMinCapability", "Capability", ">="},
	{"gpus_maximum_capability", "GPUsMaxCapability", "Capability", "<="},
	{"gpus_minimum_memory", "GPUsMinMemory", "GlobalMemoryMb", ">="},
	{"gpus_minimum_runtime", "GPUsMinRuntime", "MaxSupportedVersion", ">="},
}

// requireGPUs sets RequireGPUs, what a GPU has to be like, and tells the request
// for GPUs of it. A property that the user's own expression mentions is left to
// that.
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

// conjunct writes an expression as it may stand beside &&, in parentheses if it
// binds less tightly.
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
		return j.refuse(g, "%q: want a version, as 12 or 12.1", submitfile.Shorten(g.Text))
	}
	if dotted || major < 1000 {
		major = major*1000 + minor%100
	}
	j.setExpr("CUDAVersion", strconv.FormatUint(major, 10))
	return nil
}
