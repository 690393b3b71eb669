package cmd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairspool/cmd/internal/door"
	"fairspool/internal/testenv"
	"fairspool/lib/jobad"
	"fairspool/lib/submitfile"
)

// dial connects with the door of the machine's pool as a user, whom the kernel names to serve.
func (m machine) dial(uid int) *net.UnixConn {
	m.Helper()
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and ends with this goroutine: the user's rights and folder are the thread's
		conn, err := func() (net.Conn, error) {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return nil, fmt.Errorf("unshare: %w", err)
			}
			if err := unix.Chdir(filepath.Join(m.spools, "fairspool")); err != nil {
				return nil, err
			}
			if _, _, no := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(uid), uintptr(uid), uintptr(uid)); no != 0 {
				return nil, no
			}
			if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); no != 0 {
				return nil, no
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return nil, err
			}
			f := os.NewFile(uintptr(fd), "connection")
			defer f.Close()
			if err := unix.Connect(fd, &unix.SockaddrUnix{Name: door.SocketName}); err != nil {
				return nil, err
			}
			return net.FileConn(f)
		}()
		done <- result{conn, err}
	}()
	r := <-done
	m.must(r.err)
	return r.conn.(*net.UnixConn)
}

// framed returns a frame of the door.
func framed(kind byte, payload string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))) + payload
}

// request returns the frame that asks for a command.
func request(command string, args ...string) string {
	text, _ := json.Marshal(door.Request{Version: door.Version, Command: command, Args: args})
	return framed('q', string(text))
}

// offer returns the frames with which the caller's end of submit offers the jobs of a description that it
// has read as bob, changed by forge.
func (m machine) offer(description string, forge func(digest string) string) string {
	m.Helper()
	d, _, err := submitfile.Parse(description, "jobs", submitfile.Options{})
	m.must(err)
	jobs, _, err := jobad.New(d, jobad.Options{Owner: "bob", Domain: "pool", Dir: "/"})
	m.must(err)
	digest, _, err := jobs.Digest(true)
	m.must(err)
	text, err := json.Marshal(map[string]any{"Digest": []byte(forge(string(digest)))})
	m.must(err)
	return framed('a', string(text)) + framed('a', "")
}

// nothingDoomed is the answer to the second question of submit.
var nothingDoomed = framed('a', "null") + framed('a', "")

// said is what a caller sends: at once, and to the first question and the next one.
type said struct {
	first, answer, then string
	cut                 bool // nothing comes after first
	open                bool // the caller waits for what comes of its answers
}

// hostile returns what may come from a user whom nothing stops from writing to the socket.
func (m machine) hostile() (list []said) {
	add := func(all ...string) {
		for _, text := range all {
			list = append(list, said{first: text, cut: true})
		}
	}
	for _, letter := range "\x00Qadfyipoerw?x~" {
		add(framed(byte(letter), "{}"))
	}
	honest, submit := request("qstat"), request("submit", "-")
	for n := 0; n < len(honest); n += 6 {
		add(honest[:n]) // and no more
	}
	for _, text := range []string{
		"", "x", "[]", "{", "null", `"q"`, "{}", `{"Version":0}`, `{"Version":2,"Command":"qstat"}`, `{"Version":1e9}`, `{"Version":"1"}`,
		`{"Version":1,"Args":{}}`, `{"Version":1,"Args":[1]}`, `{"Version":1,"Width":-1}`, `{"Version":1,"Height":1e6,"Command":"qstat"}`,
		`{"Version":1,"Command":"qstat","Environment":["FAIRSPOOL_DIR=/tmp"]}`, `{"Version":1,"Command":"qstat","Environment":["PATH=/tmp"]}`,
		`{"Version":1,"Command":"qstat","Environment":["LD_PRELOAD=/tmp/x"]}`, `{"Version":1,"Command":"qstat","Environment":["TZ=` + strings.Repeat("x", 300) + `"]}`,
		`{"Version":1,"Command":"qstat","Environment":["TZ=../../../etc/shadow"]}`, `{"Version":1,"Command":"qstat","Args":[` + strings.Repeat(`"",`, 10_000) + `""]}`,
	} {
		add(framed('q', text))
	}
	for _, head := range []string{"q\xff\xff\xff\xff", "q\x00\x04\x00\x01", "q\x80\x00\x00\x00x", "q\x00\x00"} {
		add(head, head+strings.Repeat("x", 1<<20))
	}
	for _, name := range []string{"", "spool", "starter", "serve", "sh", "../qdel", "/bin/sh", "QDEL", "qdel ", "qdel\x00", "-help", "\x1b[2J"} {
		list = append(list, said{first: request(name, "-a")})
	}
	for _, line := range []string{
		"qdel 1", "qdel 1.0", "qdel alice", "qdel -constraint true", "qdel -forcex 1", "qhold 1", "qrls 1", "prio +20 1", "prio -p -5 1.1",
		`prio -set Rank 7 1`, `prio -set Owner "bob" 1`, `prio -system 5 1`, "userprio -setfactor bob@pool 0.5", "userprio -delete alice@pool", "userprio -resetall",
		"userprio -setceiling alice@pool 0", "userprio -setprio bob@pool 0.5", "userprio -import -", "slots withdraw -all", "slots advertise -", "slots drain node1",
		"negotiate", "negotiate -now 0 -dry-run", "qstat -config /etc/shadow", "qstat -spool /tmp", "qdel -now 5 1", "submit -owner alice -", "submit -owner root -- id",
		"submit -config /dev/null -- id", "qdel -lock-wait 1e99 1",
	} {
		words := strings.Fields(line)
		list = append(list, said{first: request(words[0], words[1:]...), answer: framed('d', "Name = \"slot1@x\"\n") + framed('d', ""), open: true})
		add(request(words[0], words[1:]...), request(words[0], words[1:]...)+honest)
	}
	for _, answer := range []string{
		framed('d', "x"), framed('a', "{}"), framed('y', "5"), framed('f', "no"), framed('i', "9"), framed('i', "-1"), framed('i', "x"), framed('i', ""),
		honest, framed('i', "15"), strings.Repeat(framed('p', ""), 1000), strings.Repeat(framed('d', strings.Repeat("x", 1000)), 1000),
	} {
		add(honest+answer, submit+answer)
		list = append(list, said{first: submit, answer: answer})
	}
	const jobs = "executable = /bin/true\n+Attribute = 17\narguments = $(x)\nqueue x in (a b)\n"
	forged := func(old, text string) {
		offer := m.offer(jobs, func(digest string) string {
			if !strings.Contains(digest, old) {
				m.Fatalf("the digest is %s, which has no %s", digest, old)
			}
			return strings.Replace(digest, old, text, 1)
		})
		list = append(list, said{first: submit, answer: offer, then: nothingDoomed, open: true})
	}
	for attr, value := range map[string]string{
		"Owner": `\"alice\"`, "User": `\"alice@pool\"`, "ClusterId": "1", "ProcId": "7", "JobStatus": "2", "QDate": "0", "NumJobStarts": "-1",
		"RemoteHost": `\"x\"`, "AcctGroupUser": `\"alice\"`, "AccountingGroup": `\"alice\"`, "SystemPriority": "5", "OverrideTickets": "100",
		"NumHolds": "7", "RemoteUserCpu": "-1", "GlobalJobId": `\"x\"`, "LastMatchTime": "0", "Tickets": "1000", "HoldReason": `\"x\"`,
	} {
		forged(`"Name":"MY.Attribute","Text":"17"`, `"Name":"MY.`+attr+`","Text":"`+value+`"`)
	}
	for command, value := range map[string]string{
		"accounting_group_user": "alice", "override_tickets": "100", "nice_user": "maybe", "initialdir": "rela\\u0000tive", "universe": "no",
		"requirements": "(((", "periodic_remove": strings.Repeat("(", 100_000), "request_cpus": "-1", "priority": "1e99",
	} {
		forged(`"Name":"MY.Attribute","Text":"17"`, `"Name":"`+command+`","Text":"`+value+`"`)
	}
	for old, text := range map[string]string{
		`"Dir":"/"`: `"Dir":"home"`, `"Owner":"bob"`: `"Owner":7`, `"Assignments":[{`: `"Assignments":[{{`, `"Queues":[{`: `"Queues":[`, `"Count":1`: `"Count":-1`,
		`"N":2`: `"N":1000000000`, `"First":0`: `"First":-5`, `"Step":1`: `"Step":0`, `"Vars":["x"]`: `"Vars":["x","y","\u0000"]`, `"Line":1`: `"Line":{}`,
		`"After":3`: `"After":300`, "\na\n": "\n", `"Late":{`: `"Late":[`, `"Description":`: `"Description":7,"x":`, `"File":"jobs"`: `"File":7`,
	} {
		forged(old, text)
	}
	for _, digest := range []string{"", "{}", "\n", strings.Repeat("{", 1<<20), strings.Repeat("x", 32<<20), "null", "[]\n[]"} {
		list = append(list, said{first: submit, answer: m.offer(jobs, func(string) string { return digest }), then: nothingDoomed, open: true})
	}
	for _, answer := range []string{
		framed('a', "{}") + framed('a', ""), framed('a', `[{"First":-1,"Count":1000000000,"Why":"x"},{"Count":2,"Why":"\u001b[2J"}]`) + framed('a', ""),
		framed('a', ""), framed('d', ""), framed('f', "no"), honest,
	} {
		offer := m.offer(jobs, func(digest string) string { return digest })
		list = append(list, said{first: submit, answer: offer, then: answer, open: true}, said{first: submit, answer: offer + answer, open: true}, said{first: submit, answer: offer, then: answer})
	}
	for _, answer := range []string{
		framed('a', "{}") + framed('a', ""), framed('a', `{"Digest":7}`) + framed('a', ""), framed('a', "{") + framed('a', ""), framed('a', ""),
		strings.Repeat(framed('a', strings.Repeat(" ", door.MaxFrame)), 80), framed('f', "\x1b[2J"), framed('d', ""), framed('y', "7"),
	} {
		list = append(list, said{first: submit, answer: answer})
	}
	return list
}

// says calls serve as bob, and returns all that comes back.
func (m machine) says(what said) (back string) {
	m.Helper()
	c := m.dial(bob)
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	var sent sync.WaitGroup
	defer sent.Wait()
	send := func(text string, more bool) {
		sent.Go(func() {
			io.WriteString(c, text) // which serve need not take
			if !more {
				c.CloseWrite()
			}
		})
	}
	send(what.first, !what.cut)
	var head [5]byte
	for {
		_, err := io.ReadFull(c, head[:])
		text := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if err == nil {
			_, err = io.ReadFull(c, text)
		}
		if err != nil || head[0] == 'x' {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				m.Errorf("serve keeps a caller that sends %.60q and %.60q", what.first, what.answer)
			}
			c.Close()
			return back + string(text)
		}
		back += string(text)
		if strings.IndexByte("?rw", head[0]) >= 0 && !what.cut {
			send(what.answer, what.open)
			what = said{first: what.first, answer: what.then, cut: what.then == "", open: what.open}
		}
	}
}

// TestHostileCallers holds that nothing changes that may not, whatever a user writes to the socket, that
// serve ends each such call, and that the next honest one is answered: also while very many connections
// say nothing.
func TestHostileCallers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.serveSays = io.Discard // why it refuses what it is sent
	m.open()
	m.expect("alice: submit", m.run(alice, nil, "submit", "/etc/job.sub"), 0, "2 jobs submitted to cluster 1.\n", "")
	state := func() string {
		return m.run(fair, nil, "qstat", "-long", "-constraint", `Owner != "bob"`).out + m.run(fair, nil, "userprio", "-all", "-l").out + m.run(fair, nil, "slots", "-long").out
	}
	before := state()
	list := m.hostile()
	t.Logf("%d hostile requests", len(list))
	if len(list) < 200 {
		t.Errorf("%d hostile requests, want 200", len(list))
	}
	var all sync.WaitGroup
	for part := range slices.Chunk(list, 1+len(list)/4) {
		all.Go(func() {
			for _, what := range part {
				if back := m.says(what); strings.Contains(back, "\x1b") {
					t.Errorf("%.60q and %.60q are answered by %.200q", what.first, what.answer, back)
				}
			}
		})
	}
	all.Wait()
	if after := state(); after != before || !strings.Contains(before, `Owner = "alice"`) {
		t.Errorf("hostile requests have changed the pool from\n%s\nto\n%s", before, after)
	}
	// Bob may submit jobs: as bob's, from the beginning, and charged to bob.
	for _, job := range strings.Split(m.run(fair, nil, "qstat", "-long", "bob").out, "\n\n") {
		for _, line := range []string{`Owner = "bob"`, `User = "bob@pool"`, "JobStatus = 1", "NumJobStarts = 0", "JobUniverse = 5", "RemoteUserCpu = 0.0"} {
			if job != "" && !strings.Contains("\n"+job+"\n", "\n"+line+"\n") {
				t.Errorf("a job of bob's has no %s:\n%s", line, job)
			}
		}
		if job != "" && !strings.Contains(job, "\nIwd = \"/") || strings.ContainsRune(job, 0) {
			t.Errorf("a job of bob's has no folder, or a byte 0: %q", job)
		}
		for _, name := range []string{"RemoteHost", "AcctGroupUser", "AccountingGroup", "SystemPriority", "OverrideTickets", "NumHolds", "LastMatchTime", "Tickets", "HoldReason"} {
			if strings.Contains(job, "\n"+name+" = ") {
				t.Errorf("a job of bob's has %s:\n%s", name, job)
			}
		}
	}
	m.run(bob, nil, "qdel", "-a")
	honest := func() {
		t.Helper()
		begun := time.Now()
		m.expect("alice: qstat", m.run(alice, nil, "qstat", "-af", "ClusterId", "Owner"), 0, "1 alice\n1 alice\n", "")
		t.Logf("an honest request: %v", time.Since(begun))
	}
	honest()
	offer := m.offer("executable = /bin/true\nqueue\n", func(digest string) string { return digest })
	if back := m.says(said{first: request("submit", "-"), answer: offer, then: nothingDoomed, open: true}); !strings.Contains(back, "1 job submitted to cluster ") {
		t.Errorf("an offer that is not forged is answered by %q", back)
	}
	m.run(bob, nil, "qdel", "-a")

	var idle []*net.UnixConn
	for range 1000 {
		c := m.dial(bob)
		defer c.Close()
		idle = append(idle, c)
	}
	honest()
	var held int
	few := testenv.Await(func() bool { // the last ones may not have been looked at yet
		held = 0
		for _, c := range idle {
			c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				held++
			}
		}
		return held <= door.MaxCallers
	})
	if !few {
		t.Errorf("serve keeps %d connections of a user, want at most %d", held, door.MaxCallers)
	}
	honest()
}
