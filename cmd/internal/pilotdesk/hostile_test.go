package pilotdesk

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/desk"
	"fairspool/cmd/internal/pilot"
	"fairspool/internal/testenv"
	"fairspool/lib/jobpolicy"
	"fairspool/lib/launch"
	"fairspool/lib/link"
	"fairspool/lib/pool"
	"fairspool/lib/supervise"
)

// host is the spool's host, with a job for itself and for each of the machines n1 and n2, whose pilots call.
type host struct {
	testing.TB
	bin, dir string
}

func newHost(t testing.TB) host {
	t.Helper()
	h := host{t, testenv.Commands(t), t.TempDir()}
	const config = "NETWORK_HOSTNAME = 'head'\nUID_DOMAIN = 'pool'\nSTARTER_INITIAL_UPDATE_INTERVAL = 3600\nSTARTER_UPDATE_INTERVAL = 3600\n[engine.farm]\nKIND = 'ssh'\nLINK = 'home'\nHOSTS = ['n1', 'n2']\n"
	testenv.OK(t, os.WriteFile(filepath.Join(h.dir, "fairspool.toml"), []byte(config), 0o600))
	return h
}

func (h host) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(h.Context(), filepath.Join(h.bin, args[0]), args[1:]...)
	c.Dir = h.dir
	c.Env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "FAIRSPOOL_DIR=" + filepath.Join(h.dir, "spool"), "FAIRSPOOL_CONFIG=" + filepath.Join(h.dir, "fairspool.toml"), "FAIRSPOOL_CYCLE_ON_CHANGE=false"}
	return c
}

func (h host) run(args ...string) string {
	h.Helper()
	c := h.command(args...)
	var bad strings.Builder
	c.Stderr = &bad
	out, err := c.Output()
	if err != nil {
		h.Fatalf("%v: %v: %s%s", args, err, out, bad.String())
	}
	return string(out)
}

// hello returns the first message of the pilot of a machine, with a new token.
func (h host) hello(machine string) (m pilot.Hello) {
	h.Helper()
	m.Instance, m.Account = "of"+machine, "root"
	if _, err := fmt.Sscan(h.run("glidein", "-token", machine), &m.ID, &m.Token); err != nil {
		h.Fatal(err)
	}
	return m
}

// client is a pilot of which the test is every word.
type client struct {
	testing.TB
	*link.Link
	control net.Conn
	tag     uint32 // of the last request
	serve   *exec.Cmd
	bad     strings.Builder
	welcome pilot.Welcome
}

type ends struct {
	io.Reader
	io.WriteCloser
}

// call has a pilot call serve, and say hello.
func (h host) call(m pilot.Hello) *client {
	h.Helper()
	c := &client{TB: h.TB, serve: h.command("serve", "-pilot")}
	in, err := c.serve.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	out, err := c.serve.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	c.serve.Stderr = &c.bad
	if err = c.serve.Start(); err == nil {
		c.Link, err = link.New(ends{out, in}, link.Settings{Version: "x", First: true, Patience: time.Minute, Every: time.Minute})
	}
	if err == nil {
		c.control, err = c.Open()
	}
	if err == nil {
		err = link.WriteMessage(c.control, m)
	}
	if err == nil {
		err = link.ReadMessage(c.control, &c.welcome)
	}
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { c.Close(); c.serve.Process.Kill(); c.serve.Wait() })
	return c
}

// ad returns that of a slot.
func ad(name, machine string) string {
	return fmt.Sprintf("MyType = \"Machine\"\nName = %q\nMachine = %q\nSlotType = \"Partitionable\"\nPartitionableSlot = true\nCpus = 4\nMemory = 4096\nDisk = 1000000\nState = \"Unclaimed\"\nActivity = \"Idle\"\nHasFileTransfer = true\nFileSystemDomain = %[2]q\nStart = true\nRequirements = Start\n", name, machine)
}

// works tells of a slot, and waits for the first news.
func (c *client) works(slot, machine string) *client {
	c.Helper()
	var n pilot.News
	if err := link.WriteMessage(c.control, pilot.Slots{Ads: []string{ad(slot, machine)}}); err != nil {
		c.Fatal(err)
	}
	if err := c.hear(0, &n); err != nil || !n.First {
		c.Fatalf("the first news are %+v, %v", n, err)
	}
	return c
}

// hear reads what serve says with a tag, and passes over the rest.
func (c *client) hear(tag uint32, v any) error {
	for {
		got, text, err := link.ReadPacket(c.control)
		if err != nil {
			return err
		}
		if got == tag {
			return json.Unmarshal(text, v)
		}
	}
}

// ask makes a request. Outputs sends an empty body.
func (c *client) ask(r pilot.Request) (a pilot.Answer) {
	c.Helper()
	if r.Do != pilot.Inputs && r.Do != pilot.Outputs {
		text, err := json.Marshal(r)
		if err != nil {
			c.Fatal(err)
		}
		return c.say(text)
	}
	stream, err := c.Open()
	if err != nil {
		c.Fatal(err)
	}
	defer stream.Close()
	if err = link.WriteMessage(stream, r); err == nil && r.Do == pilot.Outputs {
		link.NewBody(stream).Close()
	}
	if err == nil {
		err = link.ReadMessage(stream, &a)
	}
	if err != nil {
		c.Fatalf("%s: %v", r.Do, err)
	}
	return a
}

// say sends a request of any bytes, and returns the answer.
func (c *client) say(text []byte) (a pilot.Answer) {
	c.Helper()
	c.tag++
	err := link.WritePacket(c.control, c.tag, text)
	if err == nil {
		err = c.hear(c.tag, &a)
	}
	if err != nil {
		c.Fatalf("%.40q: %v", text, err)
	}
	return a
}

// ended waits until serve has ended with status 1, and holds that it says one line.
func (c *client) ended(what, want string) {
	c.Helper()
	err := c.serve.Wait()
	if text := c.bad.String(); err == nil || c.serve.ProcessState.ExitCode() != 1 || strings.Count(text, "\n") != 1 || !strings.Contains(text, want) {
		c.Errorf("%s: serve ends with %v and says %q, want a line with %q", what, err, text, want)
	}
}

// requests are all that can be asked for an attempt.
func requests(a pool.Attempt) []pilot.Request {
	used, how := &supervise.Spent{}, &pool.Ending{Code: 1}
	worst := jobpolicy.Verdict{Action: jobpolicy.Remove, Reason: "mine"}
	return []pilot.Request{
		{Do: pilot.Begin, Attempt: a, PID: 1, Scratch: "/"},
		{Do: pilot.Await, Attempt: a},
		{Do: pilot.Executing, Attempt: a},
		{Do: pilot.Terms, Attempt: a, Why: pool.Reason{Text: "mine"}},
		{Do: pilot.Judge, Attempt: a, Found: worst, Used: used, Reported: &pool.Progress{}},
		{Do: pilot.Report, Attempt: a, Telling: &desk.Telling{Number: 1, Now: pool.Progress{Wall: time.Hour}}},
		{Do: pilot.Report, Attempt: a, Telling: &desk.Telling{Number: 1, Restarts: true}},
		{Do: pilot.Inputs, Attempt: a},
		{Do: pilot.Outputs, Attempt: a, Files: launch.Output},
		{Do: pilot.Outputs, Attempt: a, Files: launch.Checkpoint},
		{Do: pilot.Finish, Attempt: a, How: how},
		{Do: pilot.Finish, Attempt: a, How: how, Last: true, Ago: -time.Hour},
	}
}

// TestHostilePilot holds that a pilot can do nothing to attempts that are not its own, nor in another's name, and that
// invalid messages end its link with a line.
func TestHostilePilot(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, machine := range []string{"head", "n1", "n2", "n2", "nowhere"} {
		h.run("submit", "requirements=Machine == \""+machine+"\"", "--", "/bin/sleep", "1000")
	}
	h.run("slots", "detect")
	one, two := h.hello("n1"), h.hello("n2")
	owner := h.call(two).works("slot1@n2", "n2")
	hostile := h.call(one).works("slot1@n1", "n1")
	h.run("negotiate", "-q")
	h.run("starter", "-q")
	defer h.command("qdel", "-a").Run()
	attempt := func(cluster int) pool.Attempt { return pool.Attempt{Job: pool.JobID{Cluster: cluster}, Number: 1} }
	if a := owner.ask(pilot.Request{Do: pilot.Begin, Attempt: attempt(3), PID: 1, Scratch: "/tmp"}); a.Begun == nil {
		t.Fatalf("the pilot of n2 begins: %+v", a)
	}
	jobs := func() string {
		all, _, _ := strings.Cut(h.run("spool", "dump"), `MyType = "Transaction"`)
		_, all, _ = strings.Cut(all, "NextCluster") // and behind the number of the last transaction
		return all
	}
	before := jobs()
	for _, c := range []struct {
		what string
		of   pool.Attempt
	}{
		{"one of the spool's host", attempt(1)}, {"one of another pilot", attempt(3)}, {"a match on another machine", attempt(4)},
		{"one of a job without a claim", attempt(5)}, {"one of no job", attempt(99)},
		{"another of its own job", pool.Attempt{Job: pool.JobID{Cluster: 2}, Number: 2}},
		{"none", pool.Attempt{}}, {"a strange one", pool.Attempt{Job: pool.JobID{Cluster: -1, Proc: 1 << 62}, Number: -1}},
	} {
		for _, r := range requests(c.of) {
			if a := hostile.ask(r); !a.Gone || a.Begun != nil || a.Leave != nil || a.Rules != nil {
				t.Errorf("%s for %s: %+v, want Gone", r.Do, c.what, a)
			}
		}
	}
	for _, r := range []pilot.Request{{Do: "", Attempt: attempt(2)}, {Do: "x", Attempt: attempt(2)}, {Do: pilot.Judge, Attempt: attempt(2)}, {Do: pilot.Report, Attempt: attempt(2)}, {Do: pilot.Finish, Attempt: attempt(2)}} {
		if a := hostile.ask(r); a.Failed == nil {
			t.Errorf("%q that is incomplete: %+v", r.Do, a)
		}
	}
	for _, text := range []string{"\x00\x00\x00\x01{", "\xff\xff\xff\xff", "\x00\x00\x00\x02[]", ""} {
		stream, err := hostile.Open()
		testenv.OK(t, err)
		stream.Write([]byte(text))
		stream.Close()
		if b, err := io.ReadAll(stream); len(b) > 0 || err != nil {
			t.Errorf("a request %q is answered %q, %v", text, b, err)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"Attempt":1}`} {
		if a := hostile.say([]byte(text)); a.Failed == nil {
			t.Errorf("a request %q is answered %+v", text, a)
		}
	}
	if after := jobs(); after != before {
		t.Errorf("the jobs were\n%s\nand are\n%s", before, after)
	}
	link.WritePacket(hostile.control, 0, []byte("{"))
	hostile.ended("a heartbeat that is none", "the pilot's heartbeat")

	for what, m := range map[string]pilot.Hello{
		"another's id":         {ID: two.ID, Token: one.Token, Instance: "x"},
		"no token":             {ID: one.ID, Instance: "x"},
		"no instance":          {ID: one.ID, Token: one.Token},
		"an instance of lines": {ID: one.ID, Token: one.Token, Instance: "a\nb"},
		"a long instance":      {ID: one.ID, Token: one.Token, Instance: strings.Repeat("x", 1<<20)},
	} {
		c := h.call(m)
		if c.welcome.Refused == "" {
			t.Errorf("with %s a pilot is welcome", what)
			continue
		}
		c.ended(what, "serve: ")
	}
	for _, slot := range [][2]string{{"slot1@n2", "n2"}, {"slot1@n2", "n1"}, {"slot1@n1", "n2"}, {"slot1", "n1"}, {"a b@n1", "n1"}, {"", ""}} {
		c := h.call(one)
		link.WriteMessage(c.control, pilot.Slots{Ads: []string{ad(slot[0], slot[1])}})
		c.ended(fmt.Sprint("a slot ", slot), "the pilot of n1 has a slot")
	}
	c := h.call(one)
	link.WriteMessage(c.control, pilot.Slots{Ads: []string{"Name = ((\n"}})
	c.ended("a slot that is no ad", "slot")
	if after := jobs(); after != before {
		t.Errorf("the jobs were\n%s\nand are\n%s", before, after)
	}
	if a := owner.ask(pilot.Request{Do: pilot.Finish, Attempt: attempt(3), How: &pool.Ending{}, Last: true}); a.Gone || a.Failed != nil {
		t.Errorf("the pilot of n2 ends its attempt: %+v", a)
	}
}
