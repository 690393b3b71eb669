package flock

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/clean"
	"fairspool/lib/config"
	"fairspool/lib/launch"
	"fairspool/lib/lifecycle"
	"fairspool/lib/pool"
	"fairspool/spool"
)

// originalCommand is the variable in which sshd passes the requested command, if the key allows one command only.
const originalCommand = "SSH_ORIGINAL_COMMAND"

// caller is the caller with its request.
type caller struct {
	*cmdline.Call
	domain string
	words  []string // ask, look or cancel, and its arguments
}

// Run is serve -flock.
func Run(c *cmdline.Call) error {
	r := &caller{Call: c, words: c.Args}
	if err := r.whoAsks(); err != nil {
		return err
	}
	sp, err := c.ExistingSpool()
	if err != nil {
		return err
	}
	if r.domain == sp.Domain() {
		return fmt.Errorf("%s is this pool's own domain", r.domain)
	}
	switch do, args := r.verb(); {
	case do == "ask" && len(args) == 0:
		return r.ask(sp)
	case do == "look" && len(args) == 0:
		return r.look(sp)
	case do == "cancel" && len(args) > 0:
		return r.cancel(sp, args)
	}
	return cmdline.Usagef("%s: want ask, look, or cancel and numbers", strings.Join(r.words, " "))
}

// verb returns the requested action with its arguments.
func (r *caller) verb() (do string, args []string) {
	if len(r.words) == 0 {
		return "", nil
	}
	return r.words[0], r.words[1:]
}

// whoAsks finds the domain that the caller speaks for: through the door the domain of the account, which the kernel
// names, else the one that the command line names, as the line of a key in authorized_keys has it.
func (r *caller) whoAsks() error {
	if !r.ThroughDoor() {
		if len(r.words) == 0 {
			return cmdline.Usagef("-flock: want the domain of the pool that asks, as in serve -flock a.org")
		}
		r.domain, r.words = r.words[0], r.words[1:]
	}
	if typed, is := os.LookupEnv(originalCommand); is && len(r.words) == 0 {
		_, behind, _ := strings.Cut(typed, "-flock")
		r.words = strings.Fields(behind)
	}
	who, err := r.Caller()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.Config.FlockFrom, func(f config.FlockFrom) bool {
		if r.ThroughDoor() {
			return f.Account != "" && f.Account == who.Name
		}
		return strings.EqualFold(f.Domain, r.domain)
	})
	switch {
	case i >= 0:
		r.domain = r.Config.FlockFrom[i].Domain
		return nil
	case r.ThroughDoor():
		return fmt.Errorf("account %s stands for no other pool: an entry DOMAIN=%[1]s of FLOCK_FROM says for which", who.Name)
	}
	return fmt.Errorf("%s: FLOCK_FROM does not let this domain in", clean.Line(r.domain))
}

// refusal returns why a user of another pool may have no jobs here; nil: they may.
func refusal(c *config.Config, user, dir string) error {
	for _, pattern := range c.FlockRefuse {
		if is, err := path.Match(pattern, user); is || err != nil {
			return fmt.Errorf("%s: FLOCK_REFUSE has %s", user, pattern)
		}
	}
	account := launch.CurrentAccount()
	switch {
	case c.NobodySlotUser == "":
		return errors.New("NOBODY_SLOT_USER names no account that runs jobs of other pools' users")
	case account.UID != 0 && !spool.RunByRoot(dir) && c.NobodySlotUser != account.Name:
		return fmt.Errorf("jobs of this pool run as %s, and NOBODY_SLOT_USER says %s: root's starter can change that", account.Name, c.NobodySlotUser)
	}
	return nil
}

// ours calls do for the clusters that the domain's users have in the queue.
func (r *caller) ours(v *spool.View, do func(c *spool.Cluster, name string)) {
	users := slices.DeleteFunc(v.Owners(), func(owner string) bool { return !strings.HasSuffix(owner, "@"+r.domain) })
	for _, c := range v.Belonging(users) {
		x := &classad.Context{}
		if from, _ := c.Ad.EvalString(x, pool.AttrFlockedFrom); from != r.domain {
			continue
		}
		name, _ := c.Ad.EvalString(x, pool.AttrFlockedPilot)
		do(c, name)
	}
}

// states are the words for what jobs do; others have left the queue, or are about to.
var states = map[pool.Status]string{pool.Idle: "idle", pool.Running: "running", pool.Suspended: "suspended", pool.Held: "held"}

// look lists the domain's pilots that are in the queue: CLUSTER|NAME|STATE|WHY.
func (r *caller) look(sp *spool.Spool) error {
	return sp.View(func(v *spool.View) error {
		r.ours(v, func(c *spool.Cluster, name string) {
			x := &classad.Context{Now: r.Now}
			ad, _ := v.Job(pool.JobID{Cluster: c.ID})
			if ad == nil {
				return
			}
			status, _ := ad.EvalInt(x, pool.AttrJobStatus)
			if word := states[pool.Status(status)]; word != "" {
				why, _ := ad.EvalString(x, pool.AttrHoldReason)
				fmt.Fprintf(r.Stdout, "%d|%s|%s|%s\n", c.ID, name, word, clean.Line(why))
			}
		})
		return nil
	})
}

// cancel removes pilots of the domain. Pilots that do not exist any more are no error.
func (r *caller) cancel(sp *spool.Spool, args []string) error {
	wanted := map[int]bool{}
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return cmdline.Usagef("cancel %s: want numbers, as ask prints them", arg)
		}
		wanted[n] = true
	}
	err := lifecycle.Account(sp, r.Later(), func(tx *spool.Tx) (err error) {
		tx.Op("serve -flock", append([]string{r.domain, "cancel"}, args...)...)
		var found []int
		r.ours(&tx.View, func(c *spool.Cluster, _ string) {
			if wanted[c.ID] {
				found = append(found, c.ID)
			}
		})
		for _, id := range found {
			if _, err := lifecycle.Remove(tx, pool.JobID{Cluster: id}, "its pool "+r.domain+" cancelled it", r.Later().Now, r.Config.Params); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		r.Changed()
	}
	return err
}
