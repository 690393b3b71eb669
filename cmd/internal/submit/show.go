package submit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"fairspool/cmd/internal/adprint"
	"fairspool/cmd/internal/cmdline"
	"fairspool/lib/classad"
	"fairspool/lib/jobad"
	"fairspool/lib/plural"
	"fairspool/lib/pool"
)

// told is what -json prints.
type told struct {
	ClusterID int `json:"ClusterId,omitempty"`
	Jobs      int
	Exists    bool   `json:",omitempty"` // it was there already (-unique)
	File      string `json:",omitempty"` // of the ads (-dry-run)
}

// tell says which jobs are in the queue now.
func (s *submission) tell(k cluster) error {
	if s.verbose {
		if err := adprint.Print(s.Call, "long", k.ads()); err != nil {
			return err
		}
	}
	switch {
	case s.json:
		return s.JSON(told{ClusterID: k.id, Jobs: k.all})
	case k.id == 0:
	case s.terse:
		s.printRange(pool.Procs{Cluster: k.id, First: 0, Last: k.all - 1})
	case s.kept:
		s.tellKept(k)
	default:
		fmt.Fprintf(s.Stdout, "%s submitted to cluster %d.\n", plural.Count(k.all, "job"), k.id)
	}
	return nil
}

func (s *submission) printRange(p pool.Procs) {
	fmt.Fprintf(s.Stdout, "%v - %v\n", p.FirstJob(), pool.JobID{Cluster: p.Cluster, Proc: p.Last})
}

// tellOf tells programs which jobs keep these from being submitted, and returns
// the error.
func (s *submission) tellOf(err error) error {
	var e *existsError
	switch {
	case !errors.As(err, &e):
	case s.json:
		err = cmp.Or(s.JSON(told{ClusterID: e.Cluster, Exists: true}), err)
	case s.terse:
		s.printRange(e.Procs)
	}
	return err
}

// dryRun writes the ads that submit would put into the queue of a new spool.
func (s *submission) dryRun(d *jobad.Jobs) error {
	p := s.Progress("making jobs")
	d.Progress = p.Step
	jobs, err := d.Expand(1)
	p.End()
	if err != nil {
		return err
	}
	if _, err := s.permit(d, jobs); err != nil {
		return err
	}
	k := cluster{1, jobs.Jobs(), jobs}
	if _, err := s.look(d, k); err != nil {
		return err
	}
	if err := s.strict(); err != nil {
		return err
	}
	form := map[bool]string{false: "long", true: "json"}[s.json]
	to := s.dryRunTo
	if to == "-" || to == "/dev/stdout" {
		return adprint.Print(s.Call, form, k.ads())
	}
	if err := writeTo(to, func(w io.Writer) error {
		call := *s.Call
		call.Stdout = w
		return adprint.Print(&call, form, k.ads())
	}); err != nil {
		return fmt.Errorf("-dry-run %s: %w", to, cmdline.Cause(err))
	}
	if s.json {
		return s.JSON(told{Jobs: k.all, File: to})
	}
	fmt.Fprintf(s.Stdout, "%s written to %s, nothing is submitted.\n", plural.Count(k.all, "job"), to)
	return nil
}

// writeTo writes a file as a whole or not at all. Into a device or a pipe, such as
// /dev/null, it writes what there is.
func writeTo(name string, write func(io.Writer) error) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe) == 0 {
		_, err := cmdline.Replace(name, 0o644, write)
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// ads yields the complete ads of the cluster's jobs. The same ad comes again for
// the procs of a run.
func (k cluster) ads() iter.Seq[*classad.Ad] {
	return func(yield func(*classad.Ad) bool) {
		proc := 0
		for _, r := range k.Runs {
			ad := k.adOf(r)
			ad.SetInt(pool.AttrClusterID, int64(k.id))
			for range r.Count {
				ad.SetInt(pool.AttrProcID, int64(proc))
				if !yield(ad) {
					return
				}
				proc++
			}
		}
	}
}

// adOf returns the ad that the procs of a run share.
func (k cluster) adOf(r jobad.Run) *classad.Ad {
	return r.Ad().Chain(k.Ad)
}

// texts looks up attributes of a cluster's procs that are texts. Most procs share most of
// them.
type texts struct {
	cluster
	shared map[string]string // by name, of the cluster's ad
	run    jobad.Run
}

func newTexts(k cluster) *texts { return &texts{cluster: k, shared: map[string]string{}} }

// at goes to a run.
func (t *texts) at(r jobad.Run) { t.run = r }

// text returns the text that an attribute is for the procs of the run; empty for
// none.
func (t *texts) text(name string) string {
	if text, plain := t.run.Text(name); plain {
		return text
	}
	if t.run.Has(name) {
		return textOf(t.adOf(t.run), name)
	}
	text, known := t.shared[name]
	if known {
		return text
	}
	if e, ok := t.Ad.Lookup(name); ok {
		if _, constant := e.Constant(); !constant {
			return textOf(t.adOf(t.run), name) // it may refer to attributes of the run
		}
		text = textOf(t.Ad, name)
	}
	t.shared[name] = text
	return text
}

func textOf(ad *classad.Ad, name string) string {
	s, _ := ad.EvalString(&classad.Context{}, name)
	return s
}
