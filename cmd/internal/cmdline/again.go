package cmdline

import (
	"maps"
	"time"
)

// Again returns the call as it would be if it were made now: for a command that stays
// for long. The opened spool is the same, and goes on recording events under the time of
// before (spool.Spool.At).
func (c *Call) Again() *Call {
	again := *c
	now := c.Later()
	if !c.simulated {
		again.Now, again.up = readClocks()
		return &again
	}
	again.Now, again.up = now.Now, sinceBoot()
	again.handOn = maps.Clone(c.handOn)
	again.handOn["now"] = now.Now.Format(time.RFC3339Nano)
	return &again
}

// Reload returns the call with the configuration as it is by now. An error leaves all as
// it was.
func (c *Call) Reload() (*Call, error) {
	cfg, err := c.surroundings().loadConfig(c.handOn["config"])
	if err != nil {
		return nil, err
	}
	again := *c
	again.Config = &cfg
	return &again, nil
}

// Anew returns the call without the spool that it has opened, which stays the other's:
// for what is done beside it in the same process. Whoever asks it for its Spool closes
// that.
func (c *Call) Anew() *Call {
	again := *c
	again.spool = nil
	return &again
}
