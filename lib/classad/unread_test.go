package classad

import (
	"slices"
	"testing"

	"fairspool/internal/testenv"
)

// A look-up of an attribute in a partly read ad is noted if the attribute was not read, however it is
// looked up, and no other look-up is.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		name string
		look func(part, other *Ad)
		want []string
		all  bool
	}{
		{"what was read", func(part, other *Ad) { part.EvalInt(nil, "Cpus") }, nil, false},
		{"what was read and is not there", func(part, other *Ad) { part.EvalInt(nil, "memory") }, nil, false},
		{"Requirements are always read", func(part, other *Ad) { Satisfies(nil, part, other) }, nil, false},
		{"so are names of scopes", func(part, other *Ad) { part.ShadowsScopes(); part.Has("TARGET") }, nil, false},
		{"Lookup", func(part, other *Ad) { part.Lookup("Disk") }, []string{"disk"}, false},
		{"Get", func(part, other *Ad) { part.Get(NewName("DISK")) }, []string{"disk"}, false},
		{"Get, again and again", func(part, other *Ad) {
			n := NewName("Disk")
			for range 100 {
				part.Get(n)
			}
		}, []string{"disk"}, false},
		{"Has", func(part, other *Ad) { part.Has("x y") }, []string{"x y"}, false},
		{"an expression of its own", func(part, other *Ad) { part.Eval(nil, "Asks", nil) }, []string{"gone"}, false},
		{"an expression of the other", func(part, other *Ad) { other.Eval(nil, "Asks", part) }, []string{"arch"}, false},
		{"a match", func(part, other *Ad) { Match(nil, other, part) }, []string{"opsys"}, false},
		{"a child of it", func(part, other *Ad) { New().Chain(part).Has("Here") }, []string{"here"}, false},
		{"a copy of it", func(part, other *Ad) { part.Clone().Has("There") }, []string{"there"}, false},
		{"all names", func(part, other *Ad) { part.Names() }, nil, true},
		{"its own names", func(part, other *Ad) { part.OwnNames() }, nil, true},
		{"all of it", func(part, other *Ad) { part.Flat() }, nil, true},
		{"its text", func(part, other *Ad) { _ = part.String() }, nil, true},
		{"what begins like what was read", func(part, other *Ad) { part.Has("REQUESTGPUs"); part.NamesFrom("request"); part.NamesFrom("RequestG") }, nil, false},
		{"how a name that was read is written", func(part, other *Ad) { Spelling(part, "cpus") }, nil, false},
		{"how another name is written", func(part, other *Ad) { Spelling(part, "Colour") }, []string{"colour"}, false},
		{"what begins otherwise", func(part, other *Ad) { part.Has("Reques"); part.NamesFrom("Re") }, []string{"reques"}, true},
		{"as JSON", func(part, other *Ad) { part.MarshalJSON() }, nil, true},
	} {
		part, err := ParseAd(`[ Cpus = 2; Asks = Gone + Cpus; Requirements = true ]`)
		testenv.OK(t, err)
		other, err := ParseAd(`[ Asks = TARGET.Cpus + TARGET.Arch; Requirements = TARGET.Memory =?= undefined && TARGET.OpSys == "LINUX" ]`)
		testenv.OK(t, err)
		u := NewUnread([]string{"Cpus", "Memory", "Asks"}, "Request")
		c.look(part.Chain(u.Ad()), other)
		if names, all := u.Missed(); !slices.Equal(names, c.want) || all != c.all {
			t.Errorf("%s: missed %q, all %v; want %q, %v", c.name, names, all, c.want, c.all)
		}
	}
}

// Of gives ads the same origin that have the same of the attributes, and no others.
func TestOrigin(t *testing.T) {
	base, err := ParseAd(`[ A = 1; B = 2 ]`)
	testenv.OK(t, err)
	own, other := New().Chain(base), New().Chain(base)
	own.SetInt("B", 3)
	other.SetInt("C", 4)
	o := NewOrigin(NewName("b"), NewName("D"))
	for _, c := range []struct {
		name     string
		ad, want *Ad
	}{{"itself", base, base}, {"has one itself", own, own}, {"has others only", other, base}, {"far below", New().Chain(New().Chain(other)), base}, {"none at all", New().Chain(New()), nil}} {
		got := o.Of(c.ad)
		if c.want == nil {
			c.want = c.ad.Parent()
		}
		if got != c.want {
			t.Errorf("%s: the origin is %v, want %v", c.name, got, c.want)
		}
	}
}
