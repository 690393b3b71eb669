package negotiate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/door"
	"fairspool/cmd/internal/drain"
	"fairspool/cmd/internal/prio"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qhold"
	"fairspool/cmd/internal/qrls"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
	"fairspool/lib/classad"
	"fairspool/lib/lifecycle"
	"fairspool/lib/nearest"
	"fairspool/lib/pool"
	"fairspool/lib/report/cycle"
	"fairspool/spool"
)

// change is one -what-if.
type change struct {
	text  string // as written
	kind  string // such as "config"
	trial *cmdline.Trial
	apply func(*world) error // instead of a trial: what no command does
}

// changeKind is a kind of change, with the command that makes it in the spool.
type changeKind struct {
	name, example string
	command       func() cmdline.Command // nil: none
	// own reads the words behind the name of a change that the command does not know; it returns nil, nil
	// for one that is the command's, as do all where own is nil. It fails as a wrong use.
	own func(words []string) (apply func(*world) error, err error)
}

// changeKinds are all kinds, in the order of the manual page.
func changeKinds() []changeKind {
	return []changeKind{
		{"userprio", "userprio -setfactor alice@example.org 2", accounts, nil},
		{"config", "config GROUP_QUOTA_physics=30", nil, readConfig},
		{"slots", "slots add 10 like slot1@node1", slots.Command, readSlots},
		{"submit", "submit 100 like 12.0", submit.Command, readSubmit},
		{"prio", "prio +5 12", prio.Command, nil},
		{"qdel", "qdel 12", qdel.Command, nil},
		{"qhold", "qhold 12", qhold.Command, nil},
		{"qrls", "qrls 12", qrls.Command, nil},
		{"starter", "starter -drain", drain.Command, nil},
	}
}

// accounts is userprio without its pictures.
func accounts() cmdline.Command { return userprio.Command(nil) }

// examplesOfChanges returns an example of each kind.
func examplesOfChanges() string {
	var list []string
	for _, k := range changeKinds() {
		list = append(list, "'"+k.example+"'")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// readChanges reads what -what-if says, in order.
func readChanges(c *cmdline.Call) ([]change, error) {
	var changes []change
	for i, args := range c.Repeated("what-if") {
		ch, err := readChange(args[0])
		if err == nil && ch.trial != nil {
			ch.trial.Place = i
			var call *cmdline.Call
			switch call, err = ch.trial.Call(c); {
			case err != nil:
			case call.Has("dry-run"):
				err = cmdline.Usagef("-dry-run: changes nothing, so there is nothing to try")
			case call.Name == "userprio" && !userprio.Changes(call):
				err = cmdline.Usagef("want an edit, like -setfactor alice@example.org 2")
			}
		}
		if err != nil {
			return nil, ofChange(args[0], err)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// ofChange says which change an error is about.
func ofChange(text string, err error) error { return fmt.Errorf("-what-if '%s': %w", text, err) }

func readChange(text string) (ch change, err error) {
	ch.text = text
	words, err := split(text)
	if err != nil {
		return ch, cmdline.Usagef("%v", err)
	}
	if len(words) == 0 {
		return ch, cmdline.Usagef("want a change, like %s", examplesOfChanges())
	}
	kinds := changeKinds()
	i := slices.IndexFunc(kinds, func(k changeKind) bool { return k.name == words[0] })
	if i < 0 {
		return ch, unknownChange(words[0], kinds)
	}
	k, words := kinds[i], words[1:]
	ch.kind = k.name
	if k.own != nil {
		if ch.apply, err = k.own(words); err != nil || ch.apply != nil {
			return ch, err
		}
	}
	// What jobs may ask for is their submitter's right; all else may be tried by any user.
	ch.trial = &cmdline.Trial{Command: k.command(), Words: words, What: "-what-if '" + text + "'", Admin: k.name != "submit"}
	return ch, nil
}

// unknownChange proposes the kind of change that was probably meant.
func unknownChange(word string, kinds []changeKind) error {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	near, ok := nearest.Name(word, names)
	if !ok {
		return cmdline.Usagef("%s: unknown change: want one like %s", word, examplesOfChanges())
	}
	return cmdline.Usagef("%s: unknown change; did you mean %s, as in '%s'?", word, near, kinds[slices.Index(names, near)].example)
}

// before reads the inputs of changes that only the caller may read, such as the
// descriptions of jobs.
func before(c *cmdline.Call) (func() (door.Answer, error), error) {
	changes, err := readChanges(c)
	if err != nil {
		return nil, err
	}
	var trials []cmdline.Trial
	for _, ch := range changes {
		if ch.trial != nil {
			trials = append(trials, *ch.trial)
		}
	}
	return cmdline.BeforeTrials(c, trials)
}

// split returns the words of a text as a shell does: blanks part them; within
// single quotes all is as it stands, within double quotes a backslash makes the next
// double quote or backslash a plain one, and elsewhere any next character.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\n", b) >= 0:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
			continue
		case quote == 0 && (b == '\'' || b == '"'):
			quote = b
		case quote != 0 && b == quote:
			quote = 0
		case b == '\\' && quote != '\'' && i+1 < len(text) && (quote == 0 || strings.IndexByte(`"\`, text[i+1]) >= 0):
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(b)
		}
		begun = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// world is where -what-if makes its changes: a fork of the spool, and a configuration.
type world struct {
	*cmdline.Call
	fork *spool.Spool
}

// newWorld returns a world that begins as a view.
func newWorld(c *cmdline.Call, v *spool.View) *world {
	call, config := *c, *c.Config
	call.Config = &config
	return &world{&call, v.Fork()}
}

// update makes in the world the change that a command makes in the spool.
func (w *world) update(do func(*spool.Tx) error) error {
	return w.fork.Update(func(tx *spool.Tx) error {
		tx.Op("what if")
		return do(tx)
	})
}

// make makes a change.
func (w *world) make(ch change) error {
	if ch.trial == nil {
		return ch.apply(w)
	}
	leaving := map[pool.JobID]bool{}
	if err := w.fork.View(func(v *spool.View) error {
		for _, c := range v.Claims() {
			leaving[c.Job] = c.State == pool.Vacating
		}
		return nil
	}); err != nil {
		return err
	}
	said, err := ch.trial.Run(w.Call, w.fork, w.Config)
	if errors.Is(err, cmdline.ErrReported) && len(said) > 0 {
		last := len(said) - 1
		said, err = said[:last], errors.New(said[last])
	}
	for _, line := range said {
		line, doubt := strings.CutPrefix(line, "warning: ")
		w.Warn("%s-what-if '%s': %s", map[bool]string{true: "warning: "}[doubt], ch.text, line)
	}
	if err != nil {
		return err
	}
	return w.update(func(tx *spool.Tx) error {
		for _, c := range tx.Claims() {
			if c.State != pool.Vacating || leaving[c.Job] {
				continue
			}
			// Claims that have to leave their slots for the change end at once.
			if err := lifecycle.Finish(tx, c.Job, c.Attempt, w.Now, pool.Ending{Lost: "what if"}, w.Config.Params); err != nil {
				return err
			}
		}
		return nil
	})
}

// readConfig reads settings: `GROUP_QUOTA_physics=30`.
func readConfig(words []string) (func(*world) error, error) {
	if len(words) == 0 {
		return nil, cmdline.Usagef("want settings, like GROUP_QUOTA_physics=30")
	}
	for _, word := range words {
		if key, _, ok := strings.Cut(word, "="); !ok || key == "" {
			return nil, cmdline.Usagef("%s: want a setting, KEY=VALUE", word)
		}
	}
	return func(w *world) error { return w.configure(words) }, nil
}

// configure changes the configuration. Records and claims follow groups that are other ones then.
func (w *world) configure(with []string) error {
	changed, err := w.Config.With(with)
	if err != nil {
		return err
	}
	if _, err := lifecycle.CycleConfig(&changed); err != nil {
		return err
	}
	*w.Config = changed
	return w.update(func(tx *spool.Tx) error {
		lifecycle.Respell(tx, w.Now, w.Config.Params)
		return nil
	})
}

// maxNew bounds how many jobs or slots a change may add.
const maxNew = 1_000_000

// readSubmit reads jobs that are added: `100 like 12.0`.
func readSubmit(words []string) (func(*world) error, error) {
	if len(words) != 3 || words[1] != "like" {
		return nil, nil
	}
	n, err := count(words[0])
	if err != nil {
		return nil, err
	}
	id, whole, err := cycle.ReadJob(words[2])
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	return func(w *world) error {
		return w.update(func(tx *spool.Tx) error {
			if cluster, ok := tx.Cluster(id.Cluster); ok && whole {
				id.Proc = cluster.Runs[0].First
			}
			old, ok := tx.Job(id)
			if !ok {
				return fmt.Errorf("%s: not in the queue", words[2])
			}
			tx.AddCluster(anew(old, w.Now.Unix()), []spool.NewRun{{Count: n}})
			return nil
		})
	}, nil
}

// count reads a number of jobs or slots to add.
func count(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxNew {
		return 0, cmdline.Usagef("%q: want a whole number from 1 to %d", word, maxNew)
	}
	return n, nil
}

// ofItsPast are the attributes of a job's ad that tell what became of it so far. How large
// it was found to be (ImageSize, DiskUsage) is not among them: requests may refer to it, and
// the description may have set it.
var ofItsPast = []string{
	pool.AttrLastJobStatus, pool.AttrRemoteHost, pool.AttrRemoteSlotID, pool.AttrLastRemoteHost, pool.AttrCurrentHosts,
	pool.AttrNumJobMatches, pool.AttrLastMatchTime, pool.AttrNumShadowStarts, pool.AttrJobRunCount, pool.AttrNumJobStarts,
	pool.AttrJobStartDate, pool.AttrCurrentStartDate, pool.AttrLastStartDate, pool.AttrExecutingDate, pool.AttrShadowBday,
	pool.AttrWallClock, pool.AttrWallClockCkpt, pool.AttrLastWallClock, pool.AttrCumulativeSlot, pool.AttrCommittedTime,
	pool.AttrCommittedSlotTime, pool.AttrWastedTime, pool.AttrUserCPU, pool.AttrSysCPU, pool.AttrCpusUsage,
	pool.AttrResidentSetSize, pool.AttrMemoryUsage, pool.AttrBytesSent, pool.AttrBytesRecvd, pool.AttrTickets,
	pool.AttrMemoryLimitedBy, pool.AttrDiskLimitedBy, pool.AttrNumCkpts, pool.AttrLastCkptTime,
	pool.AttrExitBySignal, pool.AttrExitCode, pool.AttrExitSignal, pool.AttrNumCompletions, pool.AttrCompletionDate,
	pool.AttrRemoveReason, pool.AttrHoldReason, pool.AttrHoldReasonCode, pool.AttrHoldReasonSubCode,
	pool.AttrLastHoldReason, pool.AttrLastHoldReasonCode, pool.AttrLastHoldReasonSubCode, pool.AttrReleaseReason,
	pool.AttrNumHolds, pool.AttrNumSystemHolds, pool.AttrVacateReason, pool.AttrVacateReasonCode, pool.AttrVacateReasonSub,
	pool.AttrLastVacateTime, pool.AttrEligibleSince, pool.AttrBypassCount, pool.AttrSystemPriority,
}

// ofItsSlots reports whether a job's ad has the attribute from slots that the job had.
func ofItsSlots(name string) bool {
	last := name[len(name)-1]
	return strings.HasPrefix(name, "MATCH_") || strings.HasPrefix(name, "MachineAttr") && last >= '0' && last <= '9'
}

// anew returns the ad of a job as it would be submitted now.
func anew(old *classad.Ad, now int64) *classad.Ad {
	ad := old.Flat().Clone()
	for _, name := range append(ad.OwnNames(), ofItsPast...) {
		if slices.Contains(ofItsPast, name) || ofItsSlots(name) {
			ad.Delete(name)
		}
	}
	ad.Delete(pool.AttrClusterID)
	ad.Delete(pool.AttrProcID)
	ad.SetInt(pool.AttrJobStatus, int64(pool.Idle))
	ad.SetInt(pool.AttrQDate, now)
	ad.SetInt(pool.AttrEnteredStatus, now)
	return ad
}

// readSlots reads slots that are added, `add 10 like slot1@node`, or changed.
func readSlots(words []string) (func(*world) error, error) {
	switch {
	case len(words) == 4 && words[0] == "add" && words[2] == "like":
		n, err := count(words[1])
		return func(w *world) error { return w.addSlots(n, words[3]) }, err
	case len(words) > 2 && words[0] == "set":
		settings, err := readAttributes(words[2:])
		return func(w *world) error { return w.setSlot(words[1], settings) }, err
	case len(words) > 0 && slices.Contains([]string{"advertise", "withdraw", "reserve", "detect"}, words[0]):
		return nil, nil
	}
	return nil, cmdline.Usagef("want one of: add N like NAME; withdraw NAME...; set NAME ATTRIBUTE=EXPRESSION...; advertise FILE...; reserve -start TIME -end TIME CONSTRAINT; detect")
}

// attribute is an attribute of an ad, with its new value.
type attribute struct {
	name string
	to   *classad.Expr
}

func readAttributes(words []string) ([]attribute, error) {
	var list []attribute
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok || !isName(name) {
			return nil, cmdline.Usagef("%s: want ATTRIBUTE=EXPRESSION", word)
		}
		if strings.EqualFold(name, pool.AttrName) {
			return nil, cmdline.Usagef("%s: the name of a slot cannot change", word)
		}
		e, err := classad.ParseExpr(text)
		if err != nil {
			return nil, cmdline.Usagef("%s: %v", name, err)
		}
		list = append(list, attribute{name, e})
	}
	return list, nil
}

// isName reports whether a text can be the name of an attribute without quotes.
func isName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '_', c|0x20 >= 'a' && c|0x20 <= 'z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return text != ""
}

// advertised returns the slot of a name, or an error with the one that was probably meant.
func advertised(tx *spool.Tx, name string) (pool.Slot, error) {
	s, ok := tx.Advertised(name)
	if !ok {
		names := tx.SlotNames()
		slices.Sort(names)
		return s, fmt.Errorf("%s: no such slot%s", name, nearest.Hint(name, names))
	}
	return s, nil
}

// addSlots adds n slots with the ad of the one called name, free and under names of
// their own: what-if1-slot1@node and on, like slot1@node. Those come behind the others
// wherever names decide, so that nothing moves for the sake of a name.
func (w *world) addSlots(n int, name string) error {
	return w.update(func(tx *spool.Tx) error {
		s, err := advertised(tx, name)
		if err != nil {
			return err
		}
		ad := unclaimed(s.Ad, w.Now.Unix())
		for k := 1; n > 0; k++ {
			fresh := "what-if" + strconv.Itoa(k) + "-" + name
			if _, taken := tx.Advertised(fresh); taken {
				continue
			}
			ad.SetString(pool.AttrName, fresh)
			tx.PutSlot(fresh, ad)
			n--
		}
		return nil
	})
}

// ofHolder are the attributes of a slot's ad that tell of whoever holds it.
var ofHolder = []string{
	pool.AttrRemoteUser, pool.AttrRemoteOwner, pool.AttrAccountingGroup, "RemoteGroup", "RemoteNegotiatingGroup",
	"RemoteAutoregroup", "JobId", "GlobalJobId", "JobStart", "ClientMachine", "CurrentRank", "ConcurrencyLimits",
	"PreemptingUser", "PreemptingOwner", "PreemptingRank", "PreemptingConcurrencyLimits",
}

// unclaimed returns a slot's ad as the slot would be advertised now without a claim.
func unclaimed(ad *classad.Ad, now int64) *classad.Ad {
	ad = ad.Flat().Clone()
	for _, name := range ofHolder {
		ad.Delete(name)
	}
	if ad.Has(pool.AttrState) {
		ad.SetString(pool.AttrState, "Unclaimed")
	}
	if ad.Has(pool.AttrActivity) {
		ad.SetString(pool.AttrActivity, "Idle")
	}
	if ad.Has(pool.AttrLastHeardFrom) {
		ad.SetInt(pool.AttrLastHeardFrom, now)
	}
	return ad
}

// setSlot sets attributes of a slot's ad. It refuses a lone name that is no attribute of
// the slot: the value would be undefined, and is probably a text that lost its quotes to
// the shell.
func (w *world) setSlot(name string, settings []attribute) error {
	return w.update(func(tx *spool.Tx) error {
		s, err := advertised(tx, name)
		if err != nil {
			return err
		}
		ad := s.Ad.Clone()
		for _, a := range settings {
			if _, constant := a.to.Constant(); !constant && isName(a.to.String()) && !ad.Has(a.to.String()) {
				return fmt.Errorf("%s: the slot has no attribute %s; put a text in quotes: '%s=\"%s\"'", a.name, a.to, a.name, a.to)
			}
			ad.Set(a.name, a.to)
		}
		tx.PutSlot(name, ad)
		return nil
	})
}
