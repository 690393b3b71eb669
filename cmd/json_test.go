package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"fairspool/internal/testenv"
)

// valid is the word of scripts that holds what a command prints with -json to its schemas:
//
//	valid [STATUS|any] SCHEMA[,SCHEMA...] COMMAND...
//
// Standard output has a value for each schema, and the last of them as often as it likes; for - it has none. Each line of
// standard error is an error or a warning, and there is one if a command fails without a value.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	want := "0"
	if len(args) > 0 && (args[0] == "any" || regexp.MustCompile(`^[0-9]+$`).MatchString(args[0])) {
		want, args = args[0], args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: valid [STATUS|any] SCHEMA[,SCHEMA...] COMMAND...")
	}
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if want != "any" && strconv.Itoa(status) != want {
		ts.Fatalf("exit status %d, want %s", status, want)
	}
	values := read(ts, ts.ReadFile("stdout"))
	names := strings.Split(args[0], ",")
	switch {
	case args[0] == "-" && len(values) > 0, args[0] != "-" && len(values) < len(names) && want != "any":
		ts.Fatalf("%d values of %s", len(values), args[0])
	}
	for i, v := range values {
		ts.Check(validate(names[min(i, len(names)-1)], v))
	}
	told := read(ts, ts.ReadFile("stderr"))
	for _, v := range told {
		name := "warning"
		if object, _ := v.(map[string]any); object["Error"] != nil {
			name = "error"
		}
		ts.Check(validate(name, v))
	}
	if status != 0 && len(values)+len(told) == 0 {
		ts.Fatalf("exit status %d without an error", status)
	}
}

// read returns the values of a text.
func read(ts *testscript.TestScript, text string) (list []any) {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var raw json.RawMessage
		switch err := d.Decode(&raw); {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			ts.Fatalf("not JSON: %v: %s", err, text)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		ts.Check(err)
		list = append(list, v)
	}
}

var compiled sync.Map // the schemas by name

// validate holds a value to a schema of docs/schema.
func validate(name string, v any) error {
	s, ok := compiled.Load(name)
	if !ok {
		file, err := filepath.Abs("../docs/schema/" + name + ".json")
		if err != nil {
			return err
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if s, err = c.Compile(file); err != nil {
			return err
		}
		compiled.Store(name, s)
	}
	return s.(*jsonschema.Schema).Validate(v)
}

// TestGoldenJSONValid holds the JSON in golden pages of messages to a schema of the command.
func TestGoldenJSONValid(t *testing.T) {
	files, err := filepath.Glob("internal/*/testdata/messages/*.txt")
	own, _ := filepath.Glob("testdata/messages/*.txt")
	testenv.OK(t, err)
	held := 0
	for _, file := range append(files, own...) {
		text, err := os.ReadFile(file)
		testenv.OK(t, err)
		for entry := range strings.SplitSeq(string(text), "\n\n") {
			head, _, _ := strings.Cut(entry, "\n")
			_, call, _ := strings.Cut(head, ": ")
			if !slices.Contains(strings.Fields(call), "-json") {
				continue
			}
			var out strings.Builder
			for line := range strings.Lines(entry) {
				if printed, is := strings.CutPrefix(line, "  | "); is {
					out.WriteString(printed)
				}
			}
			command, _, _ := strings.Cut(call, " ")
			for d := json.NewDecoder(strings.NewReader(out.String())); ; held++ {
				var raw json.RawMessage
				if err := d.Decode(&raw); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %s: %v", file, call, err)
					break
				}
				if err := validateAny(command, raw); err != nil {
					t.Errorf("%s: %s: %v", file, call, err)
				}
			}
		}
	}
	if held < 25 {
		t.Errorf("%d values in golden pages, want 25 at least", held)
	}
}

// validateAny holds a value to one of a command's schemas.
func validateAny(command string, raw []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	names, err := filepath.Glob("../docs/schema/" + command + "*.json")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no schema of %s: %w", command, err)
	}
	var all []error
	for _, name := range names {
		err := validate(strings.TrimSuffix(filepath.Base(name), ".json"), v)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// TestNoSchemaLibrary holds that commands do without the libraries of the tests.
func TestNoSchemaLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "fairspool/cmd/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "jsonschema") {
			t.Errorf("a command links %s", line)
		}
	}
}

// TestEachJSONValid holds that the script of JSON has each command with -json, and each of its schemas.
func TestEachJSONValid(t *testing.T) {
	script, err := os.ReadFile("testdata/script/json.txtar")
	testenv.OK(t, err)
	called, held := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^valid (?:(?:[0-9]+|any) )?(\S+) (?:(\S+) .*-json|cat )`).FindAllStringSubmatch(string(script), -1) {
		called[m[2]] = true
		for _, name := range strings.Split(m[1], ",") {
			held[name] = true
		}
	}
	programs, err := os.ReadDir(binaries(t))
	testenv.OK(t, err)
	for _, p := range programs {
		help, err := exec.Command(filepath.Join(binaries(t), p.Name()), "-help").Output()
		if err != nil {
			t.Fatalf("%s -help: %v", p.Name(), err)
		}
		if has := regexp.MustCompile(`(?m)^  -json\b`).Match(help); has != called[p.Name()] {
			t.Errorf("%s: -json %v, and in json.txtar %v", p.Name(), has, called[p.Name()])
		}
	}
	files, err := filepath.Glob("../docs/schema/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/schema: %v", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		if !held[name] && !slices.Contains([]string{"error", "warning"}, name) {
			t.Errorf("%s: nothing in json.txtar is held to it", f)
		}
	}
}
