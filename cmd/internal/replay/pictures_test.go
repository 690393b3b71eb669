package replay

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fairspool/cmd/internal/cmdtest"
)

// workloadOf writes a workload of users with procs jobs each, and returns its file.
func workloadOf(t *testing.T, users []string, procs int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("job,submit,run,cores,user\n")
	for p := range procs {
		for i, user := range users {
			fmt.Fprintf(&b, "%d,%d,%d,1,\"%s\"\n", p*len(users)+i+1, 1_000_000_000+p*600+i, 300+i*7%900, strings.ReplaceAll(user, `"`, `""`))
		}
	}
	file := filepath.Join(t.TempDir(), "jobs.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// replayed runs the command in memory.
func replayed(t *testing.T, args ...string) string {
	t.Helper()
	t.Setenv("FAIRSPOOL_DIR", t.TempDir()+"/none")
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, bad := cmdtest.Run(Command(), append([]string{"-config", config}, args...)...)
	if status != 0 || bad != "" {
		t.Fatalf("replay %q = %d, %s", args, status, bad)
	}
	return out
}

// TestPictures holds that the page and all pictures are well-formed with any name of a user, and say which direction is better.
func TestPictures(t *testing.T) {
	users := []string{"ann", "bob", `"><script>alert(1)</script>`, "</title></style>&amp;{{.}}", strings.Repeat("long", 50), "日本語"}
	file, dir := workloadOf(t, users, 4), t.TempDir()
	args := []string{"-slots", "2", "-what-if", "config JOB_PRIORITY_POLICY=sge", "-html", dir + "/page.html"}
	for _, name := range drawn() {
		args = append(args, "-plot", name, dir+"/"+name+".svg", "-plot", name, dir+"/"+name+".png")
	}
	replayed(t, append(args, file)...)
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	page := string(read("page.html"))
	cmdtest.WellFormed(t, page)
	cmdtest.Accessible(t, page)
	if n := strings.Count(page, "lower is better") + strings.Count(page, "higher is better"); n < 9 || strings.Contains(page, "<script") || !strings.Contains(page, "var(--heat1)") {
		t.Errorf("the page says %d times which direction is better, or lets names in", n)
	}
	for _, name := range drawn() {
		d := xml.NewDecoder(bytes.NewReader(read(name + ".svg")))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s.svg: %v", name, err)
			}
		}
		if picture, err := png.Decode(bytes.NewReader(read(name + ".png"))); err != nil || picture.Bounds().Dx() != 1000 {
			t.Errorf("%s.png: %v", name, err)
		}
	}
}

// TestSameBytes holds that the number of processors makes no difference.
func TestSameBytes(t *testing.T) {
	file := workloadOf(t, []string{"ann", "bob", "eve"}, 5)
	pages := map[string]bool{}
	for _, n := range []int{1, 2, 4} {
		before := runtime.GOMAXPROCS(n)
		pages[replayed(t, "-slots", "2", "-what-if", "config PRIORITY_HALFLIFE=600", "-what-if", "config JOB_PRIORITY_POLICY=sge", "-html", "-", file)] = true
		runtime.GOMAXPROCS(before)
	}
	if len(pages) != 1 {
		t.Errorf("%d pages, want the same one", len(pages))
	}
}

// TestPageBounded holds that the page of very many users has no more rows than that of many.
func TestPageBounded(t *testing.T) {
	for n, most := range map[int]int{216: 700_000, 1000: 800_000} {
		var users []string
		for i := range n {
			users = append(users, fmt.Sprintf("user%d", i))
		}
		page := replayed(t, "-slots", "400", "-interval", "600", "-html", "-", "-what-if", "config PRIORITY_HALFLIFE=600", workloadOf(t, users, 3))
		cmdtest.WellFormed(t, page)
		if len(page) > most {
			t.Errorf("the page of %d users has %d bytes", n, len(page))
		}
		if others := fmt.Sprintf(">%d other users<", n-mostHeats+1); n > mostHeats != strings.Contains(page, others) {
			t.Errorf("of %d users, the page says %v of %s", n, n <= mostHeats, others)
		}
		for _, user := range users[:216] {
			if !strings.Contains(page, ">"+user+"<") && n == 216 {
				t.Errorf("the page lacks %s", user)
			}
		}
	}
}
