package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"fairspool/lib/asuser"
)

// criuCall is one run of the program.
type criuCall struct {
	verb string
	dir  string // of the images and the log; empty: there are none
	args []string
	mark string // is in its environment, and so in that of what it makes before that has its own
	in   Cell
}

// run runs the program and returns what it had to complain about. It is in our own session,
// by which a family tells that it is none of the job's; and it is killed when ctx ends,
// for it heeds no other signal.
func (c *Criu) run(ctx context.Context, call criuCall) (said string, err error) {
	if len(c.command) == 0 {
		return "", errNoCommand
	}
	args := append(c.command[1:len(c.command):len(c.command)], call.verb)
	if call.dir != "" {
		args = append(args, "--images-dir", call.dir, "--log-file", call.verb+".log")
	}
	args = append(args, call.args...)
	if os.Geteuid() != 0 {
		args = append(args, "--unprivileged")
	}
	cmd := exec.CommandContext(ctx, lookUp(c.command[0]), args...)
	cmd.Env = []string{"PATH=" + asuser.Path}
	if call.mark != "" {
		cmd.Env = append(cmd.Env, call.mark)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if call.in != nil {
		cmd.SysProcAttr.CgroupFD, cmd.SysProcAttr.UseCgroupFD = call.in.FD()
	}
	if call.dir != "" {
		err = toEnd(cmd)
		text, _ := os.ReadFile(filepath.Join(call.dir, call.verb+".log"))
		said = string(text)
	} else {
		said, err = output(cmd)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return said, err
}

var errNoCommand = errors.New("CHECKPOINT_COMMAND is empty")

// lookUp returns the path of a program: that of the system for root, whatever its PATH is; for
// others also where PATH, as that of cron, does not lead there.
func lookUp(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	if _, err := exec.LookPath(name); err == nil && !asuser.Privileged() {
		return name
	}
	if path, ok := asuser.Find(name); ok {
		return path
	}
	return name
}

// toEnd runs a command to its end, and is not forked under the limits of a job that is
// being started.
func toEnd(cmd *exec.Cmd) error {
	forking.RLock()
	err := cmd.Start()
	forking.RUnlock()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// output runs a command to its end, and returns the beginning of what it says. What it has
// started and left behind does not hold that up.
func output(cmd *exec.Cmd) (string, error) {
	var said beginning
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	err := toEnd(cmd)
	return string(said), err
}

// beginning keeps the first of what is written to it.
type beginning []byte

func (b *beginning) Write(p []byte) (int, error) {
	const most = 64 << 10
	*b = append(*b, p[:min(len(p), max(0, most-len(*b)))]...)
	return len(p), nil
}

// name is what the program is called in errors.
func (c *Criu) name() string { return filepath.Base(c.command[0]) }

// failed words the error of a run: with what the program itself says, if that is
// known.
func (c *Criu) failed(verb, said string, err error) error {
	var exit *exec.ExitError
	var path *exec.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoCommand):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w", c.name(), verb, err)
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", c.command[0], path.Err)
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", c.command[0], cause(err))
	}
	if why := complaint(said); why != "" {
		return fmt.Errorf("%s %s: %s", c.name(), verb, why)
	}
	return fmt.Errorf("%s %s: %w", c.name(), verb, exit)
}

// criuError is a line of the log that tells of an error, "(00.1) 12: Error (criu/f.c:3): why".
var criuError = regexp.MustCompile(`(?m)^.*?Error \([^)]*\): (.*)$`)

// criuUsage is what a version complains of that takes checkpoints
// by root only.
const criuUsage = "unrecognized option '--unprivileged'"

// complaint returns the first error of a log that tells why the rest failed, its last line
// if it tells of none.
func complaint(log string) string {
	if strings.Contains(log, criuUsage) {
		return "this version does that by root only"
	}
	for _, found := range criuError.FindAllStringSubmatch(log, -1) {
		why := strings.TrimSpace(found[1])
		switch {
		case strings.HasPrefix(why, "exited, status="): // of a try that it makes
		case strings.HasPrefix(why, "rlimit: Can't setup"): // it can do without
		default:
			return brief(why)
		}
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return brief(strings.TrimSpace(lines[len(lines)-1]))
}

// brief bounds a text that goes into an ad, and has it in one line.
func brief(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
