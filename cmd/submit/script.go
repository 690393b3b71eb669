package main

import (
	"os"
	"path/filepath"

	"fairspool/lib/batchscript"
	"fairspool/lib/jobad"
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
	if of.file == "-" {
		return nil, &submitfile.Error{Place: submitfile.Place{File: of.name}, Msg: "is a batch script, which has to be a file: submit FILE"}
	}
	name := filepath.Base(of.file)
	script, warnings, err := batchscript.Read(of.text, of.name, batchscript.Options{
		Name: name, JobName: s.Value("batch-name"), Dir: language.Dir, Now: s.Now, IsFolder: isFolder, LookupEnv: os.LookupEnv,
		IsGroup: func(name string) bool { _, ok := s.Config.Groups.Find(name); return ok },
	})
	s.warnOf(warnings)
	if err != nil {
		return nil, err
	}
	for _, l := range script.Lines {
		if l.Name == "batch_name" {
			name = l.Text
		}
	}
	s.keepOutput(o, name)
	lines := append(script.Lines, commandOf(of, language.Dir, script)...)
	d, warnings, err := submitfile.Make(of.text, of.name, lines, script.Queue, language)
	s.warnOf(warnings)
	return d, err
}

// commandOf returns what runs a script: the script itself where the system can do that, else its
// interpreter, /bin/sh without one. Arguments of the command line take the place of those of
// directives.
func commandOf(of given, dir string, script batchscript.Script) []submitfile.Line {
	path := of.file
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	words := of.words
	if len(words) == 0 {
		words = script.Arguments
	}
	words = append([]string{path}, words...)
	by := script.Interpreter
	if len(by) == 0 {
		by = []string{"/bin/sh"}
	}
	words = append(by[:len(by):len(by)], words...)
	for i, w := range words {
		words[i] = submitfile.Literal(w)
	}
	at := script.InterpreterAt
	return []submitfile.Line{
		{Name: "executable", Text: words[0], Line: at.Line, Col: at.Col},
		{Name: "arguments", Text: batchscript.Quoted(words[1:])},
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
