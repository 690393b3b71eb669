package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// prompt is a line that a user of a session types.
var prompt = regexp.MustCompile(`^(?:(#)|([a-z]+)\$) (.*)\n$`)

// TestManyUsers runs the session in docs/many-users.md word for word, with real users on a machine of
// their own, and compares every line; -update writes what the commands print into it.
func TestManyUsers(t *testing.T) {
	t.Parallel()
	h := newHost(t, false)
	comparePage(t, "../docs/many-users.md", func(session string) string {
		var b strings.Builder
		for line := range strings.Lines(session) {
			m := prompt.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			user := m[2]
			if m[1] == "#" {
				user = "root"
			}
			a := h.run(user, m[3])
			if a.status != 0 {
				t.Errorf("%s: %s = %d", user, m[3], a.status)
			}
			if strings.HasSuffix(m[3], "&") {
				testenv.Until(t, "the door is open", func() bool {
					_, err := os.Stat(h.path("var/spool/fairspool/door"))
					return err == nil
				})
			}
			b.WriteString(line + a.out + a.bad)
		}
		return b.String()
	})
}
