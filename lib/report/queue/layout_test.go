package queue

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairspool/lib/policy"
	"fairspool/lib/pool"
)

// Of slots and machines names give way on a narrow terminal, numbers never do.
func TestSlotsFit(t *testing.T) {
	slots := []*instance{
		{name: "slot1_12@node-0123456789.cluster.example.org", kind: "D", reserved: 64.25, used: 1064.75, total: 1129, arch: "aarch64/FREEBSD", states: "dD"},
		{name: "slot2@a", kind: "S", total: 1, arch: unknown},
	}
	list := []Machine{{Name: "node-0123456789.cluster.example.org", Total: 1129}, {Name: "a", Total: 1}}
	const name, cutName = "slot1_12@node-0123456789.cluster.example.org", "slot1_12@node-0123456789.clust"
	for _, c := range []struct {
		line         int // of the terminal, 0: none
		wide         bool
		slot, system string
		machine      int
		over         int // how wide the line of large numbers may be
	}{
		{0, false, cutName, "aarch64/FREEB", 30, 92},
		{0, true, name, "aarch64/FREEBSD", 35, 120},
		{200, false, name, "aarch64/FREEBSD", 35, 120},
		{80, false, name[:27], "aarch64/FREEBSD", 30, 88},
		{40, false, name[:9], "aarch64/FREEBSD", 13, 80},
	} {
		cs := columns{options: options{Options: Options{Options: policy.Options{Wide: c.wide}, BySlot: true, Width: c.line}}}
		cs.shown = columnsWith(cs.options)
		var b strings.Builder
		out := cs.writer(&b, nil)
		out.instances(slots, min(slotRule, out.most()))
		if err := out.flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if fields := strings.Fields(lines[2]); len(fields) != 6 || fields[0] != c.slot || fields[2] != "64.25/1064.75/1129" || fields[4] != c.system {
			t.Errorf("a slot on a line of %d, wide %v = %q, want %q and %q", c.line, c.wide, lines[2], c.slot, c.system)
		}
		if len(lines[2]) > c.over || c.line >= 80 && (len(lines[0]) > c.line || len(lines[4]) > c.line) {
			t.Errorf("slots on a line of %d are too wide:\n%s", c.line, b.String())
		}
		b.Reset()
		if err := cs.writeMachines(&b, list); err != nil {
			t.Fatal(err)
		}
		lines = strings.Split(b.String(), "\n")
		if got := len(strings.Fields(lines[2])[0]); got != c.machine || c.line >= 80 && len(lines[0]) > c.line {
			t.Errorf("machines on a line of %d: name of %d, want %d\n%s", c.line, got, c.machine, b.String())
		}
	}
}

// On a terminal columns are as wide as they need to be, and on a narrow one the widest
// give way first.
func TestFitted(t *testing.T) {
	rows := []*row{
		{cells: cells{cluster: 1, name: "simulation-of-everything", user: "bartholomew", state: "r", slot: "slot1@a-machine-with-a-long-name.example.org"}, ranges: []pool.Procs{{First: 0, Last: 0}}},
		{cells: cells{cluster: 2, name: "é", user: "al", state: "qw"}, ranges: []pool.Procs{{First: 1, Last: 1}, {First: 3, Last: 3}, {First: 6, Last: 6}, {First: 8, Last: 8}, {First: 11, Last: 11}, {First: 13, Last: 13}}},
	}
	for _, c := range []struct{ line, name, user, queue, tasks int }{
		{200, 24, 11, 44, 73},
		{130, 24, 11, 37, 10},
		{100, 16, 11, 15, 10},
		{80, 7, 7, 8, 10},
		{20, 6, 6, 8, 10},
	} {
		list, tasks := fitted(columnsWith(options{}), rows, c.line, leastTasks(rows))
		got := map[string]int{}
		sum := 0
		for _, k := range list {
			got[k.head] = k.width
			sum += k.width + 1
		}
		if got["name"] != c.name || got["user"] != c.user || got["queue"] != c.queue || tasks != c.tasks {
			t.Errorf("fitted to %d = name %d, user %d, queue %d, procs %d, want %+v", c.line, got["name"], got["user"], got["queue"], tasks, c)
		}
		if c.line >= 80 && sum+tasks > c.line {
			t.Errorf("fitted to %d is %d wide", c.line, sum+tasks)
		}
	}
	c := columns{shown: columnsWith(options{}), options: options{Options: Options{Width: 80}}}
	var b strings.Builder
	if err := c.list(&b, rows); err != nil || !strings.HasSuffix(b.String(), " 1,3,6,8...\n") {
		t.Errorf("list on a narrow terminal = %v\n%s", err, b.String())
	}
}

// Whatever a job says of itself, the XML is read, and the element holds it.
func TestXMLHoldsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("<>&'\"]]>\x00\t\n\ufffe")))).Draw(t, "text")
		var got struct {
			Name string `xml:"name,attr"`
			Text string `xml:",chardata"`
		}
		if err := xml.Unmarshal(namedElement(nil, "x", text, text), &got); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' && r != '\n' || r == '\ufffd' || r == '\ufffe' || r == '\uffff' {
				return '?'
			}
			return r
		}, text)
		if got.Text != want {
			t.Errorf("element of %q holds %q, want %q", text, got.Text, want)
		}
	})
}

// A column needs the places of its widest cell.
func TestNeeds(t *testing.T) {
	rows := []*row{{cells: cells{cluster: 1, name: "世界人世界人", user: "a", state: "qw"}, ranges: []pool.Procs{{First: 0, Last: 0}}}}
	list := columnsWith(options{})
	for i, n := range needs(list, rows) {
		if list[i].head == "name" && n != 12 {
			t.Errorf("needs of six characters of two places = %d, want 12", n)
		}
	}
}

func TestTasks(t *testing.T) {
	for _, c := range []struct {
		ranges []pool.Procs
		want   string
	}{{[]pool.Procs{{First: 3, Last: 3}}, "3"}, {[]pool.Procs{{First: 0, Last: 9}}, "0-9:1"}, {[]pool.Procs{{First: 0, Last: 4}, {First: 7, Last: 7}}, "0-4:1,7"},
		{[]pool.Procs{{First: 1, Last: 1}, {First: 3, Last: 3}, {First: 5, Last: 5}, {First: 7, Last: 7}, {First: 9, Last: 9}}, "1-9:2"}, {[]pool.Procs{{First: 1, Last: 1}, {First: 3, Last: 3}}, "1,3"},
		{[]pool.Procs{{First: 0, Last: 2}, {First: 4, Last: 4}, {First: 6, Last: 6}, {First: 8, Last: 8}, {First: 10, Last: 11}}, "0-2:1,4-8:2,10-11:1"},
		{[]pool.Procs{{First: 1, Last: 1}, {First: 3, Last: 3}, {First: 7, Last: 7}, {First: 11, Last: 11}, {First: 15, Last: 15}, {First: 16, Last: 17}}, "1,3-15:4,16-17:1"}, {nil, ""},
	} {
		if got := tasks(c.ranges); got != c.want {
			t.Errorf("tasks(%v) = %q, want %q", c.ranges, got, c.want)
		}
	}
}

func TestBriefly(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "0:00"}, {7 * time.Second, "0:07"}, {59*time.Minute + 59*time.Second, "59:59"}, {time.Hour, "1h00m"},
		{23*time.Hour + 59*time.Minute, "23h59m"}, {52 * time.Hour, "2d4h"}, {100*24*time.Hour - 1, "99d23h"}, {2400 * time.Hour, "100d"},
	} {
		if got := string(appendBriefly(nil, c.d)); got != c.want {
			t.Errorf("%v = %s, want %s", c.d, got, c.want)
		}
	}
}

func TestGather(t *testing.T) {
	line := func(cluster, first, last int, name string) *row {
		return &row{cells: cells{cluster: cluster, name: name}, ranges: []pool.Procs{{Cluster: cluster, First: first, Last: last}}}
	}
	var got []string
	for _, r := range gather([]*row{line(1, 5, 6, "a"), line(2, 0, 0, "a"), line(1, 3, 4, "a"), line(1, 7, 7, "b"), line(1, 0, 0, "a"), line(2, 1, 1, "a")}) {
		got = append(got, r.name+argument(r.cluster, r.ranges))
	}
	if want := []string{"a1.0 1.3-6", "a2.0-1", "b1.7"}; !slices.Equal(got, want) {
		t.Errorf("gather = %q, want %q", got, want)
	}
}
