package submit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/asuser"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// maxTold is how many places of one command are reported by name.
const maxTold = 10

// heldLog is HTCondor's HoldReasonCode of a job whose event log cannot be written.
const heldLog = 22

// places are the commands that name a place, each with its attribute, the HoldReasonCode of a
// job for which the place is wrong, and the check of the place; nil: a file is to be written
// there. initialdir comes first, as the others are relative to it.
var places = [...]struct {
	command, attr string
	code          int
	look          func(path string, by rights) error
}{
	{"initialdir", pool.AttrIwd, launch.HoldIwd, folderThere},
	{"executable", pool.AttrCmd, launch.HoldStart, program},
	{"input", pool.AttrIn, launch.HoldStdin, source},
	{"output", pool.AttrOut, launch.HoldStdout, nil},
	{"error", pool.AttrErr, launch.HoldStdout, nil},
	{"log", pool.AttrUserLog, heldLog, nil},
	{"transfer_input_files", pool.AttrTransferInput, launch.HoldInput, nil},
	{"notify_command", pool.AttrNotifyCommand, launch.HoldStart, program},
}

// fault is a problem of a file or folder: in a few words, which follow its name, and as an error
// number.
type fault struct {
	why   string
	errno unix.Errno
}

func (f *fault) Error() string { return f.why }

func (f *fault) Unwrap() error { return f.errno }

// problem is a place that keeps jobs from running.
type problem struct {
	command int // of places
	path    string
	*fault
}

// trouble are procs in a row that one thing keeps from running: a place, or for a code that is
// not a place's, what why says.
type trouble struct {
	first, count  int
	why           string
	code, subcode int
}

// look looks for what will keep the jobs from running: files and folders that are missing or
// that their owner may not use. Each place is looked at once, with the rights of the owner, and
// reported once: as a warning for jobs that wait for others or are on hold, since the place may
// be in order when they start. Of the other jobs it returns the procs, and the first problem as
// an error that has its line in the description, nil without a problem.
func (s *submission) look(d *jobad.Jobs, k cluster) (doomed []trouble, refusal error) {
	skip, warn := d.FileChecks()
	if s.blindly || skip {
		return nil, nil
	}
	err := asuser.Do(s.owner, "", func() error {
		doomed, refusal = s.lookAt(d, k, ofOwner, warn)
		return nil
	})
	if err != nil { // this machine does not know the owner; one that runs the jobs may
		doomed, refusal = s.lookAt(d, k, ofOthers, warn)
	}
	return doomed, refusal
}

// rights are those in force for a look.
type rights bool

const (
	ofOwner  rights = true
	ofOthers rights = false // they do not show what the owner may do
)

func (s *submission) lookAt(d *jobad.Jobs, k cluster, by rights, onlyWarn bool) (doomed []trouble, refusal error) {
	l := newLooking(k, by)
	told := map[*problem]bool{}
	var named, more [len(places)]int
	others, first := 0, 0 // doomed places besides the refused one; proc of the run
	for _, r := range k.Runs {
		l.at(r)
		doubtful := onlyWarn || l.startsLater()
		for i := range places {
			p := l.new(i)
			if p == nil {
				continue
			}
			if !doubtful {
				doomed = addTrouble(doomed, first, r.Count, p)
			}
			if told[p] {
				continue
			}
			told[p] = true
			switch {
			case !doubtful && !s.force && s.dryRunTo == "" && refusal == nil:
				refusal = p.located(d, first, "%s: %s", p.path, p.why)
				continue
			case !doubtful && !s.force && s.dryRunTo == "":
				others++
				continue
			case named[i] == maxTold:
				more[i]++
				continue
			}
			named[i]++
			end := "the job will be held if this is still so when it starts"
			if !doubtful && s.force {
				end = "the job is held"
			} else if !doubtful {
				end = "with this, the job would not be submitted"
			}
			s.warn("%v (%s)", p.located(d, first, "%s: %s", p.path, p.why), end)
		}
		first += r.Count
	}
	for i, n := range more {
		if n > 0 {
			s.warn("%s: and %d more like these", places[i].command, n)
		}
	}
	if refusal != nil && others > 0 {
		refusal = fmt.Errorf("%w (and %s)", refusal, plural.Count(others, "more place"))
	}
	return doomed, refusal
}

// located returns an error about the place in a proc, with the line that names the place.
func (p *problem) located(d *jobad.Jobs, proc int, format string, args ...any) error {
	return d.RefuseCommand(places[p.command].command, places[p.command].attr, proc, fmt.Errorf(format, args...))
}

// addTrouble adds procs that a place keeps from running. One trouble per proc is enough.
func addTrouble(list []trouble, first, count int, p *problem) []trouble {
	t := trouble{first, count, fmt.Sprintf("%s %s: %s", places[p.command].command, p.path, p.why), places[p.command].code, int(p.errno)}
	if n := len(list); n > 0 {
		switch last := &list[n-1]; {
		case last.first == first:
			return list
		case last.first+last.count == first && last.why == t.why:
			last.count += count
			return list
		}
	}
	return append(list, t)
}

// looking is a look at the places of a cluster's jobs.
type looking struct {
	*texts
	by      rights
	common  [len(places)]*found // of procs that have no place of their own; nil: not looked at yet
	ownIwd  bool                // of the run
	later   *bool               // whether procs without a word of their own start later; nil: not looked at yet
	seen    [len(places)]map[string]*problem
	folders map[string]*folder
	wrong   map[string]*problem // of files that are to be written, by the path that is wrong
}

type found struct{ *problem }

func newLooking(k cluster, by rights) *looking {
	l := &looking{texts: newTexts(k), by: by, folders: map[string]*folder{}, wrong: map[string]*problem{}}
	for i := range l.seen {
		l.seen[i] = map[string]*problem{}
	}
	return l
}

// startsLater reports whether the procs of the run wait for others or until they are released.
func (l *looking) startsLater() bool {
	if l.run.Has(jobpolicy.AttrAfterOk, jobpolicy.AttrAfterAny, pool.AttrJobStatus) {
		return startsLater(l.adOf(l.run))
	}
	if l.later == nil {
		later := startsLater(l.Ad)
		l.later = &later
	}
	return *l.later
}

func startsLater(ad *classad.Ad) bool {
	status, _ := ad.EvalInt(&classad.Context{}, pool.AttrJobStatus)
	return jobpolicy.Waits(ad) || pool.Status(status) == pool.Held
}

// at goes to a run.
func (l *looking) at(r jobad.Run) {
	l.texts.at(r)
	l.ownIwd = r.Has(pool.AttrIwd)
}

// new returns the problem with the place of a command in the procs of the run, nil if there is
// none. The same place gives the same problem.
func (l *looking) new(i int) *problem {
	p := &places[i]
	own := l.ownIwd || l.run.Has(p.attr) || p.attr == pool.AttrCmd && l.run.Has(pool.AttrTransferExecutable)
	if !own && l.common[i] != nil {
		return l.common[i].problem
	}
	bad := l.problem(i)
	if !own {
		l.common[i] = &found{bad}
	}
	return bad
}

func (l *looking) problem(i int) *problem {
	p := &places[i]
	path, dir := l.text(p.attr), ""
	if path == "" || strings.Contains(path, "$$(") { // the slot has a say in it
		return nil
	}
	if !filepath.IsAbs(path) && i > 0 {
		if dir = l.text(pool.AttrIwd); l.new(0) != nil {
			return nil // the folder is reported
		}
	}
	switch {
	case p.attr == pool.AttrTransferInput:
		return l.sources(i, dir, path)
	case p.attr == pool.AttrCmd && l.elsewhere():
		return nil
	case p.look == nil:
		return l.target(i, dir, path)
	}
	return l.existing(i, dir, path, p.look)
}

// elsewhere reports whether the executable is not a file of this machine: it is not transferred,
// as in a container.
func (l *looking) elsewhere() bool {
	ad := l.Ad
	if l.run.Has(pool.AttrTransferExecutable) {
		ad = l.adOf(l.run)
	}
	transfer, told := ad.EvalBool(&classad.Context{}, pool.AttrTransferExecutable)
	return told && !transfer
}

// existing looks at a place that has to be there.
func (l *looking) existing(i int, dir, path string, look func(string, rights) error) *problem {
	if dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	bad, known := l.seen[i][path]
	if !known {
		bad = l.faulty(i, path, look(path, l.by))
		l.seen[i][path] = bad
	}
	return bad
}

func (l *looking) faulty(i int, path string, err error) *problem {
	var f *fault
	if !errors.As(err, &f) {
		return nil
	}
	return &problem{i, path, f}
}

// sources looks at the files and folders that are brought to the job.
func (l *looking) sources(i int, dir, list string) *problem {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), "file://")
		if name == "" || strings.Contains(name, "://") {
			continue
		}
		if p := l.existing(i, dir, name, sourceOrFolder); p != nil {
			return p
		}
	}
	return nil
}

// folderThere checks a folder in which the job runs.
func folderThere(path string, by rights) error {
	if err := exists(path, true); err != nil {
		return err
	}
	return may(path, unix.X_OK, "enter", by)
}

// program checks a program that the job runs.
func program(path string, by rights) error {
	if err := exists(path, false); err != nil {
		var f *fault
		if errors.As(err, &f) && f.errno == unix.ENOENT {
			return &fault{f.why + meantProgram(path), f.errno}
		}
		return err
	}
	switch st, err := os.Stat(path); {
	case err == nil && st.Mode()&0o111 == 0:
		return &fault{"may not be executed: chmod +x it", unix.EACCES}
	default:
		return may(path, unix.X_OK, "execute", by)
	}
}

// meantProgram proposes what may be meant by a program that is missing.
func meantProgram(path string) string {
	words := strings.Fields(path)
	switch inPath, err := exec.LookPath(filepath.Base(path)); {
	case err == nil && inPath != path:
		return "; did you mean " + inPath + "?"
	case strings.Contains(path, "#"):
		return "; a comment has to have a line of its own"
	case strings.Contains(path, "/~/") || strings.Contains(path, "/$HOME"):
		return "; the home folder is $ENV(HOME)"
	case len(words) > 1 && exists(words[0], false) == nil:
		return "; put the words after " + words[0] + " into arguments"
	}
	return ""
}

// source looks at a file that is to be read.
func source(path string, by rights) error {
	if err := exists(path, false); err != nil {
		return err
	}
	return may(path, unix.R_OK, "read", by)
}

// sourceOrFolder looks at a file or folder that is to be copied.
func sourceOrFolder(path string, by rights) error {
	if exists(path, true) == nil {
		return may(path, unix.R_OK|unix.X_OK, "read", by)
	}
	return source(path, by)
}

// may returns an error if the owner, whose rights are in force, may not access a place so.
func may(path string, what uint32, verb string, by rights) error {
	if by == ofOthers {
		return nil
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, what, unix.AT_EACCESS); err != nil {
		if errors.Is(err, unix.EACCES) {
			return &fault{"the owner of the job may not " + verb + " it", unix.EACCES}
		}
		return newFault(err)
	}
	return nil
}

// newFault returns an error of the system as a fault.
func newFault(err error) *fault {
	f := &fault{why: cmdline.Cause(err).Error()}
	errors.As(err, &f.errno)
	return f
}

// target checks a file that is to be written, by its path from dir on: the problem may be
// the file's or its folder's. Very many procs may each have one, so it joins the path
// only if there is a problem.
func (l *looking) target(i int, dir, name string) *problem {
	if dir == "" || strings.Contains(name, "/") || name == "." || name == ".." {
		path := filepath.Join(dir, name)
		dir, name = filepath.Dir(path), filepath.Base(path)
	}
	f := l.folders[dir]
	if f == nil {
		f = newFolder(filepath.Clean(dir), l.by)
		l.folders[dir] = f
	}
	path := f.name
	err := f.wrong
	if err == nil {
		if err = f.keeps(name); err == nil {
			return nil
		}
		path = filepath.Join(f.name, name)
	}
	bad := l.wrong[path]
	if bad == nil {
		bad = l.faulty(i, path, err)
		l.wrong[path] = bad
	}
	return bad
}

const (
	// fewTargets are looked at one by one; for more of them the folder is listed.
	fewTargets = 100
	// maxListed bounds the list: a folder with more names is not worth it.
	maxListed = 1 << 20
)

// folder is a folder for files to be written.
type folder struct {
	name   string
	by     rights
	wrong  error           // why nothing can be written there
	closed error           // why no new file can be made there
	asked  int             // so many files were asked for
	listed bool            // it was tried
	nested map[string]bool // names that are, or may be, something else than a file; nil: not known
}

func newFolder(name string, by rights) *folder {
	f := &folder{name: name, by: by, wrong: exists(name, true)}
	if f.wrong == nil {
		f.wrong = may(name, unix.X_OK, "enter", by)
	}
	if f.wrong == nil {
		f.closed = may(name, unix.W_OK, "write", by)
	}
	return f
}

// keeps returns what keeps a file of the folder from being written.
func (f *folder) keeps(name string) error {
	if f.asked++; f.asked > fewTargets && f.closed == nil {
		if !f.listed {
			f.listed, f.nested = true, foldersIn(f.name)
		}
		if f.nested != nil && !f.nested[name] {
			return nil
		}
	}
	path := filepath.Join(f.name, name)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.closed != nil:
		return &fault{"the owner of the job may not make a file in this folder", unix.EACCES}
	case err != nil:
		return nil
	case st.IsDir():
		return &fault{"is a folder", unix.EISDIR}
	}
	return may(path, unix.W_OK, "write", f.by)
}

// foldersIn returns the names in a folder that are not plain files; nil if these are not to be had cheaply.
func foldersIn(dir string) map[string]bool {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	found := map[string]bool{}
	for n := 0; n < maxListed; {
		list, err := d.ReadDir(4096)
		for _, e := range list {
			if !e.Type().IsRegular() {
				found[e.Name()] = true
			}
		}
		n += len(list)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			return nil
		}
	}
	return nil
}
