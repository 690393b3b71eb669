package man

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairspool/lib/config"
	policy "fairspool/lib/policy/maui"
	"fairspool/lib/policy/registry"
	"fairspool/lib/policy/sge"
)

// keysPage is the index of all settings.
const keysPage = "fairspool-keys.5"

// TestKeysPage holds the index of settings to the tables of keys and to the pages that describe them. -update writes it.
func TestKeysPage(t *testing.T) {
	want := strings.Split(strings.TrimSuffix(keysIndex(t), "\n"), "\n")
	if *update {
		if err := os.WriteFile(keysPage, []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got := read(t, keysPage).lines
	for i := range max(len(got), len(want)) {
		if at(got, i) != at(want, i) {
			t.Fatalf("%s:%d: %q, want %q: go test ./man -run KeysPage -update writes it", keysPage, i+1, at(got, i), at(want, i))
		}
	}
}

const keysHead = `.\" Generated from the tables of keys: go test ./man -run KeysPage -update writes it.
.Dd November 29, 2026
.Dt FAIRSPOOL-KEYS 5
.Os
.Sh NAME
.Nm fairspool-keys
.Nd index of all settings of fairspool
.Sh DESCRIPTION
This page lists every key of
.Xr fairspool.toml 5
with its type, its default, what it sets, and the page that describes it.
Expressions are ClassAd text in strings; seconds may have decimals.
The keys of each table are in alphabetical order.
.Sh EXAMPLES
Show each setting in force, with the line that sets it:
.Dl $ negotiate -check-config
.Pp
Show one setting:
.Dl $ negotiate -check-config | grep PRIORITY_HALFLIFE
`

const keysFoot = `.Sh SEE ALSO
.Xr fairspool.toml 5 ,
.Xr fairspool 7 ,
.Xr condor2fairspool 8
`

// keysIndex writes the page.
func keysIndex(t *testing.T) string {
	pageOf := settingPages(t)
	var b strings.Builder
	b.WriteString(keysHead)
	section := func(title, intro string, keys []config.Key) {
		b.WriteString(".Sh " + title + "\n" + intro + ".Bl -tag -width Ds\n")
		slices.SortStableFunc(keys, func(a, b config.Key) int {
			return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		})
		for _, k := range keys {
			b.WriteString(".It Ic " + k.Name + "\n" + keyEntry(k))
			if file := pageOf[k.Name]; file != "" {
				ext := filepath.Ext(file)
				b.WriteString("See\n.Xr " + strings.TrimSuffix(file, ext) + " " + ext[1:] + " .\n")
			} else {
				t.Errorf("settings: no page describes %s", k.Name)
			}
		}
		b.WriteString(".El\n")
	}
	var named, engine []config.Key
	for _, k := range withNames() {
		if slices.ContainsFunc(config.EngineKeys, func(e config.EngineKey) bool { return e.Name == k.Name }) {
			engine = append(engine, k)
		} else {
			named = append(named, k)
		}
	}
	section("KEYS OF THE TOP LEVEL", "These stand before the first table.\n", slices.Clone(registry.Keys()))
	section("KEYS WITH NAMES", "The name of a group or set follows a key that ends in _, and the name of a limit precedes\n"+
		".Ic _LIMIT .\nNAME stands for one of\n.Ic SUBMIT_REQUIREMENT_NAMES .\n.Ic members\nis the key of a table\n.Li [groups.NAME] .\n", named)
	section("KEYS OF ENGINES", "These stand in a table\n.Li [engine.NAME] .\n", engine)
	section("KEYS OF MAUI", "These stand in the table\n.Li [maui] .\n", slices.Clone(policy.Keys))
	section("KEYS OF GRID ENGINE", "These stand in the table\n.Li [sge] .\n", slices.Clone(sge.Keys))
	b.WriteString(keysFoot)
	return b.String()
}

// keyEntry writes the type, the default and the meaning of a key.
func keyEntry(k config.Key) string {
	text := ".Em " + strings.ReplaceAll(kind(k), `"`, `\(dq`)
	if k.Default != nil {
		text += "\n(default\n.Li " + roff(initial(k)) + " )"
	}
	return text + "\n.br\n" + nextSentence.ReplaceAllString(roff(k.Help), "$1\n$2") + "\n"
}

// nextSentence is where a sentence ends and another begins, which is a line of its own.
var nextSentence = regexp.MustCompile(`(\.) ([A-Z0-9])`)

// roff escapes what would be a macro or an escape.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, `"`, `\(dq`, `-`, `\-`).Replace(s)
}

// settingPages returns the page that describes each key.
func settingPages(t *testing.T) map[string]string {
	t.Helper()
	of := map[string]string{}
	for _, p := range pages(t) {
		part := p.part("SETTINGS")
		if p.file == "fairspool.toml.5" {
			part = p
		}
		for head := range part.items("Ic") {
			for _, cell := range strings.Split(head, " Ta ")[:min(2, strings.Count(head, " Ta ")+1)] {
				of[strings.TrimPrefix(cell, "Ic ")] = p.file
			}
		}
	}
	return of
}
