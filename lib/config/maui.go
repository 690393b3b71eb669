package config

import (
	"fmt"
	"slices"
	"strings"

	"fairspool/lib/accountant"
	"fairspool/lib/maui"
	"fairspool/lib/maui/mauicfg"
)

// MauiKeys is every key of the table [maui], in the order of the manual page, save those
// with somebody's name in them: parameters of maui.cfg under their own names. Those of
// maui.Parameters come last.
var MauiKeys = append([]Key{
	{Name: mauiFile, Kind: String, Default: "", check: fileName,
		Help: "A maui.cfg that is read first; what the table says counts for more. Relative to the folder of this file. Empty: none.",
		set:  func(c *Config, v any) { c.MauiFile = v.(string) }},
	{Name: mauiCompatibility, Kind: String, Default: "", Choices: []string{"", mauiVersion},
		Help: "Whether to do as Maui 3.3.1 did also where that contradicts its own manual.",
		set:  func(c *Config, v any) { c.Maui.Compatible = v == mauiVersion }},
	{Name: "XFMINWCLIMIT", Kind: Time, Default: 120.0, Unit: "s", Least: 0, Most: maxSeconds,
		Help: "The least time limit that the expansion factor divides by. 0: none.",
		set:  func(c *Config, v any) { c.Maui.XFMinWCLimit = seconds(v) }},
	{Name: "JOBPRIOACCRUALPOLICY", Kind: String, Default: "QUEUEPOLICY", Choices: mauiAccruals,
		Help: "Which time counts as waited: all; that in which no MAXIJOB and the like keeps the job out; that in which nothing does.",
		set:  func(c *Config, v any) { c.Maui.Accrual = maui.Accrual(slices.Index(mauiAccruals, v.(string))) }},
	{Name: "USESYSTEMQUEUETIME", Kind: Boolean, Default: true,
		Help: "Whether what JOBPRIOACCRUALPOLICY says counts. If false, all time since the job was submitted does.",
		set:  func(c *Config, v any) { c.Maui.UseSystemQueueTime = v.(bool) }},
	{Name: "ENABLENEGJOBPRIORITY", Kind: Boolean, Default: false,
		Help: "Whether priorities may be below 1.",
		set:  func(c *Config, v any) { c.Maui.EnableNegative = v.(bool) }},
	{Name: "REJECTNEGPRIOJOBS", Kind: Boolean, Default: false,
		Help: "Whether jobs of a priority below 0 are left out.",
		set:  func(c *Config, v any) { c.Maui.RejectNegative = v.(bool) }},
	{Name: "FSPOLICY", Kind: String, Default: "NONE", Choices: mauiPolicies(),
		Help: "What fair share compares: processors times time, processor equivalents times time, or processor time used; with % it compares by the ratio to the target.",
		set:  func(c *Config, v any) { c.setFSPolicy(v.(string)) }},
	{Name: "FSINTERVAL", Kind: Time, Default: accountant.DefaultInterval.Seconds(), Unit: "s", Least: 1, Most: maxSeconds,
		Help: "How long each fair share window is. Windows are aligned to midnight UTC of 1 January 1970.",
		set:  func(c *Config, v any) { c.Maui.Windows.Interval = seconds(v) }},
	{Name: "FSDEPTH", Kind: Integer, Default: int64(accountant.DefaultDepth), Unit: "windows", Least: 1, Most: accountant.MaxDepth,
		Help: "How many windows are kept and count, the one that is not over yet among them.",
		set:  func(c *Config, v any) { c.Maui.Windows.Depth = int(v.(int64)) }},
	{Name: "FSDECAY", Kind: Real, Default: 1.0, Least: 0, Most: 1,
		Help: "What a window counts in comparison with the next newer one.",
		set:  func(c *Config, v any) { c.Maui.Windows.Decay = v.(float64) }},
}, mauiWeights()...)

const (
	mauiFile          = "maui_cfg"
	mauiCompatibility = "COMPATIBILITY"
	mauiVersion       = "3.3.1"
)

// mauiAccruals are the values of JOBPRIOACCRUALPOLICY, by maui.Accrual.
var mauiAccruals = []string{"ALWAYS", "QUEUEPOLICY", "FULLPOLICY"}

// mauiShares are the words of FSPOLICY, by maui.FSPolicy.
var mauiShares = []string{"NONE", "DEDICATEDPS", "DEDICATEDPES", "UTILIZEDPS"}

// mauiPolicies are the values of FSPOLICY.
func mauiPolicies() []string {
	all := slices.Clone(mauiShares)
	for _, p := range mauiShares[1:] {
		all = append(all, p+"%")
	}
	return all
}

// setFSPolicy takes one of mauiPolicies.
func (c *Config) setFSPolicy(policy string) {
	word, ratio := strings.CutSuffix(policy, "%")
	c.Maui.FSPolicy, c.Maui.FSRatio = maui.FSPolicy(slices.Index(mauiShares, word)), ratio
}

// mauiTime reads a time as maui.cfg has it, seconds or [DD:]HH:MM:SS, in seconds.
// Fields may be above 59. Two fields are refused: Maui's manual takes them for
// minutes and seconds, Maui itself for hours and minutes.
func mauiTime(s string) (float64, error) {
	switch sum, fields, ok := mauicfg.Seconds(s); {
	case fields == 2:
		return 0, fmt.Errorf("%q: minutes or hours? want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	case !ok:
		return 0, fmt.Errorf("%q: want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	default:
		return sum, nil
	}
}

// timeValue returns the seconds that a key of kind Time is set to.
func (k Key) timeValue(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return k.number(v)
	}
	n, err := mauiTime(s)
	if err != nil {
		return nil, err
	}
	if _, err := k.number(n); err != nil {
		return nil, fmt.Errorf("%q: %w seconds", s, err)
	}
	return n, nil
}
