package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
)

// HTCondor's HoldReasonCodes of jobs with files that could not be copied.
const (
	HoldOutput = 12
	HoldInput  = 13
)

// When says which ends of a job have its output copied.
type When int

// What WhenToTransferOutput may say.
const (
	OnExit        When = iota // when it ends by itself
	OnExitOrEvict             // and kept for the next attempt when the job was made to leave
	OnSuccess                 // when it ends by itself with its code of success
)

// Transfer is the copying for a job that runs in a scratch directory.
type Transfer struct {
	// Iwd is where the inputs come from and the outputs go to.
	Iwd string
	// Scratch is the scratch directory, which is not there before Place.
	Scratch string
	// Kept is where the files of an attempt stay for the next one.
	Kept string
	When When

	inputs    []parcel
	outputs   []parcel
	listed    bool     // outputs are to be copied; else all new files are
	state     []parcel // the parts of a checkpoint; to is relative to where it is stored
	resumes   bool     // kept files are given back
	remaps    map[string]string
	success   int      // the exit code of success
	streams   []string // Out and Err
	account   Account  // the user with whose rights files are copied
	notes     notes
	apart     bool // the scratch directory is on another machine than Iwd
	brings    bool // the executable goes there, too; not of another job
	contained bool // the job runs in a container
	// received and sent are the bytes that were copied there and back.
	received, sent int64
}

// Copied returns how many bytes of files were copied so far: received by the job, and sent
// by it, with its checkpoints. It is not for while something is being copied.
func (t *Transfer) Copied() (received, sent int64) {
	if t == nil {
		return 0, 0
	}
	return t.received, t.sent
}

// parcel is one file or directory to be copied.
type parcel struct {
	name     string // as the ad has it
	from, to string
	contents bool // the content of the directory, and not the directory
	parents  bool // directories above to are made if they are missing
}

// transfer returns the job's copying, nil if it works on the files in their places. The
// job runs in its scratch directory if ShouldTransferFiles is YES, and unless that is NO
// also if it names files to be copied, or its machine does not see them.
func (j Job) transfer(ad *classad.Ad, p Place) (*Transfer, error) {
	should, err := text(ad, pool.AttrShouldTransfer, "IF_NEEDED")
	if err != nil {
		return nil, err
	}
	in, err := text(ad, pool.AttrTransferInput, "")
	if err != nil {
		return nil, err
	}
	out, err := text(ad, pool.AttrTransferOutput, "")
	if err != nil {
		return nil, err
	}
	inputs, outputs := list(in), list(out)
	asked := strings.EqualFold(should, "YES") || p.Apart || j.Container != nil || len(inputs)+len(outputs) > 0
	if strings.EqualFold(should, "NO") || !asked {
		return nil, nil
	}
	t := &Transfer{Iwd: j.Dir, Scratch: p.Scratch, Kept: p.Kept, streams: []string{j.Out, j.Err}, account: j.Account, notes: j.notes, apart: p.Apart}
	t.contained = j.Container != nil
	v := ad.Eval(setting, pool.AttrTransferOutput, nil)
	t.listed = v.Kind() != classad.KindUndefined
	preserve, _ := ad.EvalBool(&classad.Context{}, pool.AttrPreserveRelativePaths)
	if err := t.policy(ad); err != nil {
		return nil, err
	}
	if err := t.checkpoints(ad); err != nil {
		return nil, err
	}
	for _, name := range inputs {
		if err := t.addInput(name, preserve); err != nil {
			return nil, &StartError{Reason: fmt.Sprintf("input %s: %v", name, err), Code: HoldInput}
		}
	}
	for _, name := range outputs {
		if err := t.addOutput(name, preserve); err != nil {
			return nil, &StartError{Reason: fmt.Sprintf("output %s: %v", name, err), Code: HoldOutput}
		}
	}
	return t, nil
}

// list returns the names of a list with commas.
func list(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// policy reads when output is copied, and under which names.
func (t *Transfer) policy(ad *classad.Ad) error {
	when, err := text(ad, pool.AttrWhenToTransferOutput, "ON_EXIT")
	if err != nil {
		return err
	}
	switch strings.ToUpper(when) {
	case "ON_EXIT":
	case "ON_EXIT_OR_EVICT":
		t.When = OnExitOrEvict
	case "ON_SUCCESS":
		t.When = OnSuccess
	default:
		return fmt.Errorf("%s: %q: want ON_EXIT, ON_EXIT_OR_EVICT or ON_SUCCESS", pool.AttrWhenToTransferOutput, when)
	}
	for _, name := range []string{pool.AttrSuccessExitCode, pool.AttrJobSuccessExitCode} {
		if code, ok := ad.EvalInt(&classad.Context{}, name); ok {
			t.success = int(code)
		}
	}
	destination, err := text(ad, pool.AttrOutputDestination, "")
	if err == nil && destination != "" {
		err = &StartError{Reason: fmt.Sprintf("output destination %s: %v", destination, errURL), Code: HoldOutput}
	}
	if err != nil {
		return err
	}
	remaps, err := text(ad, pool.AttrTransferOutputRemaps, "")
	if err == nil {
		t.remaps, err = parseRemaps(remaps)
	}
	return err
}

// parseRemaps reads "name = new; name = new". A backslash takes the special meaning from
// the next character. The names are clean.
func parseRemaps(text string) (map[string]string, error) {
	remaps := map[string]string{}
	for text != "" {
		name, end, rest := upTo(text, "=;")
		name = strings.TrimSpace(name)
		if end != '=' {
			if name != "" {
				return nil, remapError(name, errors.New("want NAME = NEWNAME"))
			}
			text = rest
			continue
		}
		var target string
		target, _, text = upTo(rest, ";")
		target = strings.TrimSpace(target)
		switch {
		case name == "" || target == "":
			return nil, remapError(name+" = "+target, errors.New("want NAME = NEWNAME"))
		case isURL(target):
			return nil, remapError(target, errURL)
		}
		remaps[filepath.Clean(name)] = target
	}
	return remaps, nil
}

func remapError(name string, err error) *StartError {
	return &StartError{Reason: fmt.Sprintf("%s: %s: %v", pool.AttrTransferOutputRemaps, name, err), Code: HoldOutput}
}

// upTo returns the text before the first of the ends, which one that is, 0 for
// none, and what follows it.
func upTo(text, ends string) (before string, end byte, rest string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case strings.IndexByte(ends, c) >= 0:
			return b.String(), c, text[i+1:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), 0, ""
}

var (
	errURL     = errors.New("is a URL, and only files of this machine are copied")
	errOutside = errors.New("leads out of the scratch directory")
)

// isURL reports whether a name begins with a scheme and "://".
func isURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, "/ ")
}

// addInput adds the parcel of a name in TransferInput: a file, a directory, or with a
// slash at the end the content of the directory.
func (t *Transfer) addInput(name string, preserve bool) error {
	path := strings.TrimPrefix(name, "file://")
	if isURL(path) {
		return errURL
	}
	if path != name && !filepath.IsAbs(path) {
		return errors.New("want an absolute path behind file://")
	}
	p := parcel{name: name, from: t.inPlace(path), contents: strings.HasSuffix(path, "/")}
	switch {
	case p.from == "/":
		return errors.New("is the root directory")
	case preserve && !filepath.IsAbs(path):
		p.to, p.parents = filepath.Clean(path), true
		if !filepath.IsLocal(p.to) {
			return errOutside
		}
	case p.contents:
		p.to = "."
	default:
		p.to = filepath.Base(p.from)
	}
	p.to = filepath.Join(t.Scratch, p.to)
	t.inputs = append(t.inputs, p)
	return nil
}

// addOutput adds the parcel of a name in TransferOutput, as addInput does.
func (t *Transfer) addOutput(name string, preserve bool) error {
	switch path := filepath.Clean(name); {
	case isURL(name):
		return errURL
	case !filepath.IsLocal(path):
		return errOutside
	default:
		t.outputs = append(t.outputs, t.output(name, path, preserve))
		return nil
	}
}

// output returns the parcel of an output with this path in the scratch directory.
func (t *Transfer) output(name, path string, preserve bool) parcel {
	p := parcel{name: name, from: filepath.Join(t.Scratch, path), contents: path == "." || strings.HasSuffix(name, "/")}
	base := filepath.Base(path)
	target, remapped := t.remaps[path]
	if !remapped {
		target, remapped = t.remaps[base]
	}
	switch {
	case remapped && strings.HasSuffix(target, "/") && !p.contents:
		p.to = filepath.Join(t.inPlace(target), base)
	case remapped:
		p.to = t.inPlace(target)
	case preserve:
		p.to, p.parents = filepath.Join(t.Iwd, path), true
	case p.contents:
		p.to = t.Iwd
	default:
		p.to = filepath.Join(t.Iwd, base)
	}
	return p
}

// inPlace returns a name as an absolute path, relative names from Iwd.
func (t *Transfer) inPlace(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(t.Iwd, name)
}

// Wanted reports whether the output is copied of a job that ended so by itself.
func (t *Transfer) Wanted(e Ended) bool {
	return t.When != OnSuccess || e.Signal == 0 && e.Code == t.success
}

// Store copies the output of a job that has ended to where it belongs: the files that the
// job names, or else the files at the top of the scratch directory that are new or were
// changed. After a failed copy it goes on with the others; the error, a *StartError, is
// the first one.
func (t *Transfer) Store(ctx context.Context, placed Placed) error {
	return t.account.As(func() error {
		t.open()
		return t.storeAll(ctx, placed)
	})
}

func (t *Transfer) storeAll(ctx context.Context, placed Placed) error {
	into := &inPlace{folders: map[string]bool{}}
	for _, name := range t.streams {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			into.streams = append(into.streams, info)
		}
	}
	c := &copier{ctx: ctx, into: into, bytes: &t.sent}
	if t.apart { // the bytes were counted when they came
		c.bytes, c.links, c.without = nil, true, t.runFiles()
	}
	var first *StartError
	more := 0
	note := func(err error) {
		var e *StartError
		switch {
		case !errors.As(err, &e):
		case first == nil:
			first = e
		default:
			more++
		}
	}
	for _, p := range t.wanted(placed) {
		note(t.store(c, p))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := into.sync(); err != nil {
		note(failed(ctx, "output", parcel{name: t.Iwd}, HoldOutput, err))
	}
	if first == nil {
		return nil
	}
	if more > 0 {
		first.Reason += fmt.Sprintf(", and %d more", more)
	}
	return first
}

// wanted returns the parcels to copy.
func (t *Transfer) wanted(placed Placed) []parcel {
	if t.listed {
		return t.outputs
	}
	var out []parcel
	now := t.top()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before, ok := placed.files[name]; !ok || before.size != now[name].size || !before.at.Equal(now[name].at) {
			out = append(out, t.output(name, name, false))
		}
	}
	return out
}

func (t *Transfer) store(c *copier, p parcel) error {
	_, err := os.Stat(p.from)
	if t.apart {
		err, c.within = t.plain(p.from), p.from
	}
	if errors.Is(err, fs.ErrNotExist) {
		if slices.Contains(t.streams, p.to) {
			return nil // it is in its place already
		}
		return &StartError{
			Reason: fmt.Sprintf("output %s: the job has left no such file", p.name),
			Code:   HoldOutput, Subcode: int(unix.ENOENT),
		}
	}
	if err == nil && p.parents {
		err = os.MkdirAll(filepath.Dir(p.to), 0o777)
	}
	if err == nil {
		err = c.parcel(p)
	}
	if err != nil {
		return failed(c.ctx, "output", p, HoldOutput, err)
	}
	return nil
}
