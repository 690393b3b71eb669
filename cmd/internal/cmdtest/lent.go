package cmdtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdline"
)

// RunLent runs a command as the user of that name would by sudo, with the account
// that the spool belongs to, and returns what Run does. The machine's spool is the
// test's, its configuration the given one, and the time the clock's.
func RunLent(t *testing.T, user, config string, c cmdline.Command, args ...string) (status int, out, bad string) {
	t.Helper()
	s := cmdline.Surroundings{
		Real: 500, Effective: 500, SudoUID: "1000", SudoUser: user,
		UserName: func(int) (string, error) { return "fair", nil },
		Spool:    os.Getenv("FAIRSPOOL_DIR"), Config: filepath.Join(t.TempDir(), "fairspool.toml"),
	}
	if err := os.WriteFile(s.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"FAIRSPOOL_DIR", "FAIRSPOOL_CONFIG", "FAIRSPOOL_NOW"} {
		was := os.Getenv(v)
		os.Unsetenv(v)
		defer os.Setenv(v, was)
	}
	var o, b bytes.Buffer
	status = s.Execute(c, args, strings.NewReader(""), &o, &b)
	return status, o.String(), b.String()
}
