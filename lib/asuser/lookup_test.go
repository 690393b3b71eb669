package asuser

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// answers puts commands of these names and scripts before all others.
func answers(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lookIn(t, append([]string{dir}, Folders...)...)
}

// lookIn has programs looked for in other folders.
func lookIn(t *testing.T, folders ...string) {
	before := Folders
	t.Cleanup(func() { Folders = before })
	Folders = folders
}

func TestLookUpRoot(t *testing.T) {
	answers(t, map[string]string{"getent": "exit 99"}) // who is in the file is not asked for
	for _, look := range []func() (User, bool, error){
		func() (User, bool, error) { return LookUp("root") },
		func() (User, bool, error) { return LookUpID(0) },
	} {
		u, known, err := look()
		if !known || err != nil || u.Name != "root" || u.UID != 0 || len(u.Groups) == 0 || u.Groups[0] != u.GID || u.Home == "" {
			t.Errorf("the look at root = %+v, %v, %v, want root with its group", u, known, err)
		}
	}
}

// Who is in no file is asked for.
func TestLookUpElsewhere(t *testing.T) {
	answers(t, map[string]string{
		"getent": `test "$*" = "passwd walter" -o "$*" = "passwd 40001" && echo walter:x:40001:40002:W:/home/w:/bin/zsh || exit 2`,
		"id":     `test "$*" = "-G walter" && echo 40002 7 40003`,
	})
	want := User{Name: "walter", Home: "/home/w", Shell: "/bin/zsh", UID: 40001, GID: 40002, Groups: []int{40002, 7, 40003}}
	if u, known, err := LookUp("walter"); !known || err != nil || !reflect.DeepEqual(u, want) {
		t.Errorf("LookUp(walter) = %+v, %v, %v, want %+v", u, known, err, want)
	}
	if u, known, err := LookUpID(40001); !known || err != nil || !reflect.DeepEqual(u, want) {
		t.Errorf("LookUpID(40001) = %+v, %v, %v, want %+v", u, known, err, want)
	}
	if u, known, err := LookUp("walther"); known || err != nil {
		t.Errorf("LookUp(walther) = %+v, %v, %v, want it unknown", u, known, err)
	}
}

// A number is no name, though getent takes it for one: root is not called 0.
func TestLookUpOddNames(t *testing.T) {
	answers(t, map[string]string{"getent": `echo root:x:0:0:root:/root:/bin/sh`})
	for _, name := range []string{"0", "", "-x", "no\x00body", "a:b", "root\n"} {
		if u, known, err := LookUp(name); known || err != nil {
			t.Errorf("LookUp(%q) = %+v, %v, %v, want it unknown", name, u, known, err)
		}
	}
}

// A directory of users that does not answer makes nobody root.
func TestLookUpFails(t *testing.T) {
	for what, scripts := range map[string]map[string]string{
		"getent": {"getent": "exit 1"},
		"id":     {"getent": "echo walter:x:40001:40002:W:/:/bin/sh", "id": "exit 1"},
	} {
		t.Run(what, func(t *testing.T) {
			answers(t, scripts)
			if u, known, err := LookUp("walter"); !known || err == nil || !strings.HasPrefix(err.Error(), what) {
				t.Errorf("LookUp = %+v, %v, %v, want an error about %s", u, known, err, what)
			}
			ran := false
			err := Do("walter", "nobody", func() error { ran = true; return nil })
			if os.Geteuid() == 0 && (ran || err == nil) {
				t.Errorf("Do as somebody who cannot be looked up = %v, ran %v, want an error and nothing done", err, ran)
			}
		})
	}
}

func TestWithoutGetent(t *testing.T) {
	lookIn(t, t.TempDir())
	if u, known, err := LookUp("nobody knows me"); known || err != nil {
		t.Errorf("LookUp = %+v, %v, %v, want it unknown", u, known, err)
	}
	if gid, known := GroupID("nobody knows us"); known {
		t.Errorf("GroupID = %d, want it unknown", gid)
	}
}

func TestGroups(t *testing.T) {
	text := []byte("root:x:0:\nstaff:x:50:alice,bob\nwide:x:4294967295:alice\nodd:x:x:alice\nalice:x:1000:\nmany:x:60:carol,alice\n")
	if got, want := groupsIn(text, User{Name: "alice", GID: 1000}), []int{1000, 50, 60}; !reflect.DeepEqual(got, want) {
		t.Errorf("groupsIn = %v, want %v", got, want)
	}
	for name, want := range map[string]int{"staff": 50, "many": 60, "odd": -1, "wide": -1, "none": -1} {
		if _, got, known := groupIn(text, func(n string, _ int) bool { return n == name }); known != (want >= 0) || known && got != want {
			t.Errorf("groupIn(%s) = %d, %v, want %d", name, got, known, want)
		}
	}
	answers(t, map[string]string{"getent": `test "$*" = "group far" && echo far:x:70: || exit 2`})
	if gid, known := GroupID("far"); !known || gid != 70 {
		t.Errorf("GroupID(far) = %d, %v, want 70", gid, known)
	}
	if gid, known := GroupID("root"); !known || gid != 0 {
		t.Errorf("GroupID(root) = %d, %v, want 0", gid, known)
	}
}

// FuzzEntry holds that only well-formed lines are users, and the one that is meant.
func FuzzEntry(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/sh\n")
	f.Add("+::::::\n:x:1:1:::\na:x:-1:0:::\na:x:1:4294967295:::\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, u := range []int{0, 1, 1000} {
			if got, ok := entry([]byte(text), func(c User) bool { return c.UID == u }); ok && (got.UID != u || got.Name == "" || got.GID < 0) {
				t.Errorf("entry(%q) = %+v, want one with uid %d", text, got, u)
			}
		}
	})
}
