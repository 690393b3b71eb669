package operation

import (
	"errors"
	"testing"

	"fairspool/lib/config"
)

// groupConfig is a pool with groups that are open to all, to some and to none.
const groupConfig = `GROUP_NAMES = ["physics", "physics.hep", "physics.open", "chem", "closed", "a", "a.b"]
[groups.physics]
members = ["alice", "@physics"]
[groups."physics.open"]
members = ["alice", "bob"]
[groups.closed]
members = []
`

// rightsOf returns the rights of an owner, who submits, in a pool in which dave belongs to the
// Unix groups users and physics, and alice and bob to users.
func rightsIn(t *testing.T, text, owner string, admin bool) Rights {
	t.Helper()
	cfg, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]string{"alice": {"users"}, "bob": {"users"}, "dave": {"users", "physics"}}
	return RightsOf(&cfg, owner, admin, owner, func(user string) ([]string, error) { return groups[user], nil })
}

// judged returns what is said of a job with an ad, submitted by its owner and by an administrator.
func judged(t *testing.T, config, owner, ad string) (own, admin string) {
	t.Helper()
	words := func(admin bool) string {
		job := parsedAd(t, ad)
		if !job.Has("Owner") {
			job.SetString("Owner", owner)
		}
		if err := rightsIn(t, config, owner, admin).Submit(job); err != nil {
			return err.Error()
		}
		return ""
	}
	return words(false), words(true)
}

func TestAccountingGroupRights(t *testing.T) {
	const others = ": jobs of bob are charged to bob, or in a group to GROUP.bob: only administrators may charge others"
	const unknown = ": only administrators may charge other names"
	no := func(group, of string) string {
		return `AccountingGroup: "` + group + `": bob is no member of the group ` + of + ": leave the group out, or ask an administrator for [groups." + of + "] members"
	}
	for _, policy := range []string{"condor", "maui", "sge"} {
		for _, c := range []struct{ owner, group, want string }{
			{"bob", `undefined`, ""},
			{"bob", `"bob"`, ""},
			{"bob", `"alice"`, `AccountingGroup: "alice"` + others},
			{"bob", `"BOB"`, `AccountingGroup: "BOB"` + others},
			{"bob", `"bob@elsewhere"`, `AccountingGroup: "bob@elsewhere"` + others},
			{"bob", `".bob"`, `AccountingGroup: ".bob": GROUP_NAMES has no group ` + unknown},
			{"bob", `"inv1.bob"`, `AccountingGroup: "inv1.bob": GROUP_NAMES has no group inv1` + unknown},
			{"bob", `"chen.bob"`, `AccountingGroup: "chen.bob": GROUP_NAMES has no group chen; did you mean chem?` + unknown},
			{"bob", `"chem.bob"`, ""},
			{"bob", `"CHEM.bob"`, ""},
			{"bob", `"chem.x.bob"`, `AccountingGroup: "chem.x.bob": GROUP_NAMES has no group chem.x; did you mean chem?` + unknown},
			{"bob", `"chem.alice"`, `AccountingGroup: "chem.alice"` + others},
			{"bob", `"chem"`, `AccountingGroup: "chem"` + others},
			{"bob", `"nice-user.bob"`, ""},
			{"bob", `"physics.bob"`, no("physics", "physics")},
			{"bob", `"physics.hep.bob"`, no("physics.hep", "physics")},
			{"bob", `"physics.open.bob"`, ""},
			{"bob", `"closed.bob"`, no("closed", "closed")},
			{"bob", `strcat("al", "ice")`, `AccountingGroup: strcat("al","ice"): want a name in double quotes`},
			{"bob", `Other`, `AccountingGroup: Other: want a name in double quotes`},
			{"alice", `"physics.alice"`, ""},
			{"alice", `"Physics.HEP.alice"`, ""},
			{"dave", `"physics.hep.dave"`, ""},
			{"b.c", `"chem.b.c"`, ""},
			{"c", `"a.b.c"`, ""},
			{"b.c", `"a.b.c"`, `AccountingGroup: "a.b.c": it would count for the group a.b, as names of groups end at the last dot`},
		} {
			ad := "AccountingGroup = " + c.group
			if policy != "condor" {
				ad += `; UnixGroup = "users"`
			}
			if c.owner == "c" || c.owner == "b.c" {
				ad = "AccountingGroup = " + c.group
			}
			got, admin := judged(t, "JOB_PRIORITY_POLICY = \""+policy+"\"\n"+groupConfig, c.owner, ad)
			if policy == "sge" && admin != "" { // which asks of administrators that the Unix group is right
				admin = ""
			}
			if got != c.want || admin != "" {
				t.Errorf("%s: Submit(%s) by %s = %s, and by an administrator %s; want %s and nothing", policy, ad, c.owner, got, admin, c.want)
			}
		}
	}
}

// TestOwnerRights holds that nobody but an administrator submits for others.
func TestOwnerRights(t *testing.T) {
	const want = `Owner: "alice": only administrators may submit for somebody else than bob`
	if got, admin := judged(t, "", "bob", `Owner = "alice"`); got != want || admin != "" {
		t.Errorf("Submit of alice's job by bob = %s, and by an administrator %s; want %s and nothing", got, admin, want)
	}
	r := rightsIn(t, "", "alice", false)
	r.Caller = "bob"
	if err := r.Submit(parsedAd(t, `Owner = "alice"`)); err == nil || err.Error() != want {
		t.Errorf("Submit for alice by bob = %v, want %s", err, want)
	}
}

func TestMauiRights(t *testing.T) {
	const lists = `JOB_PRIORITY_POLICY = "maui"
GROUP_NAMES = ["theory"]
[groups.theory]
members = ["alice"]
[maui]
"USERCFG[alice]" = "ALIST=gold,silver ADEF=silver CLIST=fast&"
"GROUPCFG[physics]" = "ALIST=proton CDEF=batch QLIST=high"
"ACCOUNTCFG[gold]" = "CLIST=fast,slow"
"QOSCFG[high]" = "PRIORITY=5"
`
	const open = "JOB_PRIORITY_POLICY = \"maui\"\n"
	no := func(attr, name, owner, list string) string {
		return attr + `: "` + name + `": ` + owner + " has no access to it: leave it out, or ask an administrator to put it into " + list
	}
	for _, c := range []struct{ config, owner, ad, want string }{
		{open, "bob", `UnixGroup = "users"`, ""},
		{open, "bob", `UnixGroup = "users"; AcctGroup = "any"; Class = "any"`, ""},
		{open, "bob", `UnixGroup = "physics"`, `UnixGroup: "physics": bob does not belong to this Unix group: leave it out, or ask an administrator`},
		{open, "bob", ``, `UnixGroup: want one of the Unix groups of bob: users`},
		{open, "bob", `UnixGroup = strcat("phy","sics")`, `UnixGroup: strcat("phy","sics"): want a name in double quotes`},
		{open, "nobody-knows", ``, ""},
		{open, "bob", `UnixGroup = "users"; QOS = "high"`, no("QOS", "high", "bob", "QLIST")},
		{open, "bob", `UnixGroup = "users"; QOS = "DEFAULT"`, ""},
		{open, "bob", `UnixGroup = "users"; Class = ifThenElse(time() > 5, "a", "b")`, `Class: ifThenElse(time() > 5,"a","b"): want a name in double quotes`},

		{lists, "alice", `UnixGroup = "users"; AcctGroup = "gold"`, ""},
		{lists, "alice", `UnixGroup = "users"`, `AcctGroup: missing: want "silver", which is what alice has by default`},
		{lists, "alice", `UnixGroup = "users"; AcctGroup = "free"`, no("AcctGroup", "free", "alice", "ALIST")},
		{lists, "bob", `UnixGroup = "users"`, ""},
		{lists, "bob", `UnixGroup = "users"; AcctGroup = "gold"`, no("AcctGroup", "gold", "bob", "ALIST")},
		{lists, "bob", `UnixGroup = "users"; AcctGroup = "silver"`, no("AcctGroup", "silver", "bob", "ALIST")},
		{lists, "bob", `UnixGroup = "users"; AcctGroup = "free"`, ""},
		{lists, "bob", `UnixGroup = "users"; AcctGroup = "theory"`, `AcctGroup: "theory": bob is no member of the group theory: leave the group out, or ask an administrator for [groups.theory] members`},
		{lists, "dave", `UnixGroup = "physics"; AcctGroup = "proton"; Class = "batch"; QOS = "high"`, ""},
		{lists, "dave", `UnixGroup = "users"; AcctGroup = "proton"`, no("AcctGroup", "proton", "dave", "ALIST")},
		{lists, "dave", `UnixGroup = "physics"; AcctGroup = "proton"`, `Class: missing: want "batch", which is what dave has by default`},
		{lists, "dave", `UnixGroup = "users"; QOS = "high"`, no("QOS", "high", "dave", "QLIST")},
		{lists, "alice", `UnixGroup = "users"; AcctGroup = "gold"; Class = "fast"`, ""},
		{lists, "alice", `UnixGroup = "users"; AcctGroup = "gold"; Class = "slow"`, no("Class", "slow", "alice", "CLIST")},
		{lists, "bob", `UnixGroup = "users"; Class = "fast"`, no("Class", "fast", "bob", "CLIST")},
		{lists, "bob", `UnixGroup = "users"; Class = "night"`, ""},
	} {
		got, admin := judged(t, c.config, c.owner, c.ad)
		if got != c.want || admin != "" {
			t.Errorf("Submit(%s) by %s = %s, and by an administrator %s; want %s and nothing", c.ad, c.owner, got, admin, c.want)
		}
	}
}

// TestMauiChanges holds that a change of the Unix group is held to what the job has by it.
func TestMauiChanges(t *testing.T) {
	r := rightsIn(t, "JOB_PRIORITY_POLICY = \"maui\"\n[maui]\n\"GROUPCFG[physics]\" = \"ALIST=proton\"\n", "dave", false)
	before := parsedAd(t, `Owner = "dave"; UnixGroup = "physics"; AcctGroup = "proton"; Class = 5`)
	after := parsedAd(t, `Owner = "dave"; UnixGroup = "users"; AcctGroup = "proton"; Class = 5`)
	for attr, want := range map[string]bool{"unixgroup": true, "AcctGroup": true, "JobPrio": false, "Rank": false} {
		if err := r.Change(before, after, []string{attr}); (err != nil) != want {
			t.Errorf("Change of %s = %v, want it refused: %v", attr, err, want)
		}
	}
}

// TestUntoldGroups holds that where the groups cannot be told nothing is granted by one, and
// nothing refused to those listed by name.
func TestUntoldGroups(t *testing.T) {
	gone := errors.New("no answer")
	for owner, untold := range map[string]bool{"alice": false, "bob": true} {
		r := rightsIn(t, groupConfig, owner, false)
		r.Groups = func() ([]string, error) { return nil, gone }
		err := r.Submit(submitted(t, owner, `AccountingGroup = "physics.`+owner+`"`))
		if errors.Is(err, gone) != untold {
			t.Errorf("Submit by %s without groups = %v, want it to fail: %v", owner, err, untold)
		}
	}
}
