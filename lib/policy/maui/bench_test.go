package maui

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
	mauiLines   = written("USERWEIGHT 1\nFSUSERWEIGHT 1\nFSPOLICY DEDICATEDPS\n", "USERCFG[user%05d] PRIORITY=%d FSTARGET=10.0+ MAXJOB=5,10\n")
	mauiStrings = written("[maui]\nUSERWEIGHT = 1\n", "\"USERCFG[user%05d]\" = \"PRIORITY=%d MAXJOB=5,10\"\n")
	mauiTables  = written("[maui]\nUSERWEIGHT = 1\n", "[maui.USERCFG.user%05d]\nPRIORITY = %d\nFSTARGET = \"10.0+\"\nMAXJOB = [5, 10]\n")
)

func BenchmarkMauiFile(b *testing.B) {
	for b.Loop() {
		m, _ := Parse("maui.cfg", mauiLines, false)
		inertOf(&m)
	}
}

func BenchmarkMauiTables(b *testing.B) {
	for b.Loop() {
		if _, err := schema.Parse("f", mauiTables); err != nil {
			b.Fatal(err)
		}
	}
}

// Where each line looked at the whole file, this took a quarter of a minute.
func TestManyCredentials(t *testing.T) {
	for _, text := range [][]byte{mauiStrings, mauiTables} {
		c, err := schema.Parse("f", text)
		if err != nil || len(Settings(&c).Credentials[0]) != benchCredentials {
			t.Errorf("%d credentials: %d, %v", benchCredentials, len(Settings(&c).Credentials[0]), err)
		}
		if got, want := c.Where("maui.USERCFG[user04999]"), fmt.Sprint("f:", strings.Count(string(text), "\n")); got != want {
			t.Errorf("Where = %s, want %s", got, want)
		}
	}
}
