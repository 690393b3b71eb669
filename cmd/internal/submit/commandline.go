package submit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/jobad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// commandLine is the description's name where the words behind -- stand in its place.
const commandLine = "command line"

// checkCommandLine refuses a command line without a command, or beside a description.
func (s *submission) checkCommandLine(description []string) error {
	switch {
	case len(s.CommandLine) == 0 || s.CommandLine[0] == "":
		return cmdline.Usagef("--: want a command behind it, as in submit -- echo hello")
	case len(description) > 0:
		return cmdline.Usagef("%s: a description and a command behind --: only one of them at a time", description[0])
	}
	return nil
}

// runCommandLine makes the words behind -- what the jobs run, in place of a description.
func (s *submission) runCommandLine(language *submitfile.Options, o *jobad.Options) error {
	path, err := lookUp(s.CommandLine[0], language.Dir)
	if err != nil {
		return err
	}
	for _, text := range []string{path, language.Dir} {
		if strings.Contains(text, "$$(") {
			return fmt.Errorf("%s: no path of a job may have $$( in it, where its slot's attributes are put in", text)
		}
	}
	language.HasQueue = true
	o.Command = submitfile.Exactly(append([]string{path}, s.CommandLine[1:]...))
	o.Getenv = true
	s.keepOutput(o, filepath.Base(path))
	return nil
}

// keepOutput makes jobs that have no description of their own keep their output, unless they name
// a file for it. name is what they are called without -name.
func (s *submission) keepOutput(o *jobad.Options, name string) {
	s.kept = true
	o.KeepOutput = fileName(cmp.Or(strings.TrimSpace(s.Value("batch-name")), name))
}

// lookUp returns the path of a command as a shell finds it: one with a slash is taken from dir,
// another one is looked up in PATH. The error says what to do instead.
func lookUp(name, dir string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		if !filepath.IsAbs(path) {
			path = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(path, "./")
		}
		return path, nil
	case strings.Contains(name, "/"):
		return "", fmt.Errorf("%s: %w", name, notExecutable(err))
	}
	hint := "; give its path"
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		hint = "; the file here is submitted as a description by submit " + name
		if st.Mode()&0o111 != 0 {
			hint = "; the file here is run by submit -- ./" + name
		}
	}
	return "", fmt.Errorf("%s: no such command in PATH%s", submitfile.Shorten(name), hint)
}

// asCommand is what to do instead where the arguments are a command and no description.
func asCommand(file string, words []string) string {
	if len(words) > 0 && words[0] == "queue" {
		return fmt.Sprintf("; a queue line stands behind -queue: submit %s -queue %s", file, strings.Join(words[1:], " "))
	}
	if _, err := exec.LookPath(file); err != nil {
		return ""
	}
	return "; a command stands behind --: submit -- " + submitfile.Shorten(strings.Join(append([]string{file}, words...), " "))
}

func notExecutable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("may not be executed: chmod +x it")
	case errors.Is(err, unix.EISDIR):
		return errors.New("is a folder")
	}
	return cmdline.Cause(errors.Unwrap(err))
}

// maxFileName is how many bytes of a job's name the name of its output has.
const maxFileName = 100

// fileName returns a job's name as the beginning of a file's name: what is no letter, digit or
// harmless sign is an underscore, and so are a dot and a hyphen that come first.
func fileName(name string) string {
	harmless := func(r rune) rune {
		if r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._+-=@%,", r)) {
			return r
		}
		return '_'
	}
	name = strings.Map(harmless, name)
	for len(name) > maxFileName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	switch {
	case name == "":
		return "_"
	case name[0] == '.' || name[0] == '-':
		return "_" + name[1:]
	}
	return name
}

// environ is what the jobs may have of the environment. A job's ad holds NAME=value only.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(a string) bool { return strings.Index(a, "=") < 1 })
}

// tellKept says which jobs are in the queue that keep their output, and where.
func (s *submission) tellKept(k cluster) {
	t := newTexts(k)
	t.at(k.Runs[0])
	first := pool.JobID{Cluster: k.id}
	which, whose := fmt.Sprintf("Job %v submitted", first), "output"
	if k.all > 1 {
		which, whose = fmt.Sprintf("%s submitted to cluster %d", plural.Count(k.all, "job"), k.id), fmt.Sprintf("output of %v", first)
	}
	out := t.text(pool.AttrOut)
	if out == os.DevNull {
		fmt.Fprintf(s.Stdout, "%s; the output is not kept\n", which)
		return
	}
	dir := t.text(pool.AttrIwd)
	if here, err := os.Getwd(); !filepath.IsAbs(out) && (err != nil || dir != here) {
		out = filepath.Join(dir, out)
	}
	fmt.Fprintf(s.Stdout, "%s; %s in %s\n", which, whose, out)
}
