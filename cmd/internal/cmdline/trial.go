package cmdline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"fairspool/cmd/internal/door"
	"fairspool/lib/config"
	"fairspool/spool"
)

// Trial is a command that another one tries: it runs in a fork of the spool, and writes no file,
// prints nothing and starts nothing.
type Trial struct {
	Command
	Words []string // the command line without the command's name
	What  string   // as messages name it, such as -what-if 'qdel 12'
	// Admin lets it do what administrators may, whoever the caller is.
	Admin bool
	// Place tells it from other trials of the same command line.
	Place int
}

// Call returns the call that the trial makes in the place of the other command's, without a spool.
func (t Trial) Call(c *Call) (*Call, error) {
	t.Ends = c.around.ends(t.Ends, &c.ended)
	flags, args, behind, err := t.tokens(t.Words)
	if err == nil {
		err = t.once(flags)
	}
	if err != nil {
		return nil, err
	}
	call := *c
	call.Name, call.Args, call.CommandLine, call.number, call.flags = t.Name, args, behind, t.Number, map[string][]occurrence{}
	call.Trial, call.Stdout, call.spool, call.ahead = &t, io.Discard, nil, 0
	for _, o := range flags {
		if slices.ContainsFunc(common, func(f Flag) bool { return f.Name == o.flag.Name }) {
			return nil, Usagef("-%s: not inside -what-if", o.flag.Name)
		}
		call.flags[o.flag.Name] = append(call.flags[o.flag.Name], o)
	}
	return &call, nil
}

// Run makes the call in a fork of the spool, under a configuration. It returns the lines that the command
// prints on standard error, and the command's error; ErrReported means that the lines say it.
func (t Trial) Run(c *Call, fork *spool.Spool, cfg *config.Config) (said []string, err error) {
	call, err := t.Call(c)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	call.Stderr, call.spool, call.Config = &text, fork, cfg
	err = t.perform(call)
	for line := range strings.Lines(text.String()) {
		said = append(said, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), t.Name+": "))
	}
	return said, err
}

// question is one that a trial asks the caller's end.
type question[Q any] struct {
	Place    int
	Question Q
}

// Of names the trial in an error.
func (t Trial) Of(err error) error { return fmt.Errorf("%s: %w", t.What, err) }

// BeforeTrials is Command.Before of a command that tries others. Their words may name files.
func BeforeTrials(c *Call, trials []Trial) (ready func() (door.Answer, error), err error) {
	readies := map[int]func() (door.Answer, error){}
	for _, t := range trials {
		call, err := t.Call(c)
		if err == nil && t.Before != nil {
			readies[t.Place], err = t.Before(call)
		}
		if err != nil {
			return nil, t.Of(err)
		}
		c.words = append(c.words, t.Words...)
	}
	return func() (door.Answer, error) {
		answers := map[int]door.Answer{}
		for _, t := range trials {
			if ready := readies[t.Place]; ready != nil {
				if answers[t.Place], err = ready(); err != nil {
					return nil, t.Of(err)
				}
			}
		}
		return func(text []byte) (any, error) {
			var q question[json.RawMessage]
			if err := json.Unmarshal(text, &q); err != nil {
				return nil, err
			}
			if answers[q.Place] == nil {
				return nil, fmt.Errorf("serve asks trial %d, which answers nothing", q.Place)
			}
			return answers[q.Place](q.Question)
		}, nil
	}, nil
}
