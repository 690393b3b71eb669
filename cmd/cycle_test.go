package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairspool/internal/testenv"
)

// TestCycleBetween stops negotiate when it has computed its plan and waits to apply it.
// If it is killed there it leaves nothing; if it goes on it matches nothing that was
// changed meanwhile; and no second one runs beside it.
func TestCycleBetween(t *testing.T) {
	t.Parallel()
	jobs, slots, submitters := readers[0].call, readers[1].call, readers[2].call
	look := func(g *ground, m *model) *model {
		return g.sure(g.sure(g.sure(m, jobs), slots), submitters)
	}
	begin := func(t *testing.T) (*ground, *model) {
		g := newGround(t)
		return g, g.sure(g.furnish(), submit(3, "alice", false))
	}

	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		g, m := begin(t)
		p := g.between()
		p.kill(g)
		m = look(g, m)
		if _, err := os.Stat(filepath.Join(g.spool, "cycle.json")); err == nil {
			t.Errorf("a report was left of a cycle that changed nothing")
		}
		look(g, g.sure(m, cycle(t, 3)))
	})

	t.Run("another", func(t *testing.T) {
		t.Parallel()
		g, m := begin(t)
		p := g.between()
		for _, args := range []string{"-lock-wait 0", "-q"} {
			a := g.run("", strings.Fields("negotiate "+args)...)
			holder := fmt.Sprintf("%s, held by pid %d (negotiate) since ", filepath.Join(g.spool, "negotiate.lock"), p.Process.Pid)
			said := args != "-q" && strings.Contains(a.bad, holder) && strings.Count(a.bad, "\n") == 1 || args == "-q" && a.bad == ""
			if a.status != 75 || a.out != "" || !said {
				t.Errorf("a second negotiate %s = %+v, want 75 and %q", args, a, holder)
			}
		}
		m = g.sure(look(g, m), readers[3].call)
		p.resume()
		steps, err := cycle(t, 3).steps(p.answer())
		testenv.OK(t, err)
		if m, ok := m.after(steps[0]); ok {
			look(g, m)
		} else {
			t.Errorf("it cannot be that %s", steps[0].text)
		}
	})

	// The plan is 3.0 to 3.2 on the first three of four slots.
	for name, change := range map[string]struct {
		call
		lost string // jobs that may not have been matched
		want int
	}{
		"prio":      {call: prioritise(1, true, []string{"3.1"}), lost: "3.1", want: 2},
		"qdel":      {call: remove("3.0"), lost: "3.0", want: 2},
		"withdraw":  {call: withdraw([]string{slotName(1)}), lost: slotName(1), want: 2},
		"closed":    {call: advertise([]string{slotName(2)}, slot{1, false, 0, false}), lost: slotName(2), want: 2},
		"changed":   {call: advertise([]string{slotName(0)}, slot{2, true, 0, false}), lost: slotName(0), want: 2},
		"unrelated": {call: edit("-setfactor", "fair@pool", 7), want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, m := begin(t)
			p := g.between()
			m = g.sure(m, change.call)
			p.resume()
			a := p.answer()
			steps, err := cycle(t, change.want).steps(a)
			testenv.OK(t, err)
			if change.lost != "" && strings.Contains(a.out, fmt.Sprintf("%q,", change.lost)) {
				t.Errorf("%v between plan and claims, and yet the cycle matched %s:\n%s", change.args, change.lost, a.out)
			}
			m, ok := m.after(steps[0])
			if !ok {
				t.Fatalf("%v between plan and claims, and yet it %s", change.args, steps[0].text)
			}
			look(g, m)
		})
	}
}

// cycle is a call of negotiate that has to make so many matches.
func cycle(t *testing.T, want int) call {
	return call{args: []string{"negotiate", "-json"}, did: func(out string) ([]step, error) {
		pairs, err := matches(out)
		if len(pairs) != want {
			t.Errorf("negotiate matched %v, want %d jobs", pairs, want)
		}
		return []step{matched(pairs)}, err
	}}
}

// between starts a negotiate and stops it when it has computed its plan, at
// the lock of the writers, which it does not have.
func (g *ground) between() *process {
	g.Helper()
	release := g.lock()
	defer release()
	return g.haltAtLock(negotiation)
}
