package launch

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"fairspool/internal/testenv"
	"fairspool/lib/classad"
)

func slotAd(t *testing.T) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd(`[Name = "slot1@node"; OpSys = "LINUX"; Arch = "X86_64"; Memory = 1024; Cpus = 2; SlotWeight = Cpus; Dollars = "$$(Memory)"]`)
	testenv.OK(t, err)
	return ad
}

// valueIn returns what evaluates expressions of an ad in a slot.
func valueIn(ad, slot *classad.Ad) func(*classad.Expr) classad.Value {
	return func(e *classad.Expr) classad.Value { return e.Eval(&classad.Context{MaxSteps: 100_000}, ad, slot) }
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a $$(Memory) b", "a 1024 b"},
		{"$$(opsys).$$(ARCH)", "LINUX.X86_64"},
		{"$$(SlotWeight)", "Cpus"},
		{"$$(Nothing:x)", "x"}, {"$$(Nothing:)", ""}, {`$$(Nothing:"a b")`, "a b"}, {"$$(Nothing:f(x))", "f(x)"},
		{"$$(Memory:5)", "1024"},
		{"$$(DOLLARDOLLAR)(Memory)", "$$(Memory)"}, {"$$(dollardollar)", "$$"},
		{"$$(Dollars)", "$$(Memory)"},
		{"$$([Memory / 2])", "512"}, {"$$([ TARGET.Memory / MY.Want ])", "256"}, {"$$([Want + Cpus])", "6"},
		{`$$([strcat("a)", ")b")])`, "a))b"}, {`$$([ifThenElse(Cpus > 1, "many", "one")])`, "many"}, {"$$([{1, 2}[1]])", "2"},
		{"$$ $$Memory $(Memory) $$(Memory", "$$ $$Memory $(Memory) $$(Memory"},
		{"$$() $$(date +%s) $$(Memory)", "$$() $$(date +%s) 1024"}, {"$$(a:( $$(Memory)", "$$(a:( $$(Memory)"}, {"$$(x", "$$(x"},
		{"$$(Memory)$$(Cpus)", "10242"}, {"$$$(Memory)", "$1024"},
	} {
		ad := jobAd(t, "Want", "4")
		ad.SetString("X", c.text)
		got, _, err := Expand(ad, slotAd(t), valueIn(ad, slotAd(t)))
		if err != nil {
			t.Errorf("Expand(%s): %v, want %s", c.text, err, c.want)
			continue
		}
		if s, _ := got.EvalString(&classad.Context{}, "X"); s != c.want {
			t.Errorf("Expand(%s) = %s, want %s", c.text, s, c.want)
		}
		if s, _ := ad.EvalString(&classad.Context{}, "X"); s != c.text {
			t.Errorf("Expand(%s) has changed the job's ad to %s", c.text, s)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"$$(Nothing)", "X: cannot expand $$(Nothing): the slot has no such attribute"},
		{"$$([Nothing])", "X: cannot expand $$([Nothing]): it has no value with this slot"},
		{"$$([1 +])", "X: cannot expand $$([1 +]): it is no expression"},
	} {
		ad := jobAd(t)
		ad.SetString("X", c.text)
		if _, _, err := Expand(ad, slotAd(t), valueIn(ad, slotAd(t))); err == nil || err.Error() != c.want {
			t.Errorf("Expand(%s) = %v, want %s", c.text, err, c.want)
		}
	}
	ad := jobAd(t)
	ad.SetString("X", "$$(Memory)")
	if _, _, err := Expand(ad, nil, valueIn(ad, nil)); err == nil {
		t.Error("Expand without a slot = nil, want an error")
	}
}

func TestExpandTellsWhatItFound(t *testing.T) {
	ad := jobAd(t, "Cmd", `"run.$$OPSYS.$$ARCH"`, "Args", `"-m $$(Memory) $$(Extra:none)"`, "MATCH_EXP_Args", `"$$(Nothing)"`, "Iwd", `"/tmp"`)
	got, found, err := Expand(ad, slotAd(t), valueIn(ad, slotAd(t)))
	testenv.OK(t, err)
	var all []string
	for _, f := range found {
		all = append(all, f.Name+"="+f.Expr.String())
	}
	const want = `MATCH_Memory=1024 MATCH_EXP_Args="-m 1024 none" MATCH_OPSYS="LINUX" MATCH_ARCH="X86_64" MATCH_EXP_Cmd="run.LINUX.X86_64"`
	if text := strings.Join(all, " "); text != want {
		t.Errorf("Expand found %s, want %s", text, want)
	}
	if s, _ := got.EvalString(&classad.Context{}, "Cmd"); s != "run.LINUX.X86_64" {
		t.Errorf("Cmd = %s, want it expanded", s)
	}
	plain := jobAd(t, "Cmd", `"run"`)
	if same, found, err := Expand(plain, slotAd(t), nil); same != plain || found != nil || err != nil {
		t.Errorf("Expand of an ad without references = %v, %v, want the ad", found, err)
	}
}

// TestExpandIsBounded gives references that would make of a small ad a large one, or take
// long.
func TestExpandIsBounded(t *testing.T) {
	slot := slotAd(t)
	slot.SetString("Big", strings.Repeat("a b ", 300))
	for _, c := range []struct{ text, want string }{
		{strings.Repeat("$$(Big)", 5000), "X: cannot expand $$(): more than 4194304 bytes put in"},
		{strings.Repeat("$$(Memory)", 10001), "X: cannot expand $$(): more than 10000 references in one ad, or 100 expressions"},
		{strings.Repeat("$$([1])", 101), "X: cannot expand $$(): more than 10000 references in one ad, or 100 expressions"},
	} {
		ad := jobAd(t)
		ad.SetString("X", c.text)
		if _, _, err := Expand(ad, slot, valueIn(ad, slot)); err == nil || err.Error() != c.want {
			t.Errorf("Expand(%.20q...) = %v, want %s", c.text, err, c.want)
		}
	}
	ad := jobAd(t)
	ad.SetString("X", strings.Repeat("$$(Memory) $$(memory) ", 5000))
	ad.SetString("Y", "$$([1])")
	if _, _, err := Expand(ad, slot, valueIn(ad, slot)); err == nil || !strings.HasPrefix(err.Error(), "Y: ") {
		t.Errorf("Expand of two attributes with 10000 references and one more = %v, want an error of the second", err)
	}
	ad.Delete("Y")
	if _, found, err := Expand(ad, slot, valueIn(ad, slot)); err != nil || len(found) != 2 {
		t.Errorf("Expand of 10000 references to one attribute found %d, %v, want 2", len(found), err)
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"$$(Memory)", "$$([Memory])", "$$(a:b)", "$$([\"\\\"])", "$$(", "$$([(((", "$$(DOLLARDOLLAR)", "$$(a:$$(b))"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ad := classad.New()
		ad.SetString("X", text)
		given, _ := ad.EvalString(&classad.Context{}, "X")
		got, found, err := Expand(ad, slotAd(t), valueIn(ad, slotAd(t)))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Errorf("Expand(%q) fails and does not say why", text)
			}
			return
		}
		if s, ok := got.EvalString(&classad.Context{}, "X"); !ok || found == nil && s != given {
			t.Errorf("Expand(%q) = %q, and found nothing", text, s)
		}
	})
}

func TestUniverses(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  string // empty: it runs
	}{
		{nil, ""}, {[]string{"JobUniverse", "5"}, ""}, {[]string{"JobUniverse", "1"}, ""},
		{[]string{"JobUniverse", "7"}, ""}, {[]string{"JobUniverse", "12"}, ""},
		{[]string{"JobUniverse", "11", "MinHosts", "1"}, ""}, {[]string{"JobUniverse", "11"}, ""},
		{[]string{"WantDocker", "false", "WantContainer", "false"}, ""},
		{[]string{"JobUniverse", "11", "MinHosts", "4"}, "MinHosts: the job needs 4 machines at once, and a job has one slot"},
		{[]string{"JobUniverse", "9"}, "JobUniverse: this machine runs no jobs of the grid universe"},
		{[]string{"JobUniverse", "10"}, "JobUniverse: this machine runs no jobs of the java universe"},
		{[]string{"JobUniverse", "13"}, "JobUniverse: this machine runs no jobs of the vm universe"},
		{[]string{"JobUniverse", "77"}, "JobUniverse: this machine runs no jobs of universe 77"},
		{[]string{"JobUniverse", "5", "WantDocker", "true"}, "DockerImage: the job names no image"},
		{[]string{"JobUniverse", "5", "WantContainer", "true"}, "ContainerImage: the job names no image"},
	} {
		_, err := FromAd(jobAd(t, append(c.pairs, "Cmd", `"/bin/true"`, "Iwd", `"/"`)...), Place{Slot: "slot1@node"}, alice)
		if got := fmt.Sprint(err); got != cmp.Or(c.want, "<nil>") {
			t.Errorf("FromAd(%q) = %s, want %q", c.pairs, got, c.want)
		}
	}
}
