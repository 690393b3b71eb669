// Package jobad makes job ads of submit descriptions: it knows the meaning of submit commands.
//
// The language, with its macros, conditions and item lists, is package submitfile's. New checks a
// description as far as that goes without the cluster's number. Expand makes the ads of a cluster: one
// ad with the attributes that all its procs share, and runs of procs with the others. It computes only
// the attributes that depend on the proc for each of them, so that `queue 100000` of equal jobs costs
// what `queue` costs.
//
// Each group of commands has a file named for its subject. Commands, in commands.go
// and the tables beside it, returns all of them with their other names and their effect:
// most act; some only become attributes of the job, with a warning where a user could miss the effect;
// commands without which jobs would misbehave silently are refused.
//
// Two functions are about jobs in the queue: CheckEdit judges an edit of an ad, and Evicted returns
// the new requests of a job that had to leave for taking too much. ReadDeadline reads a time for both
// kinds of jobs, and Refuse finds the place in the description for another package's refusal of a job.
//
// The source is HTCondor's manual, "Submit Description File Commands", and
// "Job ClassAd Attributes" for the names of attributes.
//
// The package is pure: environment, time, user and even the existence of files come in through
// Options.
package jobad

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/macro"
	"fairspool/lib/nearest"
	"fairspool/lib/submitfile"
)

// Options are the contribution of the submitter's surroundings to a description.
type Options struct {
	Owner string // login name of the submitter
	Group string `json:",omitempty"` // UnixGroup of jobs that name none, if it is a group's name
	// Account is AcctGroup of jobs that name none and are in no accounting group. Classes is the Class
	// of jobs that name none, by account, with "" for other accounts.
	Account string            `json:",omitempty"`
	Classes map[string]string `json:",omitempty"`
	Domain  string            // UID_DOMAIN: User becomes Owner@Domain
	Dir     string            // absolute path against which relative paths are taken
	Now     time.Time         // QDate, and the time zone of local times

	// NiceGroup is the accounting group of nice_user jobs
	// (NICE_USER_ACCOUNTING_GROUP_NAME); empty means "nice-user".
	NiceGroup string

	// Groups are the accounting groups; nil: none, and no name is checked.
	Groups *accountant.Groups `json:"-"`

	// The default requests, as values of request_cpus, request_memory and request_disk
	// (JOB_DEFAULT_REQUESTCPUS and so on). Empty means 1, 128 (MB) and 1024 (KB).
	RequestCpus, RequestMemory, RequestDisk string

	// Arch and OpSys are required of slots by default, FileSystemDomain is the domain of the
	// files; empty: not required.
	Arch, OpSys, FileSystemDomain string

	// AppendRequirements and AppendRank are expressions that are appended to each
	// job's own (APPEND_REQUIREMENTS, APPEND_RANK); empty means none.
	AppendRequirements, AppendRank string

	// Command is the jobs' program, by its absolute path, and its arguments, word by
	// word, unexpanded. The description must not name a program then. nil: the description does.
	Command []submitfile.Exact `json:",omitempty"`

	// Getenv says that jobs have all of Environ unless the description has getenv.
	Getenv bool `json:",omitempty"`
	// KeepOutput is the NAME of the files NAME.CLUSTER.PROC.out and .err in the working directory
	// that keep output for which the description names no file. Empty: output is not kept.
	KeepOutput string `json:",omitempty"`

	// Environ is what getenv copies, as NAME=value.
	Environ []string
	// Settled are attributes, or commands, that all jobs must have in common where some appear as others
	// finish (max_materialize), since only the first jobs are judged by rights.
	Settled []string `json:"-"`
	// Lenient turns refusals of jobs into warnings, to show the
	// ads before all files are in place, or to submit such jobs on hold.
	Lenient bool `json:"-"`
}

// Jobs are the jobs of a checked description.
type Jobs struct {
	description   *submitfile.Description
	options       Options
	exprs         *classad.Interner
	last          *expanded
	doomed        error // see Doomed
	skips, doubts bool  // see FileChecks
	late          Late
	timed         bool              // they depend on the time of submission besides
	among         *classad.Interner // see Again; nil: it was not called
	deadlines     map[string]int64  // local times of late jobs, by their text, in Unix seconds
	appears       time.Time         // when late jobs appear; zero: they are there from the beginning

	// Progress, if it is not nil, is called now and then by Expand with the number of procs made, and
	// of all procs.
	Progress func(done, all int)
}

// New checks a description: its names, and the first job of every queue line.
// Expand finds only errors that depend on the cluster's number or on
// a later proc. Errors in the description are *submitfile.Error.
func New(d *submitfile.Description, o Options) (*Jobs, []submitfile.Warning, error) {
	j := newJobs(d, o)
	warnings, err := j.names()
	if err != nil {
		return nil, nil, err
	}
	more, err := j.try()
	if err != nil {
		return nil, nil, err
	}
	return j, append(warnings, more...), nil
}

func newJobs(d *submitfile.Description, o Options) *Jobs {
	return &Jobs{description: d, options: withDefaults(o), exprs: classad.NewInterner()}
}

// SetDomain replaces Options.Domain, for callers that know the pool's domain only after New.
func (j *Jobs) SetDomain(domain string) { j.options.Domain = domain }

func withDefaults(o Options) Options {
	if o.NiceGroup == "" {
		o.NiceGroup = "nice-user"
	}
	o.RequestCpus = cmp.Or(o.RequestCpus, "1")
	o.RequestMemory = cmp.Or(o.RequestMemory, "128")
	o.RequestDisk = cmp.Or(o.RequestDisk, "1024")
	return o
}

// try makes the first job of every queue line, for errors and warnings.
func (j *Jobs) try() ([]submitfile.Warning, error) {
	seen := map[string]bool{} // a warning is given once, at its first place
	var out, undefined []submitfile.Warning
	warn := func(w submitfile.Warning) {
		if w.Undefined != "" {
			undefined = append(undefined, w)
		}
		if !seen[w.Msg] {
			seen[w.Msg] = true
			out = append(out, w)
		}
	}
	err := j.description.Walk(1, warn, func(p *submitfile.Job) error {
		one := j.job(p, warn)
		for _, work := range parts() {
			if err := one.do(work); err != nil {
				return err
			}
		}
		one.doubtDefaults()
		if err := one.fileChecks(); err != nil {
			return err
		}
		return one.undefinedInShell(undefined)
	})
	if _, jobs := j.description.Queues(); err == nil && jobs == 0 {
		warn(submitfile.Warning{Place: submitfile.Place{File: j.description.File()}, Msg: "all queue lines ask for 0 jobs"})
	}
	return out, err
}

// job begins the ad of the proc that p is at.
func (j *Jobs) job(p *submitfile.Job, warn func(submitfile.Warning)) *job {
	one := &job{Job: p, Jobs: j, overrides: map[string]bool{}, warn: warn}
	for _, key := range one.customKeys() {
		one.overrides[strings.TrimPrefix(key, customPrefix)] = true
	}
	return one
}

// Doomed returns the error of the jobs that Options.Lenient has let pass; nil: none.
func (j *Jobs) Doomed() error { return j.doomed }

// FileChecks returns whether skip_filechecks skips the checks for files and folders, or turns their
// errors into warnings.
func (j *Jobs) FileChecks() (skip, warn bool) { return j.skips, j.doubts }

// Count returns how many jobs the description asks for.
func (j *Jobs) Count() int {
	_, jobs := j.description.Queues()
	return jobs
}

// names checks every name that the description gives a value: some names are refused, others are likely
// to be mistakes.
func (j *Jobs) names() ([]submitfile.Warning, error) {
	var out []submitfile.Warning
	assignments := j.description.Assignments()
	used := j.description.Uses()
	late := j.description.AfterLast()
	set := map[string]bool{}
	for _, a := range assignments {
		set[strings.ToLower(a.Name)] = true
	}
	for i, a := range assignments {
		if err := checkName(a); err != nil {
			return nil, err
		}
		if len(out) > mostDoubts {
			continue
		}
		if msg := doubt(a, used, set, late[i]); msg != "" {
			at := a.Place()
			at.Col = 0
			if len(out) == mostDoubts {
				msg = "and more like these"
			}
			out = append(out, submitfile.Warning{Place: at, Msg: msg})
		}
	}
	return out, nil
}

// mostDoubts bounds the warnings of likely mistakes: finding the nearest name takes time.
const mostDoubts = 100

// checkName refuses names that are no attribute's.
func checkName(a submitfile.Assignment) error {
	attr, ok := customName(a.Name)
	if ok && !isAttributeName(attr) {
		return refuseAt(a.Place(), "+"+attr, "%q is no name of an attribute", submitfile.Shorten(attr))
	}
	return nil
}

// customName returns the attribute's name of MY.Name.
func customName(name string) (string, bool) {
	if len(name) > len(customPrefix) && strings.EqualFold(name[:len(customPrefix)], customPrefix) {
		return name[len(customPrefix):], true
	}
	return "", false
}

func isAttributeName(name string) bool {
	return macro.IsName(name) && !strings.Contains(name, ".") && (name[0] < '0' || name[0] > '9')
}

// doubt returns why an assignment is likely to be a mistake, empty if it is not.
func doubt(a submitfile.Assignment, used submitfile.Uses, set map[string]bool, late bool) string {
	key := strings.ToLower(a.Name)
	attr, custom := customName(a.Name)
	switch {
	case late:
		return a.Name + ": is after the last queue line and has no effect"
	case submitfile.Settled(key):
		return a.Name + ": is set for every job, this line has no effect"
	case custom && isProtected(attr):
		return "+" + attr + ": " + ownSetter(attr) + ", this line has no effect"
	case custom:
		return ""
	case isCommand(key):
		if better := outranked(key, set); better != "" && !used.Certainly(a.Name) {
			return fmt.Sprintf("%s: has no effect beside %s", a.Name, better)
		}
		if meant := likeRequest(key); meant != "" {
			return fmt.Sprintf("%s: taken for a resource of that name, did you mean %s?", a.Name, meant)
		}
		return ""
	case used.Certainly(a.Name):
		return ""
	}
	warning, near := unknown(a.Name)
	if !near && used.Refer(a.Name) {
		return ""
	}
	return warning
}

// ownSetter names the setter of an attribute that no description may set: submit, or, if the
// attribute's command is refused, the command for jobs in the queue.
func ownSetter(attr string) string {
	for _, c := range table() {
		if c.Fate == Refused && strings.EqualFold(c.Attr, attr) {
			return c.Why
		}
	}
	return "submit itself sets this attribute"
}

// outranked returns the other name of key's command that has a value and
// goes before key.
func outranked(key string, set map[string]bool) string {
	if c := byName()[key]; c != nil {
		for _, n := range c.names {
			if n == key {
				break
			}
			if set[n] {
				return n
			}
		}
	}
	return ""
}

// ordinaryResources are the resources with likely typing mistakes in requests.
var ordinaryResources = []string{"cpus", "memory", "disk", "gpus"}

// likeRequest returns the command that a request for another resource is likely to be
// a mistyping of, if any. Resources with a number, or with another first letter, such
// as tpus, are no mistypings.
func likeRequest(key string) string {
	resource := strings.TrimPrefix(key, requestPrefix)
	if !isRequest(key) || mistakenRequests[key] != "" || strings.ContainsAny(resource, "0123456789") {
		return ""
	}
	meant, near := nearest.Name(resource, ordinaryResources)
	if resource == "mem" {
		meant, near = "memory", true
	}
	if !near || meant[0] != resource[0] {
		return ""
	}
	return requestPrefix + meant
}

// meantFor returns, for behind "not given", the name in the description that is likely to be meant for
// a command, or else instead.
func (j *Jobs) meantFor(command, instead string) string {
	for _, a := range j.description.Assignments() {
		if near, ok := nearest.Name(a.Name, suggestions()); ok && near == command && !isCommand(strings.ToLower(a.Name)) {
			return fmt.Sprintf("; did you mean %s by %s in line %d?", command, a.Name, a.Place().Line)
		}
	}
	return ": " + instead
}

// unknown words the warning of a name that is no command, and reports whether it
// is near to one.
func unknown(name string) (warning string, near bool) {
	if command, ok := nearest.Name(name, suggestions()); ok {
		return fmt.Sprintf("%s: unknown command, did you mean %s?", name, command), true
	}
	return name + ": unknown command, and no macro uses it", false
}
