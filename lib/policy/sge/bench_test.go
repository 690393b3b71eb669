package sge

import (
	"fmt"
	"strings"
	"testing"
)

// Every command reads the configuration. 5,000 credentials are a large site's.
const benchCredentials = 5000

// written returns a configuration with so many credentials, of which each has a line or a
// table by the format.
func written(head, format string) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := range benchCredentials {
		fmt.Fprintf(&b, format, i, i+1)
	}
	return []byte(b.String())
}

var (
	sgeUserTables = written("JOB_PRIORITY_POLICY = \"sge\"\n[sge]\nweight_tickets_functional = 1000\n", "[sge.users.user%05d]\nfshare = %d\noticket = 5\n")
	sgeUserLines  = written("JOB_PRIORITY_POLICY = \"sge\"\n[sge]\nweight_tickets_functional = 1000\n[sge.users]\n", "user%05d = { fshare = %d, oticket = 5 }\n")
	sgeTreeLines  = written("JOB_PRIORITY_POLICY = \"sge\"\n[sge]\nweight_tickets_share = 1000\n[sge.share_tree]\n\"/eng\" = 10\n", "\"/eng/user%05d\" = %d\n")
)

func BenchmarkSGE(b *testing.B) {
	for name, text := range map[string][]byte{"tables": sgeUserTables, "lines": sgeUserLines, "tree": sgeTreeLines} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if c, err := schema.Parse("f", text); err != nil || len(c.Warnings) > 0 {
					b.Fatal(err, c.Warnings)
				}
			}
		})
	}
}

func TestManyObjects(t *testing.T) {
	for _, text := range [][]byte{sgeUserTables, sgeUserLines} {
		c, err := schema.Parse("f", text)
		if err != nil || len(Settings(&c).Users) != benchCredentials {
			t.Errorf("%d users: %d, %v", benchCredentials, len(Settings(&c).Users), err)
		}
		if got, want := c.Where("sge.users.user04999.oticket"), fmt.Sprint("f:", strings.Count(string(text), "\n")); got != want {
			t.Errorf("Where = %s, want %s", got, want)
		}
	}
}

// A mistake that goes for everybody is told in a line each, up to a number.
func TestManyWarnings(t *testing.T) {
	text := written("JOB_PRIORITY_POLICY = \"sge\"\n[sge]\n", "[sge.users.user%05d]\ndefault_project = \"p%d\"\n")
	c, err := schema.Parse("f", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != mostInert+1 || c.Warnings[1] != "f:6: sge.users.user00001.default_project: there is no project p2" ||
		c.Warnings[mostInert] != "sge: 4900 more warnings" {
		t.Errorf("%d warnings: %q", len(c.Warnings), c.Warnings)
	}
}
