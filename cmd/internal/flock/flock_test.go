package flock

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/engine"
	"fairspool/lib/launch"
	"fairspool/lib/pool"
	"fairspool/spool"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }

// command is serve -flock alone.
func command() cmdline.Command {
	return cmdline.Command{Name: "serve", Served: true, Flags: []cmdline.Flag{{Name: "flock"}}, Run: Run}
}

// settings let users of a.org in by a key, and those of c.org by the account carol.
const settings = "NOBODY_SLOT_USER = \"nobody\"\nFLOCK_FROM = [\"a.org\", \"c.org=carol\", \"pool=bob\"]\n"

// wish is one of a.org's.
func wish() engine.Wish {
	return engine.Wish{Name: "fs-0a-1", Pilot: 1, Token: "0123abcd", Home: "ssh -T pool@a serve -pilot", User: "alice@a.org", Cpus: 1, Memory: 200, Idle: 10, Time: 60}
}

func TestReadWish(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*engine.Wish)
		says   string
	}{
		{"of its own", func(*engine.Wish) {}, ""},
		{"of this pool", func(w *engine.Wish) { w.User = "alice@b.org" }, "not a user of a.org"},
		{"without a domain", func(w *engine.Wish) { w.User = "alice" }, "not a user of a.org"},
		{"with two", func(w *engine.Wish) { w.User = "alice@b.org@a.org" }, "not a user of a.org"},
		{"name with a quote", func(w *engine.Wish) { w.Name = `fs-0a-1"` }, "no name"},
		{"name with a line", func(w *engine.Wish) { w.Name = "fs-0a-1\nqueue 1000" }, "no name"},
		{"token for a shell", func(w *engine.Wish) { w.Token = "$(id)" }, "no name"},
		{"no home", func(w *engine.Wish) { w.Home = " " }, "no command"},
		{"home with a line", func(w *engine.Wish) { w.Home = "ssh\nid" }, "no command"},
		{"no cores", func(w *engine.Wish) { w.Cpus = 0 }, "amount"},
		{"a billion cores", func(w *engine.Wish) { w.Cpus = 1e9 }, "amount"},
		{"time that goes back", func(w *engine.Wish) { w.Time = -1 }, "amount"},
	} {
		w := wish()
		c.change(&w)
		text, err := json.Marshal(w)
		testenv.OK(t, err)
		_, err = readWish(strings.NewReader(string(text)), "a.org")
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	for _, text := range []string{"", "{", "null", "[1]", `{"User":"alice@a.org"}`, strings.Repeat("x", longestWish+2)} {
		if _, err := readWish(strings.NewReader(text), "a.org"); err == nil {
			t.Errorf("%.20q is a wish", text)
		}
	}
}

// FuzzWish holds that whatever a pool says asks for nothing that another one's users have, and is no more than the lines of one job.
func FuzzWish(f *testing.F) {
	text, err := json.Marshal(wish())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	r := &caller{Call: &cmdline.Call{}, domain: "a.org"}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := readWish(strings.NewReader(text), "a.org")
		if err != nil {
			return
		}
		if !strings.HasSuffix(w.User, "@a.org") || strings.Count(w.User, "@") != 1 {
			t.Errorf("%q is let in", w.User)
		}
		if text := r.description(w); strings.Count(text, "\nqueue\n") != 1 || strings.Count(text, "\n") != lines {
			t.Errorf("the pilot's description is %q", text)
		}
	})
}

// lines are those of a pilot's description.
const lines = 12

// TestDomains holds for whom a caller speaks: through the door the account, which has one domain or none, else the command line.
func TestDomains(t *testing.T) {
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for i, owner := range []string{"alice@a.org", "carol@c.org", "bob"} {
			from := ""
			if _, domain, foreign := strings.Cut(owner, "@"); foreign {
				from = fmt.Sprintf(`FlockedFrom = %q; FlockedPilot = "fs-0a-%d";`, domain, i+1)
			}
			ad, err := classad.ParseAd(`[Owner = "` + owner + `"; User = "` + owner + `"; JobStatus = 1; QDate = 1; RequestCpus = 1; Requirements = true;` + from + ` Cmd = "/bin/sh"; Iwd = "/"]`)
			testenv.OK(t, err)
			id := tx.AddCluster(ad, []spool.NewRun{{Count: 1}})
			if from != "" {
				spool.Inputs.Put(tx, pool.Input{Cluster: id, Text: "secret"})
			}
		}
	})
	const alices, carols = "1|fs-0a-1|idle|\n", "2|fs-0a-2|idle|\n"
	for _, c := range []struct {
		account, line string
		out, bad      string
	}{
		{"carol", "look", carols, ""},
		{"carol", "a.org look", "", "want ask, look, or cancel"},
		{"dora", "look", "", "stands for no other pool"},
		{"bob", "look", "", "own domain"},
		{"carol", "cancel 1 3 99", "", ""}, // what is not theirs is not there
		{"carol", "cancel x", "", "want numbers"},
		{"carol", "", "", "want ask, look, or cancel"},
		{"", "a.org look", alices, ""},
		{"", "c.org look", carols, ""},
		{"", "d.org look", "", "does not let this domain in"},
		{"", "", "", "want the domain"},
		{"carol", "cancel 2", "", ""},
		{"carol", "look", "", ""},
		{"", "a.org look", alices, ""},
	} {
		var status int
		var out, bad string
		if c.account != "" {
			status, out, bad = cmdtest.RunFor(t, c.account, settings, command(), append([]string{"-flock"}, strings.Fields(c.line)...)...)
		} else {
			path := t.TempDir() + "/fairspool.toml"
			testenv.OK(t, os.WriteFile(path, []byte(settings), 0o600))
			status, out, bad = cmdtest.Run(command(), append([]string{"-config", path, "-flock"}, strings.Fields(c.line)...)...)
		}
		if out != c.out || (status == 0) != (c.bad == "") || !strings.Contains(bad, c.bad) {
			t.Errorf("serve -flock %s of %q = %d, %q, %q, want %q and %q", c.line, c.account, status, out, bad, c.out, c.bad)
		}
	}
	sp, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool"})
	testenv.OK(t, err)
	defer sp.Close()
	testenv.OK(t, sp.View(func(v *spool.View) error {
		if left := spool.Inputs.All(v); len(left) != 1 || left[0].Cluster != 1 {
			t.Errorf("inputs are left: %v, want that of cluster 1 alone", left)
		}
		return nil
	}))
}

// TestRefusal holds who may have no jobs here.
func TestRefusal(t *testing.T) {
	here := launch.CurrentAccount().Name
	for _, c := range []struct{ user, nobody, says string }{
		{"alice@a.org", here, ""},
		{"root@a.org", here, "FLOCK_REFUSE has root@*"},
		{"alice@c.org", here, "FLOCK_REFUSE has *@c.org"},
		{"alice@a.org", "", "NOBODY_SLOT_USER names no account"},
	} {
		err := refusal(&config.Config{NobodySlotUser: c.nobody, FlockRefuse: []string{"root@*", "*@c.org"}}, c.user, t.TempDir())
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("refusal of %s with NOBODY_SLOT_USER = %q: %v, want %q", c.user, c.nobody, err, c.says)
		}
	}
}
