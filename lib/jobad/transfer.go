package jobad

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fairspool/lib/caseless"
	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/submitfile"
)

// transfers is a description's request for copying files to the job's scratch directory
// and back.
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

// The meanings of two commands' words; HTCondor knows several words for each value.
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

// transfer sets which files are copied, when, and under which names.
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

// setFileLists sets the names of copied files, with commas and no blanks between.
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

// transfers reads the commands about the transfer of files, and refuses contradictions.
func (j *job) transfers() (*transfers, error) {
	s := &j.steady
	if !s.begun {
		s.begun, s.first = true, j.Proc()
	}
	if s.files != nil && s.proc == j.Proc() {
		return s.files, nil
	}
	t, err := s.transfers.get(j, j.readTransfers)
	// On the first proc every part has to ask by itself, as its dependencies are recorded
	// then.
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

// transferDoubts warns of accepted requests that this pool cannot serve.
func (j *job) transferDoubts(t *transfers) error {
	if urls := t.schemes(); len(urls) > 0 && j.warn != nil {
		g, err := j.urlCommand(t)
		if err != nil {
			return err
		}
		j.caution(g, "fairspool's starter copies files of this machine only: the job waits for a slot whose HasFileTransferPluginMethods has %s", strings.Join(urls, ", "))
	}
	if t.remaps != "" && !t.happens() {
		g, _, err := j.command("transfer_output_remaps")
		if err != nil {
			return err
		}
		j.caution(g, "has no effect: no files are transferred")
	}
	return j.noCopy()
}

// urlCommand returns the first command that names a URL.
func (j *job) urlCommand(t *transfers) (given, error) {
	for i, name := range t.inputs {
		if !isLocal(name) {
			return t.at(i), nil
		}
	}
	command := "transfer_output_remaps"
	if t.destination != "" {
		command = "output_destination"
	}
	g, _, err := j.command(command)
	return g, err
}

// noCopy warns if a copy of the executable is wanted: an executable that is changed
// before the job starts is not the one that was submitted.
func (j *job) noCopy() error {
	copies, err := j.boolean("copy_to_spool", false)
	if err != nil || !copies {
		return err
	}
	g, _, err := j.command("copy_to_spool")
	j.caution(g, "no copy is kept: the executable is run in its place, as it is when the job starts")
	return err
}

// standardTransfer sets what becomes of the standard files, as HTCondor writes
// it: Stream for a file that counts as transferred, else Transfer, false.
func (j *job) standardTransfer() error {
	for _, f := range [...]struct{ file, transfer, transferAttr, stream, streamAttr string }{
		{"input", "transfer_input", "TransferIn", "stream_input", "StreamIn"},
		{"output", "transfer_output", "TransferOut", "stream_output", "StreamOut"},
		{"error", "transfer_error", "TransferErr", "stream_error", "StreamErr"},
	} {
		g, ok, err := j.command(f.file)
		if err != nil {
			return err
		}
		transferred, err := j.boolean(f.transfer, true)
		if err != nil {
			return err
		}
		streamed, err := j.boolean(f.stream, false)
		if err != nil {
			return err
		}
		if !ok || unquotedPath(g.Text) == "/dev/null" || !transferred {
			j.setExpr(f.transferAttr, "false")
			continue
		}
		j.setBool(f.streamAttr, streamed)
	}
	return nil
}

// checkpoint sets what tools read of a job that says by its exit code that it has written
// a checkpoint: HTCondor's name for the code, and that files are stored then.
func (j *job) checkpoint() error {
	g, ok, err := j.command("checkpoint_exit_code")
	if err != nil {
		return err
	}
	if ok {
		n, err := j.integer(g, false)
		if err != nil {
			return err
		}
		j.setExpr(pool.AttrSuccessCkptCode, strconv.FormatInt(n, 10))
	}
	if ok || j.overrides[strings.ToLower(pool.AttrCheckpointExitCode)] || j.overrides[strings.ToLower(pool.AttrSuccessCkptCode)] {
		j.setExpr(pool.AttrWantFTOnCheckpoint, "true")
	}
	return nil
}

// setBool sets an attribute to a truth value.
func (j *job) setBool(attr string, yes bool) {
	if yes {
		j.setExpr(attr, "true")
	} else {
		j.setExpr(attr, "false")
	}
}

// otherTransfer sets what only the ad keeps.
func (j *job) otherTransfer(t *transfers) error {
	if t.destination != "" {
		j.setString(pool.AttrOutputDestination, t.destination)
	}
	for _, c := range [...]struct{ command, attr string }{
		{"output_directory", "OutputDirectory"}, {"transfer_plugins", "TransferPlugins"},
	} {
		if err := j.text(c.command, c.attr); err != nil {
			return err
		}
	}
	for _, c := range [...]struct{ command, attr string }{
		{"preserve_relative_paths", pool.AttrPreserveRelativePaths}, {"encrypt_execute_directory", "EncryptExecuteDirectory"},
	} {
		if err := j.flag(c.command, c.attr); err != nil {
			return err
		}
	}
	return j.lacking()
}

// lacking warns of abilities that fairspool's own starter does not have.
func (j *job) lacking() error {
	for _, c := range [...]struct{ command, offer string }{
		{"encrypt_execute_directory", "HasEncryptExecuteDirectory"}, {"transfer_plugins", "HasJobTransferPlugins"},
	} {
		g, ok, err := j.command(c.command)
		if err != nil {
			return err
		}
		if no, isTruth := truth(g.Text); ok && !(isTruth && !no) {
			j.caution(g, "fairspool's starter has no such thing: the job waits for a slot with %s", c.offer)
		}
	}
	return nil
}

// flag sets an attribute to a command's truth, if it is given.
func (j *job) flag(command, attr string) error {
	_, ok, err := j.command(command)
	if !ok || err != nil {
		return err
	}
	yes, err := j.boolean(command, false)
	if err != nil {
		return err
	}
	j.setBool(attr, yes)
	return nil
}

// scheme returns the scheme of a URL as HTCondor tells plugins by it: what stands
// behind the last sign in it, as s3 in handle+s3://bucket. Empty: it is no URL.
func scheme(name string) string {
	text, _, ok := strings.Cut(name, "://")
	if !ok || text == "" || !letter(text[0]) {
		return ""
	}
	for i := range len(text) {
		if c := text[i]; !letter(c) && (c < '0' || c > '9') && strings.IndexByte("+-.", c) < 0 {
			return ""
		}
	}
	return text[strings.LastIndexAny(text, "+-.")+1:]
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isLocal reports whether a name is of a file on this machine, as a path or as
// file:///path.
func isLocal(name string) bool { return scheme(name) == "" || strings.HasPrefix(name, "file:///") }

// schemes returns the kinds of URLs that the job's files come from or go to, in
// order and each once. The list is shared.
func (t *transfers) schemes() []string {
	if !t.urlsKnown {
		t.urls, t.urlsKnown = t.readSchemes(), true
	}
	return t.urls
}

func (t *transfers) readSchemes() []string {
	var out []string
	var last string // they often come in a row
	known := map[string]bool{}
	add := func(name string) {
		s := scheme(name)
		if s == last {
			return
		}
		last = s
		if key := strings.ToLower(s); s != "" && !known[key] {
			known[key] = true
			out = append(out, s)
		}
	}
	for _, name := range t.inputs {
		if !strings.HasPrefix(name, "file:///") {
			add(name)
		}
	}
	add(t.destination)
	if t.remaps == "" {
		return sorted(out)
	}
	for _, remap := range splitEscaped(t.remaps, ';') {
		if sides := splitEscaped(remap, '='); len(sides) > 1 {
			add(strings.TrimSpace(strings.Join(sides[1:], "=")))
		}
	}
	return sorted(out)
}

// sorted sorts names without regard to case.
func sorted(names []string) []string {
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return names
}

// sameFiles and copiedFiles are the requirements on slots for jobs whose files stay where
// they are, and for jobs whose files are copied.
var (
	sameFiles   = clause{"(TARGET.FileSystemDomain == MY.FileSystemDomain)", []string{pool.AttrFileSystemDomain}, true}
	copiedFiles = clause{text: "(TARGET.HasFileTransfer =!= false)", offers: []string{pool.AttrHasFileTransfer, "HasJobTransferPlugins"}}
)

// transferClause returns the requirement on a slot for the job's files; an empty text
// means no requirement.
func (j *job) transferClause() (clause, error) {
	t, err := j.transfers()
	if err != nil {
		return clause{}, err
	}
	if t.should == transferNo {
		return sameFiles, nil
	}
	by, err := j.steady.plugins.get(j, j.carriers)
	if err != nil {
		return clause{}, err
	}
	schemes := t.schemes()
	if by.own {
		schemes = slices.DeleteFunc(slices.Clone(schemes), func(s string) bool { return caseless.Contains(by.schemes, s) })
	}
	if !t.happens() && len(schemes) == 0 && !by.own {
		return clause{}, nil
	}
	return by.clause(schemes), nil
}

// carriers are the means, besides fairspool's starter, that carry a job's files.
type carriers struct {
	own       bool     // the job brings plugins along
	schemes   []string // for these kinds of URLs
	encrypted bool     // some files are to be encrypted on their way
}

func (j *job) carriers() (c carriers, err error) {
	plugins, brings, err := j.command("transfer_plugins")
	if err != nil {
		return c, err
	}
	if c.own = brings; brings {
		c.schemes = pluginSchemes(plugins.Text)
	}
	c.encrypted, err = j.encrypts()
	return c, err
}

// clause returns the requirement on a slot for a transfer by these carriers, and by the
// slot's own plugins for some kinds of URLs.
func (c carriers) clause(schemes []string) clause {
	if !c.own && !c.encrypted && len(schemes) == 0 {
		return copiedFiles // as nearly always
	}
	terms := []string{"TARGET.HasFileTransfer =!= false"}
	if c.own {
		terms[0] = "TARGET.HasJobTransferPlugins"
	}
	if c.encrypted {
		terms = append(terms, "TARGET.HasPerFileEncryption =!= false")
	}
	for _, s := range schemes {
		terms = append(terms, "stringListIMember("+classad.Quoted(s)+",TARGET.HasFileTransferPluginMethods)")
	}
	return clause{text: "(" + strings.Join(terms, " && ") + ")", offers: copiedFiles.offers}
}

// pluginSchemes returns the kinds of URLs of plugins that the job brings along, as
// in "tar = mytar; http, https = myhttp".
func pluginSchemes(text string) []string {
	var out []string
	for plugin := range strings.SplitSeq(text, ";") {
		names, _, ok := strings.Cut(plugin, "=")
		if ok {
			out = append(out, strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
	}
	return out
}

// encrypts reports whether the description says which files are to be encrypted on
// their way.
func (j *job) encrypts() (bool, error) {
	for _, command := range [...]string{
		"encrypt_input_files", "encrypt_output_files", "dont_encrypt_input_files", "dont_encrypt_output_files",
	} {
		if _, ok, err := j.command(command); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
