package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/onchange"
	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

func planOf(account, spool, programs, prefix string) *plan {
	return &plan{account: account, spool: spool, programs: onchange.Pool{Programs: programs, Prefix: prefix}, systemd: true}
}

// TestUnits holds that docs/systemd has the units that are written where nothing is chosen; -update
// writes them there.
func TestUnits(t *testing.T) {
	const docs = "../../../docs/systemd"
	var names []string
	for _, f := range planOf("fairspool", usualSpool, "/usr/local/bin", "").files() {
		if !strings.HasPrefix(f.path, unitFolder) {
			continue
		}
		name := filepath.Base(f.path)
		names = append(names, name)
		page := filepath.Join(docs, name)
		got, _ := os.ReadFile(page)
		switch {
		case string(got) == f.text:
		case cmdtest.Updating():
			testenv.OK(t, os.WriteFile(page, []byte(f.text), 0o644))
		default:
			t.Errorf("%s has\n%s\nwant\n%s", page, got, f.text)
		}
	}
	all, err := os.ReadDir(docs)
	if err != nil || len(all) != len(names) {
		t.Errorf("%s has %d files, %v, want %q", docs, len(all), err, names)
	}
}

// TestUnitsOf holds the lines that depend on what was chosen, and that nothing is left to be filled in.
func TestUnitsOf(t *testing.T) {
	p := planOf("pool", "/srv/pool", "/opt/fairspool/bin", "fs-")
	for name, want := range map[string]string{
		"fairspool.socket":            "ListenStream=/srv/pool/door\n",
		"fairspool@.service":          "ExecStart=-/opt/fairspool/bin/fs-serve\nUser=pool\n",
		"fairspool-starter.service":   "ExecStart=/opt/fairspool/bin/fs-starter -watch\n",
		"fairspool-negotiate.service": "ExecStart=/opt/fairspool/bin/fs-negotiate -q\nUser=pool\n",
		"sysusers.conf":               "u pool - \"" + comment + "\" /srv/pool -\n",
		"tmpfiles.conf":               "d /srv/pool 0711 pool pool -\n",
		"fairspool.toml":              "\nSPOOL = \"/srv/pool\"\n",
	} {
		if got := p.text(name); !strings.Contains(got, want) || strings.ContainsAny(got, "{}") {
			t.Errorf("%s is\n%s\nwant %q in it, and no braces", name, got, want)
		}
	}
}

// TestVerify has systemd read the units, where it is installed.
func TestVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	programs, dir := testenv.Commands(t), t.TempDir()
	paths := []string{"verify", "--man=no"}
	for _, f := range planOf("nobody", "/var/spool/fairspool", programs, "").files() {
		path := filepath.Join(dir, filepath.Base(f.path))
		testenv.OK(t, os.WriteFile(path, []byte(f.text), 0o644))
		if strings.HasPrefix(f.path, unitFolder) {
			paths = append(paths, path)
		}
	}
	c := exec.Command(analyze, paths...)
	c.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":", "SYSTEMD_LOG_LEVEL=warning")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify = %v\n%s", err, out)
	}
}
