package cmdline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/door"
)

// DoorVariable names the descriptor of a connection that a process has made for this one.
const DoorVariable = "FAIRSPOOL_DOOR"

// closed reports whether the call's spool belongs to another account and has a door, or a connection to
// serve was inherited: then dial is how serve is reached. Else the command opens the spool itself.
func (c *Call) closed() (dial func() (io.ReadWriteCloser, error), is bool) {
	if c.ThroughDoor() {
		return nil, false
	}
	if fd, err := strconv.Atoi(os.Getenv(DoorVariable)); err == nil {
		os.Unsetenv(DoorVariable)
		c.inherited = true
		return func() (io.ReadWriteCloser, error) { return connectionOn(fd) }, true
	}
	dir, err := c.SpoolDir()
	if err != nil {
		return nil, false // which is said when the spool is to be opened
	}
	path := filepath.Join(dir, door.SocketName)
	if !ofAnother(dir, c.surroundings().UID) || !isSocket(path) {
		return nil, false
	}
	return func() (io.ReadWriteCloser, error) {
		conn, err := door.Dial(path)
		switch {
		case errors.Is(err, unix.ECONNREFUSED):
			return nil, fmt.Errorf("%s: nothing answers there: the pool's administrator starts the door with systemctl start fairspool.socket or starter -watch -door", path)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		return conn, nil
	}, true
}

// cause returns a connection's error without the address.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

func connectionOn(fd int) (io.ReadWriteCloser, error) {
	unix.CloseOnExec(fd)
	if family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || family != unix.AF_UNIX {
		return nil, fmt.Errorf("%s: no Unix socket", DoorVariable)
	}
	return os.NewFile(uintptr(fd), DoorVariable), nil
}

// ofAnother reports whether a folder belongs to another user than the process.
func ofAnother(dir string, uid int) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != uid
}

func isSocket(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSocket != 0
}

// handOver has serve run the command with its arguments, and exits as it did there.
func (c *Call) handOver(command Command, dial func() (io.ReadWriteCloser, error)) error {
	if !command.Served {
		return fmt.Errorf("not available through the door of another account's pool: run it as the account, %s", c.asAccount())
	}
	for _, name := range ofThePool {
		if c.handOn[name] != "" && !c.inherited {
			return Usagef("-%s: not available in the pool of another account", name)
		}
	}
	// As serve sends it, which has buffered and cleaned it.
	caller := door.Caller{Stdout: under(c.Stdout), Stderr: under(c.Stderr), ReadFile: c.sendFile, WriteFile: c.writeFile}
	defer func() {
		for _, end := range c.atEnd {
			end()
		}
	}()
	if command.Before != nil {
		ready, err := command.Before(c)
		if errors.Is(err, ErrDone) {
			return nil
		}
		if err != nil {
			return err
		}
		caller.Ready, caller.First, caller.Words = ready, c.First, c.words
	}
	r := door.Request{Version: door.Version, Command: command.Name, Args: c.Typed, Ends: c.ended}
	for _, name := range door.Variables {
		if v, ok := os.LookupEnv(name); ok && v != "" {
			r.Environment = append(r.Environment, name+"="+v)
		}
	}
	r.OutTerminal, r.ErrTerminal = terminal(c.Stdout), terminal(c.Stderr)
	if f, ok := c.Stdin.(*os.File); ok {
		r.InTerminal = terminal(f)
	}
	if f := fileOf(c.Stdout); f != nil {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			r.Width, r.Height = int(size.Col), int(size.Row)
		}
	}
	status, err := caller.Call(dial, r)
	if err != nil {
		return err
	}
	return ExitStatus(status)
}

// AtEnd has a function called at the caller's end when the command has ended in serve, however it ends.
func (c *Call) AtEnd(end func()) { c.atEnd = append(c.atEnd, end) }

// KeysRead reports whether the caller's end reads keys from a terminal.
func (c *Call) KeysRead() bool {
	s := c.surroundings().Session
	return s != nil && s.Request.InTerminal
}

// asAccount says how a command is run as the account that has the spool.
func (c *Call) asAccount() string {
	name := "ACCOUNT"
	if dir, err := c.SpoolDir(); err == nil {
		if info, err := os.Stat(dir); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				name = c.surroundings().called(int(stat.Uid))
			}
		}
	}
	return "sudo -u " + name + " " + c.Name + " ..."
}

// ofThePool are the common flags that the pool's account alone may give.
var ofThePool = []string{"config", "now"}

// Open opens a file that the command line names for reading; - is standard input. In serve it is
// the caller's file, which the caller's end reads as a whole.
func (c *Call) Open(name string) (io.ReadCloser, error) {
	switch s := c.surroundings().Session; {
	case name == "-":
		return io.NopCloser(c.Stdin), nil
	case s != nil:
		text, err := s.ReadFile(name)
		return io.NopCloser(bytes.NewReader(text)), err
	}
	return os.Open(name)
}

// ReadFile returns the contents of a file as Open finds it.
func (c *Call) ReadFile(name string) ([]byte, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// sendFile returns the contents of a file that serve asks for.
func (c *Call) sendFile(name string) ([]byte, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, Cause(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, door.MaxContents+1))
	if err == nil && len(text) > door.MaxContents {
		err = fmt.Errorf("longer than %d MB", door.MaxContents>>20)
	}
	return text, Cause(err)
}

// Replace does as the function Replace, for a file that the command line names. In serve it is
// the caller's file, which the caller's end writes.
func (c *Call) Replace(name string, mode fs.FileMode, write func(io.Writer) error) (n int64, err error) {
	s := c.surroundings().Session
	switch {
	case c.Trial != nil:
		return 0, errors.New("a command that is only tried writes no file")
	case s == nil:
		return Replace(name, mode, write)
	}
	var text gathered
	if err := write(&text); err != nil {
		return 0, err
	}
	return s.WriteFile(name, mode, text)
}

func (c *Call) writeFile(name string, mode fs.FileMode, text []byte) (int64, error) {
	n, err := Replace(name, mode, func(w io.Writer) error { _, err := w.Write(text); return err })
	return n, Cause(err)
}

// gathered is what was written.
type gathered []byte

func (g *gathered) Write(p []byte) (int, error) {
	*g = append(*g, p...)
	return len(p), nil
}

// callersInput is the standard input of a caller, which is asked for when it is read.
type callersInput struct {
	session *door.Session
	text    []byte
	asked   bool
}

func (in *callersInput) Read(p []byte) (int, error) {
	if !in.asked {
		text, err := in.session.ReadFile("-")
		if err != nil {
			return 0, err
		}
		in.text, in.asked = text, true
	}
	if len(in.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, in.text)
	in.text = in.text[n:]
	return n, nil
}

// Serve runs the command that a session asks for, among those that are served, with the spool and
// the configuration of s, and ends the session.
func (s Surroundings) Serve(commands []Command, session *door.Session) {
	s.Session = session
	r := session.Request
	for _, c := range commands {
		if c.Name == r.Command && c.Served {
			defer func(zone *time.Location) { time.Local = zone }(time.Local)
			setEnvironment(r.Environment)
			session.End(s.Execute(c, r.Args, &callersInput{session: session}, session.Stdout(), session.Stderr()))
			return
		}
	}
	fmt.Fprintf(session.Stderr(), "fairspool: %q: no command that serve runs\n", r.Command)
	session.End(exitUsage)
}

// Serve runs a command for a process that this one has made with a connection to it
// (DoorVariable): in the call's own spool and configuration.
func (c *Call) Serve(command Command, session *door.Session) error {
	dir, err := c.SpoolDir()
	if err != nil {
		return err
	}
	s := c.surroundings()
	s.Spool = dir
	s.Serve([]Command{command}, session)
	return nil
}

// setEnvironment gives the process the variables of a caller, and no others of those.
func setEnvironment(variables []string) {
	for _, name := range door.Variables {
		os.Unsetenv(name)
	}
	for _, v := range variables {
		for i := range v {
			if v[i] == '=' {
				os.Setenv(v[:i], v[i+1:])
				break
			}
		}
	}
	// A name of a time zone is no path: LoadLocation refuses those.
	if zone := os.Getenv("TZ"); zone != "" {
		time.Local = time.UTC
		if l, err := time.LoadLocation(zone); err == nil {
			time.Local = l
		}
	}
}

// Replace writes a file as a whole or not at all, and durably: it has a name of its
// own until all is there. A file that is there is replaced, one behind a symbolic link
// in its place; anything else that has the name is left alone, with an error. The
// new file has the mode less the umask. It returns how many bytes it has.
func Replace(name string, mode fs.FileMode, write func(io.Writer) error) (n int64, err error) {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return 0, errors.New("it is not a regular file: give the name of another, or - for standard output")
	}
	f, err := beside(name, mode)
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // nothing is there once it is renamed
	defer f.Close()
	if err := write(f); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if n, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return 0, err
	}
	return n, syncDir(filepath.Dir(name))
}

// beside makes a new file next to another. If a dead process has left a file of that
// name, beside tries the next name.
func beside(name string, mode fs.FileMode) (f *os.File, err error) {
	for i := range 100 {
		f, err = os.OpenFile(fmt.Sprintf("%s.%d-%d.new", name, os.Getpid(), i), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
