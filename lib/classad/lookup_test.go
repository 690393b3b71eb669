package classad

import "testing"

func TestLookUps(t *testing.T) {
	c := &Context{
		UserMap: func(mapName, user string) (string, bool) {
			names, ok := map[string]string{"groups/alice": "physics, chem,bio", "groups/nobody": ""}[mapName+"/"+user]
			return names, ok
		},
		UserHome: func(user string) (string, bool) { return "/home/" + user, user == "alice" },
	}
	for text, want := range map[string]string{
		`userMap("groups", "alice")`:                        `"physics, chem,bio"`,
		`userMap("groups", "alice", "CHEM")`:                `"chem"`,
		`userMap("groups", "alice", "law")`:                 `"physics"`,
		`userMap("groups", "alice", undefined, "none")`:     `"physics"`,
		`userMap("groups", "nobody", "x")`:                  `""`,
		`userMap("groups", "bob")`:                          "undefined",
		`userMap("groups", "bob", "x", "none")`:             `"none"`,
		`userMap("other", "alice", "x", 5)`:                 "5",
		`userMap(1, "alice")`:                               "undefined",
		`userHome("alice", "/tmp")`:                         `"/home/alice"`,
		`userHome("bob", "/tmp")`:                           `"/tmp"`,
		`userHome("bob")`:                                   "undefined",
		`userHome(7)`:                                       "error",
		`member("chem", split(userMap("groups", "alice")))`: "true",
	} {
		if got := mustExpr(t, text).Eval(c, nil, nil).String(); got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

func TestMatcherLooksUp(t *testing.T) {
	c := &Context{UserMap: func(_, user string) (string, bool) { return "physics", user == "alice" }}
	job := mustAd(t, `[ Owner = "alice"; Requirements = true ]`)
	slot := mustAd(t, `[ Requirements = userMap("groups", TARGET.Owner) == "physics" ]`)
	m := NewMatcher(c, job)
	for i := range 2 * worthIt {
		if !m.Match(slot) {
			t.Fatalf("Match = false at question %d, want true", i)
		}
	}
	if Match(nil, job, slot) {
		t.Error("Match = true without a map, want false")
	}
}
