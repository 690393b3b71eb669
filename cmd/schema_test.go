package cmd_test

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"fairspool/cmd/internal/classad"
	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/condor2fairspool"
	"fairspool/cmd/internal/glidein"
	"fairspool/cmd/internal/negotiate"
	"fairspool/cmd/internal/prio"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qhold"
	"fairspool/cmd/internal/qrls"
	"fairspool/cmd/internal/qstat"
	"fairspool/cmd/internal/qtail"
	"fairspool/cmd/internal/replay"
	"fairspool/cmd/internal/report"
	"fairspool/cmd/internal/setup"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/spool"
	"fairspool/cmd/internal/starter"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
	"fairspool/internal/testenv"
	ads "fairspool/lib/classad"
)

// schemaFolder is where the schemas of the JSON that commands print are.
const schemaFolder = "../docs/schema"

// printing returns all commands but serve, which carries bytes.
func printing() []cmdline.Command {
	return []cmdline.Command{
		classad.Command(), condor2fairspool.Command(), glidein.Command(), negotiate.Command(), prio.Command(), qdel.Command(), qhold.Command(),
		qrls.Command(), qstat.Command(), qtail.Command(), replay.Command(), report.Command(), setup.Command(), slots.Command(), spool.Command(),
		starter.Command(), submit.Command(), userprio.Command(nil),
	}
}

// schemas returns the text of each schema by its name.
func schemas(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	add := func(o cmdline.Output) {
		if texts[o.Name] != "" {
			t.Errorf("%s: two outputs have this name", o.Name)
		}
		text, err := json.MarshalIndent(schemaOf(t, o), "", "  ")
		testenv.OK(t, err)
		texts[o.Name] = string(text) + "\n"
	}
	add(cmdline.Output{Name: "error", Value: cmdline.Failure{}})
	add(cmdline.Output{Name: "warning", Value: cmdline.Warning{}})
	for _, c := range printing() {
		if has := hasJSON(c); has != (c.Outputs != nil) {
			t.Errorf("%s: -json %v, and outputs %v", c.Name, has, c.Outputs != nil)
		}
		if c.Outputs == nil {
			continue
		}
		for _, o := range c.Outputs() {
			if o.Name != c.Name && !strings.HasPrefix(o.Name, c.Name+"-") {
				t.Errorf("%s: an output of %s", o.Name, c.Name)
			}
			add(o)
		}
	}
	return texts
}

// TestActionsHaveJSON holds that each action of a command has -json, but one whose output has a form of its own.
func TestActionsHaveJSON(t *testing.T) {
	for _, c := range printing() {
		for _, a := range c.Actions {
			if name := c.Name + " " + a.Name; slices.Contains(a.Flags, "json") == (name == "classad convert") {
				t.Errorf("%s: %v", name, a.Flags)
			}
		}
	}
}

func hasJSON(c cmdline.Command) bool {
	return slices.ContainsFunc(c.AllFlags(), func(f cmdline.Flag) bool { return f.Name == "json" })
}

// schemaOf returns the schema of an output.
func schemaOf(t *testing.T, o cmdline.Output) *jsonschema.Schema {
	t.Helper()
	types := map[string]reflect.Type{}
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true,
		Mapper: func(of reflect.Type) *jsonschema.Schema { return mapped(t, of) },
		Namer: func(of reflect.Type) string {
			types[named(of)] = of
			return named(of)
		}}
	kind := reflect.TypeOf(o.Value)
	switch v := o.Value.(type) {
	case cmdline.Ads:
		kind = reflect.TypeOf([]*ads.Ad{})
	case cmdline.List:
		kind = reflect.StructOf([]reflect.StructField{{Name: v.Member, Type: reflect.SliceOf(reflect.TypeOf(v.Of))}})
	}
	s := r.ReflectFromType(kind)
	s.Title = o.Name
	nullable(s, kind)
	for name, d := range s.Definitions {
		nullable(d, types[name])
	}
	if s.Properties != nil {
		s.Required = append([]string{"SchemaVersion"}, s.Required...)
		s.Properties.Set("SchemaVersion", &jsonschema.Schema{Const: cmdline.SchemaVersion})
		testenv.OK(t, s.Properties.MoveToFront("SchemaVersion"))
	}
	return s
}

// nullable lets the members of a struct be null that are pointers and always there.
func nullable(s *jsonschema.Schema, of reflect.Type) {
	if s.Properties == nil || of.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := s.Properties.Get(cmp.Or(name, f.Name))
		if ok && f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			s.Properties.Set(cmp.Or(name, f.Name), &jsonschema.Schema{OneOf: []*jsonschema.Schema{p, {Type: "null"}}})
		}
	}
}

// named returns the name of a type among the definitions: with its package, as names come twice.
func named(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

// mapped returns the schemas of types that write their own JSON; nil: the type does not.
func mapped(t *testing.T, of reflect.Type) *jsonschema.Schema {
	pointer := reflect.PointerTo(of)
	switch {
	case of == reflect.TypeFor[ads.Ad]():
		return &jsonschema.Schema{Type: "object"}
	case of == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case of == reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	case of.PkgPath() == "fairspool/cmd/internal/classad" && of.Name() == "rank":
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string"}}} // infinities
	case pointer.Implements(reflect.TypeFor[json.Marshaler]()):
		t.Errorf("%v writes its own JSON: mapped has to know it", of)
	case pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// TestSchemas holds docs/schema to the types that commands print. With -update it writes the files.
func TestSchemas(t *testing.T) {
	texts := schemas(t)
	there, err := filepath.Glob(schemaFolder + "/*.json")
	testenv.OK(t, err)
	if cmdtest.Updating() {
		testenv.OK(t, os.MkdirAll(schemaFolder, 0o755))
	}
	for _, file := range there {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if _, known := texts[name]; !known && cmdtest.Updating() {
			os.Remove(file)
		} else if !known {
			t.Errorf("%s: no command prints it: go test -update removes it", file)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		file := filepath.Join(schemaFolder, name+".json")
		if cmdtest.Updating() {
			testenv.OK(t, os.WriteFile(file, []byte(texts[name]), 0o644))
			continue
		}
		if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, []byte(texts[name])) {
			t.Errorf("%s is not what the command prints, %v: go test -update writes it. A member that goes or changes takes a new SchemaVersion:\n%s", file, err, texts[name])
		}
	}
}
