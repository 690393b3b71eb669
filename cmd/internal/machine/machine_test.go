package machine

import (
	"strings"
	"testing"

	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		system platform.System
		want   string
	}{
		{platform.System{}, ""},
		{platform.System{Name: "Arch"}, "OpSysAndVer=\"Arch\" OpSysName=\"Arch\" OpSysShortName=\"Arch\""},
		{platform.System{Name: "Debian", Long: "Debian GNU/Linux 12 (bookworm)", Major: 12},
			`OpSysAndVer="Debian12" OpSysLongName="Debian GNU/Linux 12 (bookworm)" OpSysMajorVer=12 OpSysName="Debian" OpSysShortName="Debian"`},
	} {
		ad := classad.New()
		describe(ad, c.system)
		var all []string
		for _, name := range ad.Names() {
			e, _ := ad.Lookup(name)
			all = append(all, name+"="+e.String())
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%+v is described by %s, want %s", c.system, got, c.want)
		}
	}
}

func TestMemTotal(t *testing.T) {
	if got, ok := memTotal("MemFree: 5 kB\nMemTotal:       24681972 kB\n"); !ok || got != 24681972 {
		t.Errorf("memTotal = %d, %v, want 24681972", got, ok)
	}
	for _, bad := range []string{"", "MemTotal:\n", "MemTotal: x kB\n"} {
		if got, ok := memTotal(bad); ok {
			t.Errorf("memTotal(%q) = %d, want none", bad, got)
		}
	}
}
