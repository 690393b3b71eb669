package flock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"fairspool/cmd/internal/onchange"
	"fairspool/cmd/internal/pilot"
	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/engine"
	"fairspool/lib/jobad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/policy"
	"fairspool/lib/policy/registry"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
	"fairspool/spool"
)

// Bounds of a wish.
const (
	longestWish = 16 << 10 // bytes
	longestHome = 4096
	mostCores   = 1 << 20
	mostMemory  = 1 << 40 // MB
	mostSeconds = 1 << 31
)

var (
	pilotName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^fs-[0-9a-z]{1,64}-[0-9]{1,18}$`) })
	pilotToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{1,128}$`) })
)

// readWish reads a pool's request. domain is the pool's.
func readWish(from io.Reader, domain string) (w engine.Wish, err error) {
	text, err := io.ReadAll(io.LimitReader(from, longestWish+1))
	if err == nil && len(text) > longestWish {
		err = errors.New("is too long")
	}
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return w, fmt.Errorf("the wish: %w", err)
	}
	_, of, _ := strings.Cut(w.User, "@")
	within := func(n, most int64) bool { return n >= 1 && n <= most }
	switch {
	case of != domain:
		return w, fmt.Errorf("%.200q: not a user of %s, for which the caller speaks", clean.Line(w.User), domain)
	case !pilotName().MatchString(w.Name) || w.Pilot < 1 || !pilotToken().MatchString(w.Token):
		return w, errors.New("the wish has no name, number and token of a pilot")
	case strings.TrimSpace(w.Home) == "" || len(w.Home) > longestHome || strings.ContainsFunc(w.Home, unicode.IsControl):
		return w, errors.New("the wish has no command by which the pilot calls its pool")
	case !within(w.Cpus, mostCores) || !within(w.Memory, mostMemory) || !within(int64(w.Idle), mostSeconds) || !within(int64(w.Time), mostSeconds):
		return w, errors.New("the wish asks for an amount that no slot has")
	}
	return w, nil
}

// ask puts a pilot of a user of the domain into the queue, and prints the number of its cluster.
func (r *caller) ask(sp *spool.Spool) error {
	w, err := readWish(r.Stdin, r.domain)
	if err != nil {
		return err
	}
	if err := jobad.CheckOwner(w.User, r.Config.NiceGroup, r.Config.Groups); err != nil {
		return fmt.Errorf("user %q: %w", w.User, err)
	}
	if err := refusal(r.Config, w.User, sp.Dir()); err != nil {
		return err
	}
	script, err := r.script(w, sp.Domain())
	if err != nil {
		return err
	}
	jobs, err := r.job(w, sp.Domain())
	if err != nil {
		return err
	}
	first, err := jobs.First(1) // as far as requirements see it, which number it has makes no difference
	if err == nil {
		err = lifecycle.Require(r.Config, first, &classad.Context{Now: r.Now}, r.Warn)
	}
	if err != nil {
		return err
	}
	rights := policy.RightsOf(registry.Of(r.Config), r.Config, w.User, false, w.User, func(string) ([]string, error) { return nil, nil })
	id := 0
	err = sp.Update(func(tx *spool.Tx) (err error) {
		tx.Op("serve -flock", r.domain, "ask", w.Name, w.User)
		if id, _, err = lifecycle.Submit(tx, jobs, rights); err == nil {
			spool.Inputs.Put(tx, pool.Input{Cluster: id, Text: script})
		}
		return err
	})
	if err != nil {
		return err
	}
	r.Changed()
	_, err = fmt.Fprintln(r.Stdout, id)
	return err
}

// description describes the job that is the pilot. It leaves the queue when it is held, and when it has to leave its slot: its
// pool asks for another.
func (r *caller) description(w engine.Wish) string {
	return fmt.Sprintf(`executable = /bin/sh
transfer_executable = false
should_transfer_files = yes
batch_name = %[1]s
request_cpus = %[2]d
request_memory = %[3]d
wall_time = %[4]d
periodic_remove = JobStatus == 5 || JobStatus == 1 && NumJobStarts > 0
+%[5]s = false
+%[6]s = "%[7]s"
+%[8]s = "%[1]s"
queue
`, w.Name, w.Cpus, w.Memory, w.Time, pool.AttrFlock, pool.AttrFlockedFrom, r.domain, pool.AttrFlockedPilot)
}

// job returns the job that is the pilot.
func (r *caller) job(w engine.Wish, domain string) (*jobad.Jobs, error) {
	d, _, err := submitfile.Parse(r.description(w), "pilot", submitfile.Options{})
	if err != nil {
		return nil, err
	}
	jobs, _, err := jobad.New(d, jobad.Options{
		Owner: w.User, Domain: domain, Dir: "/", Now: r.Now, NiceGroup: r.Config.NiceGroup, Groups: r.Config.Groups,
		Arch: platform.Arch(), OpSys: platform.OpSys,
		AppendRequirements: r.Config.Text("APPEND_REQUIREMENTS"), AppendRank: r.Config.Text("APPEND_RANK"),
	})
	return jobs, err
}

// script returns the input of the job's shell. It contains the token, which is secret.
func (r *caller) script(w engine.Wish, domain string) (string, error) {
	folder, prefix, ok := onchange.Siblings("serve")
	if !ok {
		return "", errors.New("starter is not in the folder of this program: install all programs into one")
	}
	starter := filepath.Join(folder, prefix+"starter")
	return fmt.Sprintf(`umask 077
state="$_CONDOR_SCRATCH_DIR/pilot"
mkdir "$state" && printf '%%s %%s\n' %d %s >"$state/token" || exit 1
starter=%s
[ -x "$starter" ] || starter=$(command -v starter) || exit 1
export %s=%s
exec "$starter" -pilot -q -state "$state" -home %s -token "$state/token" -idle %d -time %d -grace %d </dev/null
`, w.Pilot, w.Token, engine.Quoted(starter), pilot.EngineVariable, engine.Quoted("pool "+domain), engine.Quoted(w.Home), w.Idle, w.Time,
		max(int(r.Config.MachineMaxVacateTime.Seconds()), 1)), nil
}
