package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"fairspool/lib/pool"
	"fairspool/spool/internal/cyclejson"
	"fairspool/spool/internal/dumptext"
	"fairspool/spool/internal/files"
	"fairspool/spool/internal/logtext"
	"fairspool/spool/internal/takers"
)

// Restored says what was restored.
type Restored struct {
	Domain string
	Contents
}

// Restore makes a spool from what Dump wrote, one that is equal to the dumped, in a directory that is empty or not there yet. progress,
// which may be nil, is told now and then how many ads were read. What is wrong with the dump is a *DumpError, which names the line. After
// any error what was made is removed; after a crash the directory is no spool either.
func Restore(dir string, from io.Reader, o Options, progress func(ads int)) (Restored, error) {
	return restore(dir, from, o, progress, files.Disk{})
}

func restore(dir string, from io.Reader, o Options, progress func(ads int), fsys files.Layer) (Restored, error) {
	to, err := newCreation(dir, o, fsys)
	if err != nil {
		return Restored{}, err
	}
	r := &restoring{in: dumptext.Reader{In: dumptext.NewLineReader(from)}, to: to, progress: progress}
	err = r.all(o.UIDDomain)
	if err == nil {
		err = to.finish(r.version, r.seq, r.next)
	}
	if err != nil {
		to.abandon()
		return Restored{}, fmt.Errorf("spool %s: %w", to.spool.dir, err)
	}
	to.n.Factories = len(to.state.factories.list)
	return Restored{r.version.Domain, to.n}, nil
}

// DumpError says that the text that Restore reads is no whole dump.
type DumpError struct {
	Line int // the first is 1
	Why  string
}

func (e *DumpError) Error() string { return fmt.Sprintf("the dump, line %d: %s", e.Line, e.Why) }

// restoring is a Restore at work.
type restoring struct {
	in       dumptext.Reader
	to       *creation
	progress func(ads int)

	version version
	seq     uint64
	next    int
	ended   bool

	cluster int    // whose procs are being read; 0: none
	line    int    // on which it begins
	text    []byte // its lines, or those of a slot or an ad
	prefix  []byte
	worker  *worker
	made    int
}

// all reads the whole dump.
func (r *restoring) all(domain string) error {
	if !r.begins() {
		return &DumpError{1, "this is no dump of a spool"}
	}
	for {
		err := r.in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		line := r.in.Line
		if err == nil {
			err = r.ad()
		}
		if err == nil && r.in.Ads == 1 && domain != "" && domain != r.version.Domain {
			err = fmt.Errorf("its UID_DOMAIN is %s, the configuration says %s: take that line out, and rename the new spool's afterwards: spool rename-domain %s %s", r.version.Domain, domain, r.version.Domain, domain)
		}
		switch {
		case isFile(err): // it says which
			return err
		case err != nil:
			return &DumpError{line, legible(err.Error())}
		}
		if r.progress != nil && r.in.Ads%1000 == 0 {
			r.progress(r.in.Ads)
		}
	}
	if !r.ended {
		return &DumpError{r.in.In.N + 1, "it ends here and is incomplete"}
	}
	return nil
}

// begins reports whether the first line, or the piece of it that is there, is that of a dump.
func (r *restoring) begins() bool {
	const first = `MyType = "Spool"` + "\n"
	b, _ := r.in.In.From.Peek(len(first)) // an error comes again
	return strings.HasPrefix(first, string(b))
}

// ad takes one ad of ours, and what it is the heading of.
func (r *restoring) ad() error {
	w := &dumptext.Words{Lines: r.in.Ad.Split()}
	kind := w.Text("MyType")
	switch {
	case w.Err != nil:
		return w.Err
	case (r.in.Ads == 1) != (kind == "Spool") || r.ended:
		return fmt.Errorf("an ad of type %q is not expected here", kind)
	case kind == "Procs":
		return r.procs(w)
	}
	if err := r.endCluster(); err != nil {
		return err
	}
	switch kind {
	case "Spool":
		return r.heading(w)
	case "Cluster":
		return r.beginCluster(w)
	case "Slot":
		return r.slot(w)
	case "Digest":
		cluster, text := int(w.Number("Cluster", 1, math.MaxInt32)), w.Texts("Lines")
		if err := w.End(); err != nil {
			return err
		}
		return r.to.digest(cluster, []byte(strings.Join(text, "\n")))
	case "History":
		return r.left(w)
	case "Transaction":
		return r.transaction(w)
	case "HandWritten":
		name, text := w.Text("File"), w.Texts("Lines")
		if err := w.End(); err != nil {
			return err
		}
		return r.to.handWritten(name, []byte(strings.Join(text, "\n")))
	case "Report":
		return r.report(w)
	case "End":
		return r.end(w)
	}
	for i, k := range schema {
		if _, title := k.names(); title == kind {
			return r.row(r.to.state.tables[i], w)
		}
	}
	return fmt.Errorf("an ad of unknown type %q", kind)
}

func (r *restoring) heading(w *dumptext.Words) error {
	notation := w.Number("DumpFormat", 1, math.MaxInt)
	r.version = version{Domain: w.Text("UIDDomain"), ID: w.Text("SpoolId")}
	r.seq = uint64(w.Number("Seq", 0, math.MaxInt64))
	r.next = int(w.Number("NextCluster", 1, math.MaxInt32))
	if w.Err == nil && notation > dumpFormat {
		return fmt.Errorf("it is in notation %d, newer than %d, which is what this program knows: use a newer fairspool", notation, dumpFormat)
	}
	return w.End()
}

// hire returns a worker, a new one now and then.
func (r *restoring) hire() *worker {
	if r.made%workerThings == 0 {
		r.worker = newWorker()
	}
	r.made++
	return r.worker
}

func (r *restoring) beginCluster(w *dumptext.Words) error {
	r.line = r.in.Line
	r.cluster = int(w.Number("Cluster", 1, math.MaxInt32))
	r.text = r.text[:0]
	r.prefix = fmt.Appendf(r.prefix[:0], "C %d ", r.cluster)
	var charge []byte
	if w.Next("Owner") {
		y := record{Kind: 'Y', Procs: pool.Procs{Cluster: r.cluster}, Name: w.Text("Owner")}
		y.End = w.Number("Bytes", 0, math.MaxInt64)
		charge = y.append(nil)
	}
	err := r.attributes(w)
	r.text = append(r.text, charge...)
	return err
}

func (r *restoring) procs(w *dumptext.Words) error {
	run := record{Kind: 'N', Procs: pool.Procs{Cluster: int(w.Number("Cluster", 1, math.MaxInt32))}}
	run.First = int(w.Number("First", 0, math.MaxInt32))
	run.Last = int(w.Number("Last", int64(run.First), math.MaxInt32))
	run.Seq = uint64(w.Number("Seq", 0, math.MaxInt64))
	if w.Err == nil && run.Cluster != r.cluster {
		return fmt.Errorf("procs of cluster %d behind cluster %d", run.Cluster, r.cluster)
	}
	if len(r.text) > math.MaxInt32 {
		return fmt.Errorf("cluster %d: larger than %d bytes", r.cluster, math.MaxInt32)
	}
	r.text = run.append(r.text)
	r.prefix = append(record{Kind: 'A', Procs: run.Procs}.appendProcs(append(r.prefix[:0], "A "...)), ' ')
	return r.attributes(w)
}

// endCluster adds the cluster whose ads were read.
func (r *restoring) endCluster() error {
	if r.cluster == 0 {
		return nil
	}
	id := r.cluster
	r.cluster = 0
	c, err := clusterOf(r.hire(), id, []chunk{{text: r.text, line: 1}})
	if err == nil && c == nil {
		err = fmt.Errorf("cluster %d: no procs", id)
	}
	if err == nil {
		err = r.to.clusterBlock(c, r.text)
	}
	return r.about(fmt.Sprintf("the cluster of line %d", r.line), err)
}

// about says what an error is about that came from the lines of a block.
func (r *restoring) about(what string, err error) error {
	var d *DamageError
	if errors.As(err, &d) {
		return fmt.Errorf("%s: %s", what, d.Why)
	}
	return err
}

// attributes ends a heading and appends the ad behind it to the text, a line with the prefix for each attribute.
func (r *restoring) attributes(w *dumptext.Words) error {
	n := w.Number("Attributes", 0, dumptext.MostBytes)
	if err := w.End(); err != nil || n == 0 {
		return err
	}
	if err := r.in.Next(); err != nil {
		return dumptext.NotWhole(err)
	}
	list := r.in.Ad.Split()
	if int64(len(list)) != n {
		return fmt.Errorf("the ad on line %d has %d attributes, its heading says %d", r.in.Line, len(list), n)
	}
	for i, line := range list {
		var err error
		if r.text, err = dumptext.AppendAttribute(append(r.text, r.prefix...), line); err != nil {
			return fmt.Errorf("line %d: %w", r.in.Line+i, err)
		}
		r.text = append(r.text, '\n')
	}
	return nil
}

func (r *restoring) slot(w *dumptext.Words) error {
	head := record{Kind: 'S', Slot: w.Text("Name"), Seq: uint64(w.Number("Seq", 0, math.MaxInt64))}
	r.text = head.append(r.text[:0])
	r.prefix = append(strconv.AppendQuote(append(r.prefix[:0], "G "...), head.Slot), ' ')
	if err := r.attributes(w); err != nil {
		return err
	}
	s, err := slotOf(r.hire(), head.Slot, []chunk{{text: r.text, line: 1}})
	if err == nil {
		err = r.to.slotBlock(slotEntry(s), r.text)
	}
	return r.about("slot "+head.Slot, err)
}

// row takes a row of a small table.
func (r *restoring) row(to rows, w *dumptext.Words) (err error) {
	r.text = append(r.text[:0], "[ "...)
	for _, line := range w.Lines {
		if r.text, err = dumptext.AppendAttribute(r.text, line); err != nil {
			return err
		}
		r.text = append(r.text, "; "...)
	}
	return to.restore(r.to, string(append(r.text, ']')))
}

// left takes an ad of the history.
func (r *restoring) left(w *dumptext.Words) error {
	month := w.Text("Month")
	r.text, r.prefix = r.text[:0], r.prefix[:0]
	if err := r.attributes(w); err != nil {
		return err
	}
	if len(r.text) == 0 {
		return errors.New("an ad of the history without attributes")
	}
	return r.to.left(month, r.text)
}

func (r *restoring) transaction(w *dumptext.Words) error {
	var l Logged
	var err1, err2 error
	l.Seq = uint64(w.Number("Seq", 0, math.MaxInt64))
	l.Machine, err1 = time.Parse(logtext.Layout, w.Text("Machine"))
	l.Policy, err2 = time.Parse(logtext.Layout, w.Text("Policy"))
	l.UID = int(w.Number("UID", math.MinInt, math.MaxInt))
	l.User, l.Program, l.Op = w.Text("User"), w.Text("Program"), w.Text("Op")
	l.Args, l.What = w.Texts("Args"), w.Text("What")
	if w.Next("Earlier") {
		l.Earlier = w.Texts("Earlier")
	}
	err := w.End()
	if err == nil {
		err = cmp.Or(err1, err2)
	}
	if err == nil && strings.Contains(l.What, "\n") {
		err = errors.New("the word What has two lines")
	}
	for _, line := range l.Earlier {
		if err == nil {
			err = takers.Check(line)
		}
	}
	if err != nil {
		return err
	}
	return r.to.logged(l)
}

func (r *restoring) report(w *dumptext.Words) error {
	b := []byte(strings.Join(w.Texts("Lines"), "\n"))
	if err := w.End(); err != nil {
		return err
	}
	if !cyclejson.Sealed(b) {
		return errors.New("the report's checksum is not right")
	}
	return r.to.report(b)
}

// end holds what was read to what was written.
func (r *restoring) end(w *dumptext.Words) error {
	ads := w.Number("Ads", 0, math.MaxInt)
	got := r.to.n
	var want Contents
	for _, c := range []struct {
		name string
		n    *int
	}{
		{"Clusters", &want.Clusters}, {"Jobs", &want.Jobs}, {"Slots", &want.Slots},
		{"Claims", &want.Claims}, {"Submitters", &want.Submitters}, {"Left", &want.Left},
	} {
		*c.n = int(w.Number(c.name, 0, math.MaxInt))
	}
	recorded := w.Text("Checksum")
	if err := w.End(); err != nil {
		return err
	}
	if sum := fmt.Sprintf("%08x", r.in.Before); sum != recorded {
		return fmt.Errorf("the checksum of all before is %s, recorded is %s", sum, recorded)
	}
	if want != got || int(ads) != r.in.Ads-1 {
		return fmt.Errorf("%d ads, %+v, but recorded are %d, %+v", r.in.Ads-1, got, ads, want)
	}
	r.ended = true
	return nil
}
