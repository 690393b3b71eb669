// Package whatif makes the changes of -what-if in a fork of the spool: by the commands that make them for good, and a few that
// exist only there.
package whatif

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

// Change is one -what-if.
type Change struct {
	Text  string // as written
	Kind  string // such as "config"
	Undo  bool   // it takes back an edit, of which the spool's log tells
	trial *cmdline.Trial
	apply func(*World) error // instead of a trial: what no command does
}

// Kind is a kind of change, with the command that makes it in the spool.
type Kind struct {
	Name, Example string
	Command       func() cmdline.Command // nil: none
	Jobs          bool                   // it changes the queue
	// own reads the words behind the name of a change that the command does not know; it returns nil, nil
	// for one that is the command's, as do all where own is nil. It fails as a wrong use.
	own func(words []string) (apply func(*World) error, err error)
}

// Kinds are kinds of changes, in the order of the manual page.
type Kinds []Kind

// All returns all kinds.
func All() Kinds {
	return Kinds{
		{"userprio", "userprio -setfactor alice@example.org 2", accounts, false, nil},
		{"config", "config GROUP_QUOTA_physics=30", nil, false, readConfig},
		{"slots", "slots add 10 like slot1@node1", slots.Command, false, readSlots},
		{"submit", "submit 100 like 12.0", submit.Command, true, readSubmit},
		{"prio", "prio +5 12", prio.Command, true, nil},
		{"qdel", "qdel 12", qdel.Command, true, nil},
		{"qhold", "qhold 12", qhold.Command, true, nil},
		{"qrls", "qrls 12", qrls.Command, true, nil},
		{"starter", "starter -drain", drain.Command, false, nil},
	}
}

// OfPool returns those that change no jobs.
func OfPool() Kinds { return slices.DeleteFunc(All(), func(k Kind) bool { return k.Jobs }) }

// accounts is userprio without its pictures.
func accounts() cmdline.Command { return userprio.Command(nil) }

// Examples returns an example of each kind.
func (ks Kinds) Examples() string {
	var list []string
	for _, k := range ks {
		list = append(list, "'"+k.Example+"'")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// Read reads what -what-if says, in order.
func (ks Kinds) Read(c *cmdline.Call) ([]Change, error) {
	var changes []Change
	for i, args := range c.Repeated("what-if") {
		ch, err := ks.read(args[0])
		if err == nil && ch.trial != nil {
			ch.trial.Place = i
			var call *cmdline.Call
			switch call, err = ch.trial.Call(c); {
			case err != nil:
			case call.Has("dry-run"):
				err = cmdline.Usagef("-dry-run: changes nothing, so there is nothing to try")
			case call.Name == "userprio" && !userprio.Changes(call):
				err = cmdline.Usagef("want an edit, like -setfactor alice@example.org 2")
			default:
				ch.Undo = call.Has("undo")
			}
		}
		if err != nil {
			return nil, Change{Text: args[0]}.Of(err)
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// Of says that an error is about the change.
func (ch Change) Of(err error) error { return fmt.Errorf("-what-if '%s': %w", ch.Text, err) }

func (ks Kinds) read(text string) (ch Change, err error) {
	ch.Text = text
	words, err := Split(text)
	if err != nil {
		return ch, cmdline.Usagef("%v", err)
	}
	if len(words) == 0 {
		return ch, cmdline.Usagef("want a change, like %s", ks.Examples())
	}
	i := slices.IndexFunc(ks, func(k Kind) bool { return k.Name == words[0] })
	if i < 0 {
		return ch, ks.unknown(words[0])
	}
	k, words := ks[i], words[1:]
	ch.Kind = k.Name
	if k.own != nil {
		if ch.apply, err = k.own(words); err != nil || ch.apply != nil {
			return ch, err
		}
	}
	// What jobs may ask for is their submitter's right; all else may be tried by any user.
	ch.trial = &cmdline.Trial{Command: k.Command(), Words: words, What: "-what-if '" + text + "'", Admin: k.Name != "submit"}
	return ch, nil
}

// unknown says why there is no such kind, or proposes the one that was probably meant.
func (ks Kinds) unknown(word string) error {
	if slices.ContainsFunc(All(), func(k Kind) bool { return k.Name == word }) {
		return cmdline.Usagef("%s changes jobs, and there are none at the start: want a change like %s", word, ks.Examples())
	}
	var names []string
	for _, k := range ks {
		names = append(names, k.Name)
	}
	near, ok := nearest.Name(word, names)
	if !ok {
		return cmdline.Usagef("%s: unknown change: want one like %s", word, ks.Examples())
	}
	return cmdline.Usagef("%s: unknown change; did you mean %s, as in '%s'?", word, near, ks[slices.Index(names, near)].Example)
}

// Before reads the inputs of changes that only the caller may read, such as the
// descriptions of jobs.
func Before(c *cmdline.Call) (func() (door.Answer, error), error) {
	changes, err := All().Read(c)
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

// Split returns the words of a text as a shell does: blanks part them; within
// single quotes all is as it stands, within double quotes a backslash makes the next
// double quote or backslash a plain one, and elsewhere any next character.
func Split(text string) ([]string, error) {
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

// World is where -what-if makes its changes: a fork of the spool, and a configuration.
type World struct {
	*cmdline.Call
	Fork *spool.Spool
}

// NewWorld returns a world that begins as a fork, under the call's configuration.
func NewWorld(c *cmdline.Call, fork *spool.Spool) *World {
	call, config := *c, *c.Config
	call.Config = &config
	return &World{&call, fork}
}

// update makes in the world the change that a command makes in the spool.
func (w *World) update(do func(*spool.Tx) error) error {
	return w.Fork.Update(func(tx *spool.Tx) error {
		tx.Op("what if")
		return do(tx)
	})
}

// Make makes a change.
func (w *World) Make(ch Change) error {
	if ch.trial == nil {
		return ch.apply(w)
	}
	leaving := map[pool.JobID]bool{}
	if err := w.Fork.View(func(v *spool.View) error {
		for _, c := range v.Claims() {
			leaving[c.Job] = c.State == pool.Vacating
		}
		return nil
	}); err != nil {
		return err
	}
	said, err := ch.trial.Run(w.Call, w.Fork, w.Config)
	if errors.Is(err, cmdline.ErrReported) && len(said) > 0 {
		last := len(said) - 1
		said, err = said[:last], errors.New(said[last])
	}
	for _, line := range said {
		line, doubt := strings.CutPrefix(line, "warning: ")
		w.Warn("%s-what-if '%s': %s", map[bool]string{true: "warning: "}[doubt], ch.Text, line)
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
func readConfig(words []string) (func(*World) error, error) {
	if len(words) == 0 {
		return nil, cmdline.Usagef("want settings, like GROUP_QUOTA_physics=30")
	}
	for _, word := range words {
		if key, _, ok := strings.Cut(word, "="); !ok || key == "" {
			return nil, cmdline.Usagef("%s: want a setting, KEY=VALUE", word)
		}
	}
	return func(w *World) error { return w.configure(words) }, nil
}

// configure changes the configuration. Records and claims follow groups that are other ones then.
func (w *World) configure(with []string) error {
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
func readSubmit(words []string) (func(*World) error, error) {
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
	return func(w *World) error {
		return w.update(func(tx *spool.Tx) error {
			if cluster, ok := tx.Cluster(id.Cluster); ok && whole {
				id.Proc = cluster.Runs[0].First
			}
			old, ok := tx.Job(id)
			if !ok {
				return fmt.Errorf("%s: not in the queue", words[2])
			}
			tx.AddCluster(Anew(old, w.Now.Unix()), []spool.NewRun{{Count: n}})
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

// Anew returns the ad of a job as it would be submitted now.
func Anew(old *classad.Ad, now int64) *classad.Ad {
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
func readSlots(words []string) (func(*World) error, error) {
	switch {
	case len(words) == 4 && words[0] == "add" && words[2] == "like":
		n, err := count(words[1])
		return func(w *World) error { return w.addSlots(n, words[3]) }, err
	case len(words) > 2 && words[0] == "set":
		settings, err := readAttributes(words[2:])
		return func(w *World) error { return w.setSlot(words[1], settings) }, err
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
func (w *World) addSlots(n int, name string) error {
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
func (w *World) setSlot(name string, settings []attribute) error {
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
