package userprio

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/history"
	"fairspool/spool"
)

// plotted makes a spool with the samples of an hour of alice and bob.
func plotted(t *testing.T) {
	t.Helper()
	cmdtest.Spool(t, nil)
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	defer s.Close()
	for i := range 60 {
		now := time.Unix(cmdtest.Now, 0).Add(time.Duration(i-61) * time.Minute)
		err := s.AddSamples(history.Moment{
			Now: now,
			Records: []accountant.Record{
				{Name: "alice@pool", Priority: 1 + float64(i), At: now, HalfLife: 24 * time.Hour},
				{Name: "bob@pool", Priority: 0.5, At: now, HalfLife: 24 * time.Hour},
			},
			Demand: map[string]float64{"alice@pool": 5, "bob@pool": 1},
			Params: accountant.Params{HalfLife: 24 * time.Hour, DefaultFactor: 1},
		})
		testenv.OK(t, err)
	}
}

func TestPlotPictures(t *testing.T) {
	plotted(t)
	dir := t.TempDir()
	for _, name := range []string{"all.svg", "ALL.PNG", "all.svg"} {
		file := filepath.Join(dir, name)
		status, out, bad := cmdtest.Run(command(), "-plot", file)
		if status != 0 || out != "wrote "+file+"\n" || bad != "" {
			t.Fatalf("-plot %s = %d, %q, %q", name, status, out, bad)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "all.svg"))
	testenv.OK(t, err)
	for _, want := range []string{">alice@pool</text>", ">bob@pool</text>", ">slots wanted</text>"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("-plot: no %q in the SVG", want)
		}
	}
	if err := xml.NewDecoder(bytes.NewReader(svg)).Decode(new(struct{})); err != nil {
		t.Errorf("-plot: no XML: %v", err)
	}
	f, err := os.Open(filepath.Join(dir, "ALL.PNG"))
	testenv.OK(t, err)
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Errorf("-plot: no PNG: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("-plot left %v, want the two pictures", left)
	}
}

func TestPlotTerminal(t *testing.T) {
	plotted(t)
	t.Setenv("COLUMNS", "60")
	t.Setenv("LINES", "24")
	t.Setenv("NO_COLOR", "1")
	status, out, bad := cmdtest.Run(command(), "-plot", "-", "alice")
	if status != 0 || bad != "" || !strings.Contains(out, "* alice@pool\n") || strings.Contains(out, "bob") || strings.Contains(out, "\x1b") {
		t.Errorf("-plot - alice = %d, %q, %q", status, out, bad)
	}
	for _, row := range strings.Split(out, "\n") {
		if len(row) > 60 {
			t.Errorf("-plot -: %d characters, want at most 60: %q", len(row), row)
		}
	}
}

func TestPlotRefuses(t *testing.T) {
	plotted(t)
	dir := t.TempDir()
	testenv.OK(t, os.Mkdir(filepath.Join(dir, "folder.svg"), 0o700))
	for _, x := range []struct {
		args   []string
		status int
	}{
		{[]string{"-plot", "x.pdf"}, 2},
		{[]string{"-plot", "svg"}, 2},
		{[]string{"-plot", dir + "/folder.svg"}, 1},
		{[]string{"-plot", dir + "/none/x.svg"}, 1},
		{[]string{"-plot", dir + "/x.svg", "nobody"}, 1},
		{[]string{"-plot", dir + "/x.svg", "-since", "soon"}, 2},
	} {
		cmdtest.Refuses(t, command(), x.status, x.args...)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("-plot left %v, want the folder only", left)
	}
}

func TestPlotWithoutSamples(t *testing.T) {
	cmdtest.Spool(t, nil)
	file := filepath.Join(t.TempDir(), "x.svg")
	status, _, bad := cmdtest.Run(command(), "-plot", file)
	if status != 1 || !strings.Contains(bad, "negotiate") || strings.Count(bad, "\n") != 1 {
		t.Errorf("-plot without samples = %d, %q, want 1 and one line that says what to do", status, bad)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("-plot without samples wrote a file")
	}
}

// TestPlotDecay holds that one whose EUP changed is drawn although it used nothing,
// and one of whom nothing changed is not.
func TestPlotDecay(t *testing.T) {
	cmdtest.Spool(t, nil)
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(cmdtest.Now, 0)})
	testenv.OK(t, err)
	defer s.Close()
	p := accountant.Params{HalfLife: time.Hour, DefaultFactor: 1}
	start := time.Unix(cmdtest.Now, 0).Add(-10 * time.Hour)
	for i := range 60 {
		now := start.Add(time.Duration(i) * 10 * time.Minute)
		idler := accountant.Record{Name: "idler@pool", Priority: 40, At: start, HalfLife: time.Hour}.AsOf(now, p)
		user := accountant.Record{Name: "zoe@pool"}.Start(start, accountant.One, p).AsOf(now, p)
		same := accountant.Record{Name: "nobody@pool", Priority: 0.5, At: now, HalfLife: time.Hour}
		testenv.OK(t, s.AddSamples(history.Moment{Now: now, Records: []accountant.Record{idler, same, user}, Params: p}))
	}
	t.Setenv("NO_COLOR", "1")
	status, out, bad := cmdtest.Run(command(), "-plot", "-")
	if status != 0 || bad != "" || !strings.Contains(out, "* zoe@pool") || !strings.Contains(out, "o idler@pool") || strings.Contains(out, "nobody") {
		t.Errorf("-plot - = %d, %q, %q, want zoe and then idler", status, bad, out)
	}
}
