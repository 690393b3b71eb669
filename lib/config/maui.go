package config

import (
	"fmt"
	"strconv"
	"strings"

	"fairspool/lib/accountant"
)

// MauiKeys is every key of the table [maui], in the order of the manual page:
// parameters of maui.cfg under their own names.
var MauiKeys = []Key{
	{Name: "FSINTERVAL", Kind: Time, Default: accountant.DefaultInterval.Seconds(), Unit: "s", Least: 1, Most: maxSeconds,
		Help: "How long each fair share window is. Windows are aligned to midnight UTC of 1 January 1970.",
		set:  func(c *Config, v any) { c.Maui.Windows.Interval = seconds(v) }},
	{Name: "FSDEPTH", Kind: Integer, Default: int64(accountant.DefaultDepth), Unit: "windows", Least: 1, Most: accountant.MaxDepth,
		Help: "How many windows are kept and count, the one that is not over yet among them.",
		set:  func(c *Config, v any) { c.Maui.Windows.Depth = int(v.(int64)) }},
	{Name: "FSDECAY", Kind: Real, Default: 1.0, Least: 0, Most: 1,
		Help: "What a window counts in comparison with the next newer one.",
		set:  func(c *Config, v any) { c.Maui.Windows.Decay = v.(float64) }},
}

// laterMaui tells of parameters of Maui's priorities and fair share that this
// version does not serve.
func laterMaui(name string) bool {
	for _, end := range []string{"WEIGHT", "CAP", "CFG"} {
		if strings.HasSuffix(name, end) && name == strings.ToUpper(name) {
			return true
		}
	}
	return words("FSPOLICY FSENFORCEMENT FSCONFIGFILE FSQOSTARGET XFMINWCLIMIT REJECTNEGPRIOJOBS ENABLENEGJOBPRIORITY ENABLEMULTIREQJOBS "+
		"JOBPRIOACCRUALPOLICY JOBPRIOF BACKFILLPOLICY BACKFILLDEPTH RESERVATIONPOLICY RESERVATIONDEPTH MAXJOB MAXPROC MAXPS MAXPE "+
		"MAXNODE MAXWC MAXMEM MAXIJOB MAXIPROC MAXIPS MAXIPE MAXINODE MAXIWC MAXIMEM", name)
}

// mauiTime reads a time as maui.cfg has it, seconds or [DD:]HH:MM:SS, in seconds.
// Fields may be above 59. Two fields are refused: Maui's manual takes them for
// minutes and seconds, Maui itself for hours and minutes.
func mauiTime(s string) (float64, error) {
	fields := strings.Split(s, ":")
	if len(fields) == 2 {
		return 0, fmt.Errorf("%q: minutes or hours? want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	}
	wrong := fmt.Errorf("%q: want seconds, HH:MM:SS or DD:HH:MM:SS", s)
	if len(fields) > 4 {
		return 0, wrong
	}
	units := []float64{1, 60, 3600, 86400}
	sum := 0.0
	for i, f := range fields {
		n, err := strconv.ParseUint(f, 10, 40)
		if err != nil {
			return 0, wrong
		}
		sum += float64(n) * units[len(fields)-1-i]
	}
	return sum, nil
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
