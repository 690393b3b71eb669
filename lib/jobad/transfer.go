package jobad

import (
	"strings"

	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// transfers is what a description says of the files that are copied to the job's
// scratch directory and back.
type transfers struct {
	should, when string   // as HTCondor spells them; when is empty if files stay where they are
	inputs       []string // all of them
	public       []string // those of public_input_files
	common       []string // those of transfer_common_input
	outputs      []string
	listed       bool // only outputs are copied back, else all that is new is
	image        image
	remaps       string   // as the ad has them
	destination  string   // a URL, or empty
	inputsAt     given    // the command of the first
	laterAt      []origin // the others, in order
	urls         []string // see schemes
	urlsKnown    bool
}

// origin is a command that names inputs.
type origin struct {
	given
	begin int // its first input
}

// at returns the command that names an input.
func (t *transfers) at(input int) given {
	g := t.inputsAt
	for _, o := range t.laterAt {
		if o.begin <= input {
			g = o.given
		}
	}
	return g
}

// happens reports whether the job runs in a scratch directory.
func (t *transfers) happens() bool {
	return t.should == transferYes || t.should == transferIfNeeded && len(t.inputs)+len(t.outputs) > 0
}

const (
	transferYes      = "YES"
	transferNo       = "NO"
	transferIfNeeded = "IF_NEEDED"
	onExit           = "ON_EXIT"
	onExitOrEvict    = "ON_EXIT_OR_EVICT"
	onSuccess        = "ON_SUCCESS"
	neverOutput      = "NEVER"

	wantedTransfer = "YES, NO, IF_NEEDED"
)

// What the words of two commands mean; HTCondor knows several for each value.
var (
	shouldTransfer = map[string]string{
		"YES": transferYes, "TRUE": transferYes, "ALWAYS": transferYes,
		"NO": transferNo, "FALSE": transferNo, "NEVER": transferNo,
		"IF_NEEDED": transferIfNeeded, "AUTO": transferIfNeeded,
	}
	whenToTransfer = map[string]string{
		"ON_EXIT": onExit, "ONEXIT": onExit, "ON_EXIT_OR_EVICT": onExitOrEvict, "ALWAYS": onExitOrEvict,
		"ON_SUCCESS": onSuccess, "ONSUCCESS": onSuccess, "NEVER": neverOutput, "NONE": neverOutput,
	}
)

// transfer sets what is copied, when, and under which names.
func (j *job) transfer() error {
	t, err := j.transfers()
	if err != nil {
		return err
	}
	j.setString(pool.AttrShouldTransfer, t.should)
	if t.should != transferNo {
		j.setString(pool.AttrWhenToTransferOutput, t.when)
		j.setFileLists(t)
	}
	if domain := j.options.FileSystemDomain; domain != "" && t.should != transferYes {
		j.setString(pool.AttrFileSystemDomain, domain)
	}
	if t.remaps != "" {
		j.setString(pool.AttrTransferOutputRemaps, t.remaps)
	}
	for _, work := range [...]func(*transfers) error{j.transferDoubts, j.otherTransfer} {
		if err := work(t); err != nil {
			return err
		}
	}
	return nil
}

// setFileLists sets the names of what is copied, with commas and no blanks
// between.
func (j *job) setFileLists(t *transfers) {
	if len(t.inputs) > 0 {
		j.setString(pool.AttrTransferInput, strings.Join(t.inputs, ","))
	}
	if len(t.public) > 0 {
		j.setString("PublicInputFiles", strings.Join(t.public, ","))
	}
	if len(t.common) > 0 {
		j.setString("CommonInputFiles", strings.Join(t.common, ","))
	}
	if t.listed {
		j.setString(pool.AttrTransferOutput, strings.Join(t.outputs, ","))
	}
	if schemes := t.schemes(); len(schemes) > 0 {
		j.setString("WantTransferPluginMethods", strings.Join(schemes, ","))
	}
}

// transfers reads what the commands say of the transfer of files, and refuses
// what contradicts itself.
func (j *job) transfers() (*transfers, error) {
	s := &j.steady
	if !s.begun {
		s.begun, s.first = true, j.Proc()
	}
	if s.files != nil && s.proc == j.Proc() {
		return s.files, nil
	}
	t, err := s.transfers.get(j, j.readTransfers)
	// On the first proc every part has to ask by itself, or it would not be known
	// what it depends on.
	if err == nil && j.Proc() != s.first {
		s.files, s.proc = t, j.Proc()
	}
	return t, err
}

func (j *job) readTransfers() (*transfers, error) {
	t := &transfers{}
	var err error
	if _, err = j.moreInputs(t, "transfer_input_files"); err != nil {
		return nil, err
	}
	if t.public, err = j.moreInputs(t, "public_input_files"); err != nil {
		return nil, err
	}
	if t.common, err = j.moreInputs(t, "transfer_common_input"); err != nil {
		return nil, err
	}
	if err := j.imageInput(t); err != nil {
		return nil, err
	}
	var outputsAt given
	if t.outputs, outputsAt, t.listed, err = j.fileList("transfer_output_files"); err != nil {
		return nil, err
	}
	if err := j.transferPolicy(t, outputsAt); err != nil {
		return nil, err
	}
	if err := j.javaInputs(t); err != nil {
		return nil, err
	}
	if err := j.destination(t); err != nil {
		return nil, err
	}
	t.remaps, err = j.remaps()
	return t, err
}

// moreInputs adds the files that a command names to the inputs, and returns them.
func (j *job) moreInputs(t *transfers, command string) ([]string, error) {
	names, g, _, err := j.fileList(command)
	t.add(g, names...)
	return names, err
}

// add adds inputs that the command of g names.
func (t *transfers) add(g given, names ...string) {
	switch {
	case len(names) == 0:
	case len(t.inputs) == 0:
		t.inputs, t.inputsAt = names, g
	default:
		t.laterAt = append(t.laterAt, origin{g, len(t.inputs)})
		t.inputs = append(t.inputs, names...)
	}
}

// fileList returns the names of a list with commas. Two double quotes are an
// empty list that was given.
func (j *job) fileList(command string) (names []string, g given, ok bool, err error) {
	g, ok, err = j.command(command)
	if err != nil || !ok {
		return nil, g, false, err
	}
	for name := range strings.SplitSeq(unquoted(g.Text), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names, g, len(names) > 0 || g.Text == `""`, nil
}

// transferPolicy reads whether and when files are copied.
func (j *job) transferPolicy(t *transfers, outputsAt given) error {
	should, hasShould, err := j.word("should_transfer_files", shouldTransfer, wantedTransfer)
	if err != nil {
		return err
	}
	when, hasWhen, err := j.word("when_to_transfer_output", whenToTransfer, "ON_EXIT, ON_EXIT_OR_EVICT, ON_SUCCESS")
	if err != nil {
		return err
	}
	t.should, t.when = should.Text, when.Text
	if !hasShould {
		t.should = transferIfNeeded
		if t.when == onExitOrEvict {
			t.should = transferYes // as HTCondor reads it
		}
	}
	if !hasWhen {
		t.when = onExit
	}
	switch {
	case t.should == transferNo && len(t.inputs) > 0:
		return j.refuse(t.at(0), "excludes should_transfer_files = %s, by which no files are transferred", t.should)
	case t.should == transferNo && t.listed:
		return j.refuse(outputsAt, "excludes should_transfer_files = %s, by which no files are transferred", t.should)
	case t.should == transferNo && hasWhen && t.when != neverOutput:
		return j.refuse(when, "%s: excludes should_transfer_files = %s, by which no files are transferred", t.when, t.should)
	case t.should == transferYes && t.when == neverOutput:
		j.caution(when, "%s: is ON_EXIT beside should_transfer_files = YES; write transfer_output_files = \"\" for no output", t.when)
		t.when = onExit
	case t.should != transferNo && t.when == neverOutput:
		return j.refuse(when, "%s: wants should_transfer_files = NO beside it", t.when)
	case t.should == transferIfNeeded && t.when == onExitOrEvict:
		return j.refuse(when, "%s: wants should_transfer_files = YES, since IF_NEEDED may leave the files where they are", t.when)
	}
	return nil
}

// word returns a command's value in the spelling that words has for it.
func (j *job) word(command string, words map[string]string, wanted string) (g given, ok bool, err error) {
	g, ok, err = j.command(command)
	if !ok || err != nil {
		return given{}, false, err
	}
	value, known := words[strings.ToUpper(unquoted(g.Text))]
	if !known {
		return given{}, false, j.refuse(g, "%q: want one of %s", submitfile.Shorten(g.Text), wanted)
	}
	g.Text = value
	return g, true, nil
}

// destination reads where all output goes instead of back: a URL.
func (j *job) destination(t *transfers) error {
	g, ok, err := j.command("output_destination")
	if !ok || err != nil {
		return err
	}
	if t.destination = unquoted(g.Text); scheme(t.destination) == "" {
		return j.refuse(g, "%q: want a URL", submitfile.Shorten(g.Text))
	}
	return nil
}

// remaps returns the new names of outputs, NAME = NEWNAME with semicolons between.
func (j *job) remaps() (string, error) {
	g, ok, err := j.command("transfer_output_remaps")
	if !ok || err != nil {
		return "", err
	}
	text := strings.TrimSpace(unquoted(g.Text))
	for _, remap := range splitEscaped(text, ';') {
		sides := splitEscaped(remap, '=')
		if strings.TrimSpace(remap) == "" {
			continue
		}
		if len(sides) < 2 || strings.TrimSpace(sides[0]) == "" || strings.TrimSpace(sides[1]) == "" {
			return "", j.refuse(g, `%q: want "NAME = NEWNAME; NAME = NEWNAME"`, submitfile.Shorten(strings.TrimSpace(remap)))
		}
	}
	return text, nil
}

// splitEscaped splits a text at a byte, unless a backslash stands before it.
func splitEscaped(text string, at byte) []string {
	var out []string
	begin := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case at:
			out = append(out, text[begin:i])
			begin = i + 1
		}
	}
	return append(out, text[begin:])
}
