package submit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fairspool/lib/batchscript"
	"fairspool/lib/jobad"
	"fairspool/lib/jobargs"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// isScript reports whether an argument names a batch script, the words behind which are its
// own. It looks at regular files alone: what is read of a pipe is gone.
func isScript(arg string) bool {
	if isDefinition(arg) {
		return false
	}
	if info, err := os.Stat(arg); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return false
	}
	text, err := readFile(arg)
	return err == nil && batchscript.Is(text)
}

// script returns the description that a batch script stands for.
func (s *submission) script(of given, language submitfile.Options, o *jobad.Options) (*submitfile.Description, error) {
	name := filepath.Base(of.file)
	if of.file == "-" {
		name = "STDIN" // as qsub has it
	}
	script, warnings, err := batchscript.Read(of.text, of.name, batchscript.Options{
		Name: name, JobName: s.Value("batch-name"), Dir: language.Dir, Now: s.Now, IsFolder: isFolder, LookupEnv: os.LookupEnv,
		IsGroup: func(name string) bool { _, ok := s.Config.Groups.Find(name); return ok },
	})
	s.warnOf(warnings)
	if err != nil {
		return nil, err
	}
	if len(of.text) > maxScript {
		return nil, fmt.Errorf("%s: larger than %d KB, too large to be kept with the job: write a script that runs it", of.name, maxScript>>10)
	}
	s.keepOutput(o, script.Name)
	lines := append(script.Lines, commandOf(of, script)...)
	d, warnings, err := submitfile.Make(of.text, of.name, lines, script.Queue, language)
	s.warnOf(warnings)
	return d, err
}

// maxScript bounds a script, whose text is kept with the job, in bytes.
const maxScript = 512 << 10

// commandOf returns what runs a script: its interpreter, /bin/sh without one. The job has a copy
// of the script as it is now, so that it may be changed for the next job. Arguments of the
// command line take the place of those of directives.
func commandOf(of given, script batchscript.Script) []submitfile.Line {
	by, words := script.Interpreter, of.words
	if len(by) == 0 {
		by = []string{"/bin/sh"}
	}
	if len(words) == 0 {
		words = script.Arguments
	}
	at := script.InterpreterAt
	return []submitfile.Line{
		{Name: "executable", Text: submitfile.Literal(by[0]), Line: at.Line, Col: at.Col},
		{Name: "arguments", Text: `"` + literal(by[1:]) + " " + pool.BatchScriptPath + " " + literal(words) + `"`},
		{Name: "MY." + pool.AttrBatchScript, Text: submitfile.Literal(quoted(of.text))},
	}
}

// literal returns words as a part of quoted arguments, in which nothing is expanded.
func literal(words []string) string {
	return strings.ReplaceAll(submitfile.Literal(jobargs.FormatLiteral(words)), `"`, `""`)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
