package cmdline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAgain holds what a call is when it is made once more: later, also for those that it
// starts, and of the same configuration until that is read again.
func TestAgain(t *testing.T) {
	dir := alone(t)
	path := filepath.Join(dir, "c.toml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("UID_DOMAIN = \"one\"\n")
	for _, now := range []string{"", "2026-11-20T10:00:00Z"} {
		args := []string{"-config", path, "-spool", filepath.Join(dir, "spool")}
		if now != "" {
			args = append(args, "-now", now)
		}
		c := toy(func(c *Call) error {
			before := c.Now
			for !c.Later().Now.After(before.Add(2 * time.Millisecond)) {
			}
			again := c.Again()
			if d := again.Now.Sub(before); d < 2*time.Millisecond || d > time.Minute || c.Now != before {
				t.Errorf("-now %q: Again is %v later, and Now was %v, is %v", now, d, before, c.Now)
			}
			common, err := again.Common()
			if err != nil {
				t.Fatal(err)
			}
			handedOn := strings.Join(common, " ")
			if want := "-now " + again.Now.Format(time.RFC3339Nano); strings.Contains(handedOn, want) != (now != "") {
				t.Errorf("-now %q: Again hands on %q", now, handedOn)
			}
			if d := again.Later().Now.Sub(again.Now); d < 0 || d > time.Minute {
				t.Errorf("-now %q: Later of Again is %v later", now, d)
			}
			return nil
		})
		if status := Execute(c, args, nil, os.Stdout, os.Stderr); status != 0 {
			t.Fatalf("status %d", status)
		}
	}
	c := toy(func(c *Call) error {
		write("UID_DOMAIN = \"two\"\n")
		again, err := c.Reload()
		if err != nil || again.Config.UIDDomain != "two" || c.Config.UIDDomain != "one" {
			t.Errorf("Reload = %v, %v, before that %v, want two and one", domain(again), err, c.Config.UIDDomain)
		}
		write("UID_DOMAIN =\n")
		if again, err := c.Reload(); err == nil {
			t.Errorf("Reload of a broken configuration = %v, want an error", domain(again))
		}
		return nil
	})
	if status := Execute(c, []string{"-config", path}, nil, os.Stdout, os.Stderr); status != 0 {
		t.Fatalf("status %d", status)
	}
}

func domain(c *Call) string {
	if c == nil {
		return ""
	}
	return c.Config.UIDDomain
}
