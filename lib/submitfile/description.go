package submitfile

import (
	"errors"
	"fmt"
	"io"
	"time"

	"fairspool/lib/accountant"
	"fairspool/lib/classad"
)

// Options is what the surroundings add to a description.
type Options struct {
	Owner  string    // login name of the submitter
	Domain string    // UID_DOMAIN: User becomes Owner@Domain
	Dir    string    // absolute path against which relative paths are taken
	Now    time.Time // QDate

	// NiceGroup is the accounting group of nice_user jobs
	// (NICE_USER_ACCOUNTING_GROUP_NAME); empty means "nice-user".
	NiceGroup string

	// Groups are the accounting groups; nil: there are none, and no name is
	// held against them.
	Groups *accountant.Groups

	// What a job asks for when its description does not say: processors,
	// MB, KB. 0 means 1, 128 and 1024.
	RequestCpus, RequestMemory, RequestDisk int64

	// LookupEnv serves $ENV(Name); nil means that no name is set.
	LookupEnv func(name string) (value string, ok bool)
	// Environ is what getenv = true copies, as NAME=value.
	Environ []string
	// Exists returns an error when path, absolute, is no file, or with dir
	// set, no folder. The error's text is what follows the path in the
	// message. nil means that nothing is checked.
	Exists func(path string, dir bool) error
}

// Description is a submit description that was read and checked.
type Description struct {
	file    string
	options Options
	steps   []step
	exprs   *classad.Interner
	checked map[question]error // answers of Options.Exists
}

// step is one statement: an assignment, or a queue statement.
type step struct {
	line  int
	queue bool
	name  string // of an assignment, as written; "+Name" is "MY.Name"
	text  string // the value, or what follows "queue"
}

type question struct {
	path string
	dir  bool
}

// Run is Count procs in a row that differ from the cluster's ad in the
// attributes of Ad, which may have none and is not chained to it.
type Run struct {
	Count int
	Ad    *classad.Ad
}

// Error is something wrong with a description. Line counts from 1; 0 is the
// file as a whole.
type Error struct {
	File string
	Line int
	Msg  string
	Err  error // the cause, may be nil; Msg has its text
}

// Error returns "file:line: msg".
func (e *Error) Error() string { return place(e.File, e.Line) + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Warning is something in a description that may be a mistake.
type Warning struct {
	File string
	Line int
	Msg  string
}

// String returns "file:line: msg".
func (w Warning) String() string { return place(w.File, w.Line) + w.Msg }

func place(file string, line int) string {
	switch {
	case file == "" && line == 0:
		return ""
	case line == 0:
		return file + ": "
	case file == "":
		return fmt.Sprintf("%d: ", line)
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}

// Parse reads a whole description. The name file is used in messages only.
// Besides the grammar it checks the first job of every queue statement, so
// that an error that Expand still finds depends on the cluster's number or
// on that of a later proc. Errors in the description are *Error; the others
// are those of r.
func Parse(r io.Reader, file string, o Options) (*Description, []Warning, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	d := &Description{
		file:    file,
		options: withDefaults(o),
		exprs:   classad.NewInterner(),
		checked: map[question]error{},
	}
	if err := d.read(string(text)); err != nil {
		return nil, nil, err
	}
	warnings, err := d.try()
	if err != nil {
		return nil, nil, err
	}
	return d, append(d.unused(), warnings...), nil
}

// SetDomain replaces Options.Domain, for callers that learn the pool's domain
// after they have checked the description.
func (d *Description) SetDomain(domain string) { d.options.Domain = domain }

func withDefaults(o Options) Options {
	if o.NiceGroup == "" {
		o.NiceGroup = "nice-user"
	}
	if o.RequestCpus == 0 {
		o.RequestCpus = 1
	}
	if o.RequestMemory == 0 {
		o.RequestMemory = 128
	}
	if o.RequestDisk == 0 {
		o.RequestDisk = 1024
	}
	return o
}

func (d *Description) errorf(line int, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{d.file, line, err.Error(), errors.Unwrap(err)}
}
