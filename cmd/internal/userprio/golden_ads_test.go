package userprio

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
)

// carriage is what HTCondor's ads have besides the record.
var carriage = []string{
	"AuthenticatedIdentity", "AuthenticationMethod", "DaemonLastReconfigTime", "DaemonStartTime", "LastHeardFrom", "MyType",
	"NegotiatorName", "UpdateSequenceNumber", "UnchargedTime", "WeightedUnchargedTime",
}

// long compares a step's ads by attributes, and returns what differs.
func (g *golden) long(s *goldenStep) string {
	v := g.view(s)
	out := s.run(s.Args, func(c *cmdline.Call) error {
		o, err := optionsOf(c)
		if err != nil {
			return err
		}
		show, err := o.listed(c.Now)
		if err != nil {
			return err
		}
		show.Since = time.Time{}
		return display(c, o, show, v)
	})
	g.said["priority"]++
	if !s.asked() {
		g.said["served"]++
	}
	want, got := goldenAds(g.T, s.Stdout), goldenAds(g.T, out)
	numbered := s.call.Has("legacy")
	if numbered {
		g.said["numbered"]++
		if len(got) != 1 {
			return fmt.Sprintf("%d ads, want 1", len(got))
		}
	}
	var wrong []string
	for _, w := range want {
		name := textOf(w, "Name")
		var ours *classad.Ad
		number := ""
		if numbered {
			for i := range want {
				if n := strconv.Itoa(i + 1); textOf(got[0], "Name"+n) == name {
					ours, number = got[0], n
				}
			}
		} else if i := slices.IndexFunc(got, func(ad *classad.Ad) bool { return textOf(ad, "Name") == name }); i >= 0 {
			ours = got[i]
		}
		if ours == nil {
			wrong = append(wrong, name+": missing")
			continue
		}
		wrong = append(wrong, g.differs(w, ours, number)...)
	}
	if !numbered && len(got) != len(want) {
		wrong = append(wrong, fmt.Sprintf("%d ads, want %d", len(got), len(want)))
	}
	return strings.Join(wrong, "\n")
}

// differs compares the attributes of two ads, in ours with a number behind their
// names or none.
func (g *golden) differs(want, ours *classad.Ad, number string) (wrong []string) {
	for _, name := range want.Names() {
		mine := name + number
		switch {
		case slices.Contains(carriage, name):
			g.said["carriage"] = max(g.said["carriage"], 1)
			continue
		case name == "AccountingGroup" && want.Has("IsAccountingGroup") && want.Has(carriage[0]) && textOf(want, name) != textOf(ours, mine):
			g.said["above"] = max(g.said["above"], 1)
			continue
		case name == "LastUpdate":
			mine = name
		case name == "Priority" && number == "":
			mine = "EffectivePriority"
		}
		w, _ := want.Lookup(name)
		o, ok := ours.Lookup(mine)
		if !ok || o.String() != w.String() {
			wrong = append(wrong, fmt.Sprintf("%s: %s = %v, want %v", textOf(want, "Name"), mine, o, w))
		}
	}
	if number != "" {
		return wrong
	}
	for _, name := range ours.Names() {
		o, _ := ours.Lookup(name)
		if !want.Has(name) && name != "EffectivePriority" && !slices.Contains([]string{"0", "0.0", "-1"}, o.String()) {
			wrong = append(wrong, fmt.Sprintf("%s: %s = %v, want none", textOf(want, "Name"), name, o))
		}
	}
	return wrong
}

func goldenAds(t *testing.T, text string) (ads []*classad.Ad) {
	t.Helper()
	r := classad.NewReader(strings.NewReader(text), "golden")
	for {
		ad, err := r.Next()
		if err == io.EOF {
			return ads
		}
		if err != nil {
			t.Fatal(err)
		}
		ads = append(ads, ad)
	}
}

func textOf(ad *classad.Ad, name string) string {
	s, _ := ad.EvalString(&classad.Context{}, name)
	return s
}

// resources takes a recorded list of slots apart and prints it again.
func (g *golden) resources(s *goldenStep) string {
	lines := strings.Split(s.Stdout, "\n")
	var list []resource
	for _, l := range lines {
		words := strings.Fields(l)
		if len(words) != 4 || !strings.Contains(words[3], "+") {
			continue
		}
		var days, hours, minutes, seconds int
		if _, err := fmt.Sscanf(words[3], "%d+%d:%d:%d", &days, &hours, &minutes, &seconds); err != nil {
			g.Fatalf("golden %s: %q: %v", g.file, l, err)
		}
		ago := time.Duration(days*86400+hours*3600+minutes*60+seconds) * time.Second
		list = append(list, resource{words[0], time.Unix(s.Time, 0).Add(-ago)})
	}
	return s.run(s.Args, func(c *cmdline.Call) error { return listResources(c.Stdout, list, c.Now) })
}
