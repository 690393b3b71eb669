package jobad

import (
	"cmp"
	"strings"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
	"fairspool/lib/submitfile"
)

// Options is what the surroundings add to a description.
type Options struct {
	Owner string // login name of the submitter
	Group string `json:",omitempty"` // UnixGroup of jobs that name none; what is no such name is none
	// Account is AcctGroup of jobs that name none and are in no accounting group, Classes the Class
	// of jobs that name none, by their account; that of other accounts stands under "".
	Account string            `json:",omitempty"`
	Classes map[string]string `json:",omitempty"`
	Domain  string            // UID_DOMAIN: User becomes Owner@Domain
	Dir     string            // absolute path against which relative paths are taken
	Now     time.Time         // QDate, and the time zone of local times

	// NiceGroup is the accounting group of nice_user jobs
	// (NICE_USER_ACCOUNTING_GROUP_NAME); empty means "nice-user".
	NiceGroup string

	// Groups are the accounting groups; nil: there are none, and no name is
	// held against them.
	Groups *accountant.Groups `json:"-"`

	// What a job asks for when its description does not say: processors, MB, KB, each
	// what request_cpus, request_memory and request_disk may be (JOB_DEFAULT_REQUESTCPUS
	// and so on). Empty means 1, 128 and 1024.
	RequestCpus, RequestMemory, RequestDisk string

	// Arch and OpSys are what slots have to be where a description does not say,
	// FileSystemDomain is where the files are; empty: nothing is asked.
	Arch, OpSys, FileSystemDomain string

	// AppendRequirements and AppendRank are expressions that are put behind each
	// job's own (APPEND_REQUIREMENTS, APPEND_RANK); empty means none.
	AppendRequirements, AppendRank string

	// Command is what the jobs run: a program's absolute path and its arguments, word by
	// word, with nothing expanded. nil: the description says it. It must not say it, too.
	Command []submitfile.Exact `json:",omitempty"`

	// Getenv says that jobs whose description does not say (getenv) have all of Environ.
	Getenv bool `json:",omitempty"`
	// KeepOutput is the name of jobs whose output is kept where the description names no file
	// for it: in NAME.CLUSTER.PROC.out and .err in the working directory. Empty: it is not kept.
	KeepOutput string `json:",omitempty"`

	// Environ is what getenv copies, as NAME=value.
	Environ []string
	// Settled are attributes, or commands, that all jobs have to have in common where some appear as others
	// finish (max_materialize), for somebody who looks at those that are there first.
	Settled []string `json:"-"`
	// Lenient makes a warning of what jobs are refused for, for callers who want to see the
	// ads before all is in its place, or who submit such jobs on hold.
	Lenient bool `json:"-"`
}

// Jobs are the jobs that a description asks for, checked.
type Jobs struct {
	description   *submitfile.Description
	options       Options
	exprs         *classad.Interner
	last          *expanded
	doomed        error // see Doomed
	skips, doubts bool  // see FileChecks
	late          Late
	deadlines     map[string]int64 // local times of jobs that are kept back, in Unix seconds
	appears       time.Time        // when jobs that were kept back do; zero: they are there from the beginning

	// Progress, if it is not nil, is told now and then how many procs of how many
	// Expand has made.
	Progress func(done, all int)
}

// New checks a description: its names, and the first job of every queue line.
// An error that Expand still finds depends on the cluster's number or on
// that of a later proc. Errors in the description are *submitfile.Error.
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

// SetDomain replaces Options.Domain, for callers that learn the pool's domain
// after they have checked the description.
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

// try works out the first job of every queue line, for the errors and
// warnings that this finds.
func (j *Jobs) try() ([]submitfile.Warning, error) {
	seen := map[string]bool{} // the same is said once, where it is met first
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

// job begins the ad of the proc at which p is.
func (j *Jobs) job(p *submitfile.Job, warn func(submitfile.Warning)) *job {
	one := &job{Job: p, Jobs: j, overrides: map[string]bool{}, warn: warn}
	for _, key := range one.customKeys() {
		one.overrides[strings.TrimPrefix(key, customPrefix)] = true
	}
	return one
}

// Doomed returns what is certainly wrong with the jobs and was let pass, as Options.Lenient asks;
// nil: nothing is.
func (j *Jobs) Doomed() error { return j.doomed }

// FileChecks returns what the description asks for by skip_filechecks: not to look whether files
// and folders are there, or to warn only.
func (j *Jobs) FileChecks() (skip, warn bool) { return j.skips, j.doubts }

// Count returns how many jobs the description asks for.
func (j *Jobs) Count() int {
	_, jobs := j.description.Queues()
	return jobs
}
