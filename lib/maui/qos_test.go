package maui

import "testing"

// TestQOS: the QOS that a job goes by, and whether the one it asks for is refused.
func TestQOS(t *testing.T) {
	type creds = map[Kind]map[string]Credential
	of := func(q ...string) Credential { return Credential{QList: q} }
	mode := func(m byte, q ...string) Credential { return Credential{QList: q, QListMode: m} }
	for _, c := range []struct {
		name    string
		creds   creds
		asks    string
		want    string
		refused bool
	}{
		{"nothing is said", nil, "", DefaultName, false},
		{"nobody has access", nil, "a", DefaultName, true},
		{"the QOS DEFAULT is everybody's", nil, DefaultName, DefaultName, false},
		{"of the user", creds{User: {"u": of("a", "b")}}, "b", "b", false},
		{"of another user", creds{User: {"v": of("a")}}, "a", DefaultName, true},
		{"of all users", creds{User: {DefaultName: of("a")}}, "a", "a", false},
		{"an own list is in the place of that of all", creds{User: {DefaultName: of("a"), "u": of("b")}}, "a", DefaultName, true},
		{"any credential will do", creds{User: {"u": of("a")}, Class: {"c": of("b")}}, "b", "b", false},
		{"a list makes no default", creds{User: {"u": of("a")}}, "", DefaultName, false},
		{"QDEF", creds{User: {"u": {QDef: "a"}}}, "", "a", false},
		{"QDEF is access", creds{User: {"u": {QDef: "a"}}}, "a", "a", false},
		{"QDEF of all users before that of the group", creds{User: {DefaultName: {QDef: "a"}}, Group: {"g": {QDef: "b"}}}, "", "a", false},
		{"group before account", creds{Group: {"g": {QDef: "b"}}, Account: {"x": {QDef: "a"}}}, "", "b", false},
		{"account before class", creds{Class: {"c": {QDef: "b"}}, Account: {DefaultName: {QDef: "a"}}}, "", "a", false},
		{"refused, and so the default", creds{User: {"u": {QDef: "a"}}}, "b", "a", true},
		{"only what all have", creds{User: {"u": mode('&', "a", "b")}, Group: {"g": of("b", "c")}}, "b", "b", false},
		{"what one does not have", creds{User: {"u": mode('&', "a", "b")}, Group: {"g": of("b", "c")}}, "c", DefaultName, true},
		{"what the other does not have", creds{User: {"u": mode('&', "a", "b")}, Group: {"g": of("b", "c")}}, "a", DefaultName, true},
		{"alone, & takes nothing away", creds{User: {"u": mode('&', "a")}}, "a", "a", false},
		{"two of them", creds{User: {"u": mode('&', "a", "b")}, Account: {"x": mode('&', "b", "c")}}, "b", "b", false},
		{"nothing but this", creds{User: {"u": of("a")}, Class: {"c": mode('^', "b")}}, "a", DefaultName, true},
		{"nothing but this one", creds{User: {"u": of("a")}, Class: {"c": mode('^', "b")}}, "b", "b", false},
		{"the first of two", creds{User: {"u": mode('^', "a")}, Class: {"c": mode('^', "b")}}, "b", DefaultName, true},
		{"a default that others take away", creds{User: {"u": {QDef: "a"}}, Group: {"g": {QDef: "b", QList: []string{"b"}, QListMode: '&'}}}, "", "b", false},
	} {
		cfg := setup{creds: c.creds}.config()
		qos, refused := cfg.qosOf(names{user: "u", group: "g", account: "x", class: "c", qos: c.asks})
		if qos != c.want || refused != c.refused {
			t.Errorf("%s: asking for %q = %q, refused %v, want %q, %v", c.name, c.asks, qos, refused, c.want, c.refused)
		}
	}
}
