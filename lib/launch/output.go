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

	"golang.org/x/sys/unix"
)

// Store copies the output of a job that has ended to where it belongs: what the
// job names, or else the files at the top of the scratch directory that are new
// or were changed. One that cannot be copied keeps no other from it; the error,
// a *StartError, tells of the first.
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

// wanted returns what is to be copied.
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
