package cmdtest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/spool"
)

// Now is the policy time in Unix seconds: 2026-11-20 23:34:06 UTC.
const Now = 1795217646

// Spool makes a spool of the domain "pool" for the rest of the test, with what
// fill puts into it; nil leaves it to the command to make it. Commands find it,
// the defaults of the configuration, the time Now, and UTC.
func Spool(t *testing.T, fill func(*spool.Tx)) {
	t.Helper()
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	t.Setenv("TZ", "UTC")
	t.Setenv("FAIRSPOOL_DIR", t.TempDir())
	t.Setenv("FAIRSPOOL_CONFIG", "/dev/null")
	t.Setenv("FAIRSPOOL_NOW", fmt.Sprint(Now))
	t.Setenv("FAIRSPOOL_QSTAT", "")
	if fill != nil {
		Update(t, fill)
	}
}

// Update changes the spool in one transaction.
func Update(t *testing.T, change func(*spool.Tx)) {
	t.Helper()
	s := open(t)
	defer s.Close()
	err := s.Update(func(tx *spool.Tx) error {
		tx.Op("test")
		change(tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// View looks at the spool.
func View(t *testing.T, look func(*spool.View)) {
	t.Helper()
	s := open(t)
	defer s.Close()
	if err := s.View(func(v *spool.View) error { look(v); return nil }); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *spool.Spool {
	t.Helper()
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: time.Unix(Now, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run runs a command with empty standard input, and returns its exit status
// and what it wrote to standard output and standard error.
func Run(c cmdline.Command, args ...string) (status int, out, bad string) {
	var o, b bytes.Buffer
	status = cmdline.Execute(c, args, strings.NewReader(""), &o, &b)
	return status, o.String(), b.String()
}

// Ad reads an ad in new form.
func Ad(t *testing.T, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd(text)
	if err != nil {
		t.Fatal(err)
	}
	return ad
}
