package man

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/jobprio"
	"fairspool/lib/policy/registry"
	policy "fairspool/lib/policy/sge"
	"fairspool/lib/pool"
	"fairspool/lib/sge"
)

// parameter is a name such as those of sched_conf(5).
var parameter = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)

// TestSGEParameters holds that sge(7) and tickets(7) have all parameters of sched_conf(5) that decide about
// priorities, and that each that they have is one, or a command of submit descriptions, or stands
// in a table of a parallel environment or a user.
func TestSGEParameters(t *testing.T) {
	lines := slices.Concat(read(t, "sge.7").lines, read(t, "tickets.7").lines)
	text := strings.Join(lines, "\n")
	known := []string{"request_lic", "urgency_slots", "default_project", "share_tree"}
	for _, key := range policy.Keys {
		known = append(known, key.Name)
		if !strings.Contains(text, key.Name) && (strings.HasPrefix(key.Name, "weight_") || strings.HasPrefix(key.Name, "max_") || strings.HasPrefix(key.Name, "share_")) &&
			key.Name != "max_reservation" && key.Name != "weight_tickets_override" {
			t.Errorf("sge.7, tickets.7: lack %s", key.Name)
		}
	}
	submit := strings.Join(read(t, "submit-commands.5").lines, "\n")
	for _, l := range lines {
		if strings.HasPrefix(l, ".Xr ") || strings.Contains(l, "sge_priority(5)") || strings.Contains(l, "sched_conf(5)") {
			continue
		}
		for _, name := range parameter.FindAllString(l, -1) {
			if !slices.Contains(known, name) && !regexp.MustCompile(`(?m)^\.It Ic (?:.* )?`+name+`\b`).MatchString(submit) && name != "override_tickets" {
				t.Errorf("sge.7, tickets.7: %s is no parameter and no command of submit descriptions", name)
			}
		}
	}
}

// TestSGEExamples reads the configurations among the examples of sge(7): there is nothing to say
// of any of them, and the jobs go in the order that the page has.
func TestSGEExamples(t *testing.T) {
	lines := read(t, "sge.7").part("EXAMPLES").lines
	var examples []*config.Config
	for i, l := range lines {
		if !strings.HasPrefix(l, ".Bd ") {
			continue
		}
		text := escapes.Replace(strings.Join(lines[i+1:i+slices.Index(lines[i:], ".Ed")], "\n"))
		c, err := registry.Parse("fairspool.toml", []byte(text))
		if err != nil || len(c.Warnings) > 0 {
			t.Fatalf("sge.7: the example\n%s\n= %v, with the warnings %q, want neither", text, err, c.Warnings)
		}
		examples = append(examples, &c)
	}
	if len(examples) != 4 {
		t.Fatalf("sge.7: %d examples are configurations, want 4", len(examples))
	}

	hour := job(1, "alice")
	hour.Deadline = now + 3600
	if n := rank(examples[0], hour).Pending(0, 0); n.DLContr != 1000 || n.RRContr != 1000 {
		t.Errorf("sge.7: an hour before the deadline = %+v, want as much as a slot", n)
	}

	wide := job(1, "alice")
	asks := classad.New()
	asks.SetInt("RequestLic", 2)
	asks.SetInt(sge.AttrParallelSlots, 4)
	read := sge.NewQueue(policy.Settings(examples[1]), sge.World{}).Job(&classad.Context{}, jobprio.Run{Ad: asks})
	wide.Slots, wide.Requests = read.Slots, read.Requests
	if n := rank(examples[1], wide).Pending(0, 0); n.RRContr != 8000 {
		t.Errorf("sge.7: the request for licences = %v, want 8000", n.RRContr)
	}

	bobs := 0
	shares := rank(examples[2], job(1, "alice"), job(2, "alice"), job(3, "alice"), job(4, "bob"), job(5, "bob"), job(6, "bob"), job(7, "bob"))
	for _, p := range shares.Places()[:4] {
		if p.Job > 2 {
			bobs++
		}
	}
	if bobs != 3 {
		t.Errorf("sge.7: %d of the first four are bob's, want 3", bobs)
	}

	tree := rank(examples[3], job(1, "alice"), job(2, "carol"), job(3, "bob")).Tree()
	targets := map[string]float64{}
	for _, n := range tree {
		targets[n.Path] = n.LongTarget
	}
	if eng, alice := targets["/eng"], targets["/eng/default/alice"]; eng*3 != 2 || alice != 0.5 {
		t.Errorf("sge.7: the targets are %v, want two thirds for /eng, and a half of it for alice", targets)
	}
}

const now = 1795217046

// job returns a job that waits.
func job(cluster int, user string) sge.Job {
	return sge.Job{ID: pool.JobID{Cluster: cluster}, Count: 1, User: user, Submitted: now, Slots: 1, LeastSlots: 1, CPUs: 1}
}

// rank ranks jobs that wait.
func rank(c *config.Config, jobs ...sge.Job) *sge.Ranking {
	return sge.Rank(policy.Settings(c), sge.World{Now: time.Unix(now, 0), FreeSlots: 9}, jobs, nil)
}
