package glidein

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/config"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// tokenGiven is what -token prints with -json.
type tokenGiven struct {
	Pilot                  int
	Machine, Engine, Token string
}

// token asks for a pilot that calls this host from a machine, and prints its number and the token that it
// has to show.
func token(c *cmdline.Call, name string) error {
	list, err := named(c, []string{name})
	if err != nil {
		return err
	}
	m := list[0]
	if m.engine.Link != config.LinkHome {
		return fmt.Errorf("%s: engine %s has LINK = %q: this host calls the machine, which needs no token", m.name, m.engine.Name, m.engine.Link)
	}
	p, err := programs(c)
	if err != nil {
		return err
	}
	host, err := c.Hostname()
	if err != nil {
		return err
	}
	account, err := c.Caller()
	if err != nil {
		return err
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	text := hex.EncodeToString(random[:])
	sp, err := c.Spool()
	if err != nil {
		return err
	}
	var asked pool.Pilot
	err = sp.Update(func(tx *spool.Tx) error {
		asked = lifecycle.Ask(tx, m.engine.Name, m.name, pool.HashToken(text), c.Now)
		return nil
	})
	if err != nil {
		return err
	}
	if c.Has("json") {
		return c.JSON(tokenGiven{asked.ID, m.name, m.engine.Name, text})
	}
	fmt.Fprintf(c.Stderr, `On %s keep what is on standard output in a file of mode 0600, such as .fairspool/token, and run
    %s -pilot -home "ssh -T %s@%s serve -pilot" -token .fairspool/token
Here, a line of %s's authorized_keys lets the key of %s in, to nothing else:
    restrict,command="%s -pilot" ssh-ed25519 ...
`, m.name, m.engine.Starter, account.Name, host, account.Name, m.name, p.Program("serve"))
	_, err = fmt.Fprintln(c.Stdout, asked.ID, text)
	return err
}
