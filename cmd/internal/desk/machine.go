package desk

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/launch"
	"fairspool/lib/launch/container"
	"fairspool/lib/launch/local"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
	"fairspool/spool"
)

// Machine returns the settings of this machine for jobs, with the folder of their scratch
// directories and the prefix of their families' names.
func Machine(cfg *config.Config, folder local.Folder, prefix string) local.Settings {
	s := local.Settings{
		Folder: folder, Prefix: prefix, Base: cfg.BaseCgroup, Patience: cfg.KillingTimeout, Checkpoint: cfg.CheckpointCommand,
		StrictDisk: cfg.EnforceDiskLimits, MaxScratch: cfg.MaxScratchSize, RunTime: local.RunTime(cfg.RunTime),
		Containers: container.Of(cfg),
	}
	switch cfg.MemoryLimitPolicy {
	case "soft":
		s.Memory = local.SoftMemory
	case "hard":
		s.Memory = local.HardMemory
	}
	return s
}

// folderOf returns the folder for the scratch directories of a spool's jobs. EXECUTE may serve
// several spools with the same job ids; one spool has one folder by whatever path it is reached.
func folderOf(cfg *config.Config, sp *spool.Spool) local.Folder {
	if cfg.Execute == "" {
		return local.Folder{Path: filepath.Join(sp.Dir(), "execute"), Above: sp.Dir()}
	}
	sum := sha256.Sum256([]byte(realDir(sp)))
	return local.Folder{Path: filepath.Join(cfg.Execute, fmt.Sprintf("spool-%x", sum[:6]))}
}

// Prefix returns the beginning of the names of a spool's families. It contains the spool's
// directory, since copies of a spool have the same id and names of claims.
func Prefix(sp *spool.Spool) string {
	sum := sha256.Sum256([]byte(sp.ID() + "\x00" + realDir(sp)))
	return fmt.Sprintf("%x-", sum[:8])
}

// realDir returns a spool's directory without symbolic links.
func realDir(sp *spool.Spool) string {
	if real, err := filepath.EvalSymlinks(sp.Dir()); err == nil {
		return real
	}
	return sp.Dir()
}

// processorsFor returns the processors that the job of a claim is bound to: as many as its
// slot has cores, the lowest that this process may use and no other job here is bound to. It returns nil,
// and the job may run on all processors, if too few are left or the number of cores is unknown.
//
// The caller holds the spool's lock until the job's ad names the processors, so that no two jobs get
// the same.
func processorsFor(v *spool.View, claim pool.Claim, slot *classad.Ad) []int {
	if slot == nil {
		return nil
	}
	cores, ok := slot.EvalNumber(&classad.Context{}, pool.AttrCpus)
	if !ok {
		return nil
	}
	return local.Processors(cores, boundHere(v, claim))
}

// boundHere returns the processors that the jobs of other claims on the same machine are bound to.
func boundHere(v *spool.View, claim pool.Claim) map[int]bool {
	taken := map[int]bool{}
	for _, c := range v.Claims() {
		runs := c.State == pool.RunningClaim || c.State == pool.Vacating
		if !runs || c.Job == claim.Job || !strings.EqualFold(c.Machine, claim.Machine) {
			continue
		}
		ad, ok := v.Job(c.Job)
		if !ok {
			continue
		}
		text, _ := ad.EvalString(&classad.Context{}, pool.AttrCPUAffinity)
		for name := range strings.SplitSeq(text, ",") {
			if cpu, err := strconv.Atoi(name); err == nil {
				taken[cpu] = true
			}
		}
	}
	return taken
}

// bound returns the attribute of a job's ad for the processors that it is bound to; none without any.
func bound(cpus []int) []launch.Found {
	if len(cpus) == 0 {
		return nil
	}
	var names []string
	for _, cpu := range cpus {
		names = append(names, strconv.Itoa(cpu))
	}
	text := classad.String(strings.Join(names, ","))
	return []launch.Found{{Name: pool.AttrCPUAffinity, Expr: classad.Literal(text)}}
}

// Nice returns what keeps the nice value of an attempt's job, the chore of its supervisor. It
// never fires if reprioritize_interval is 0, or this machine has no name.
func (n *Desks) Nice(t supervise.Task, tell func(error)) supervise.Chore {
	if n.machine.RunTime.Interval <= 0 {
		return &local.Nice{}
	}
	host, err := n.Host()
	if err != nil {
		tell(err)
		return &local.Nice{}
	}
	return t.On.(*local.Machine).Nice(host, func() ([]local.Runner, bool, error) { return n.runners(host) })
}

// runners returns the jobs that run on a machine, and whether one of them has tickets; fs.ErrNotExist: the
// spool is gone. It keeps nothing of the queue in memory, as a machine may have many supervisors.
func (n *Desks) runners(host string) (jobs []local.Runner, tickets bool, err error) {
	if spool.Gone(n.Spool.Dir()) {
		return nil, false, fs.ErrNotExist
	}
	c := &classad.Context{Now: n.Now().Now}
	err = n.Spool.View(func(v *spool.View) error {
		for _, claim := range v.Claims() {
			ad, ok := v.Job(claim.Job)
			if !ok || claim.State != pool.RunningClaim || !strings.EqualFold(claim.Machine, host) {
				continue
			}
			own, has := ticketsOf(c, ad)
			jobs = append(jobs, local.Runner{Name: claim.LockName(), PID: claim.PID, Tickets: own, Slots: slotsOf(c, ad)})
			tickets = tickets || has
		}
		return nil
	})
	n.Spool.Close()
	return jobs, tickets, err
}

// ticketsOf returns the tickets of a job: the policy's, else those set by hand. It is false if neither is
// a number.
func ticketsOf(c *classad.Context, ad *classad.Ad) (float64, bool) {
	for _, name := range []string{pool.AttrTickets, attrOverrideTickets} {
		if n, ok := ad.EvalNumber(c, name); ok {
			return n, true
		}
	}
	return 0, false
}

const attrOverrideTickets = "OverrideTickets"

// slotsOf returns the number of processors that a job asked for, at least 1.
func slotsOf(c *classad.Context, ad *classad.Ad) int {
	const most = 1 << 20
	if n, ok := ad.EvalNumber(c, pool.AttrRequestCpus); ok && n > 1 {
		return int(min(n, most))
	}
	return 1
}
