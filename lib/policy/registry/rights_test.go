package registry

import (
	"errors"
	"strings"
	"testing"

	"fairspool/lib/classad"
	"fairspool/lib/config"
	"fairspool/lib/policy"
	gridengine "fairspool/lib/policy/sge"
	"fairspool/lib/sge"
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
func rightsIn(t *testing.T, text, owner string, admin bool) policy.Rights {
	t.Helper()
	cfg, err := Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]string{"alice": {"users"}, "bob": {"users"}, "dave": {"users", "physics"}}
	return policy.RightsOf(Of(&cfg), &cfg, owner, admin, owner, func(user string) ([]string, error) { return groups[user], nil })
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
	const want = `Owner: "alice": only administrators may submit for users other than bob`
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

// rightsConfig is a pool with something to be refused everywhere.
var rightsConfig = sge.Config{
	Complexes: []sge.Complex{{Name: "slots", Shortcut: "s", Urgency: 1000}, {Name: "lic", Shortcut: "l", Urgency: 500},
		{Name: "flag", Type: sge.Bool, Urgency: 50}, {Name: "wall", Type: sge.Time, Urgency: 1}, {Name: "site", Type: sge.String, Urgency: 7}, {Name: "idle"}},
	PEs: []sge.PE{{Name: "mpi", Slots: 20}, {Name: "mpich", Slots: 20, UrgencySlots: sge.UrgencySlots{Kind: sge.MaxSlots}}},
	Projects: map[string]sge.Object{
		"pa": {}, "pb": {ACL: []string{"staff", "none"}}, "pc": {XACL: []string{"staff"}}, "pd": {ACL: []string{"staff"}, XACL: []string{"guests"}},
	},
	Users:       map[string]sge.Object{"erin": {DefaultProject: "pb"}, "frank": {DefaultProject: "pz"}, "carol": {DefaultProject: "pb"}},
	Departments: map[string]sge.Object{"d1": {Entries: []string{"alice"}}, "d2": {Entries: []string{"@hpc", "bob"}}, "d3": {}},
	Usersets:    map[string]sge.Userset{"deadlineusers": {Entries: []string{"@hpc"}}, "staff": {Entries: []string{"carol", "@hpc"}}, "guests": {Entries: []string{"bob"}}},
}

// ruled is that pool under a policy.
func ruled(policy string) *config.Config {
	c := Default()
	c.JobPriorityPolicy, *gridengine.Settings(&c) = policy, rightsConfig
	return &c
}

// sgeRights are the rights for jobs of an owner in that pool; carol is in the Unix group hpc.
func sgeRights(owner string, admin bool) policy.Rights {
	c := ruled("sge")
	return policy.RightsOf(Of(c), c, owner, admin, owner, func(user string) (groups []string, err error) {
		if user == "carol" {
			groups = []string{"hpc"}
		}
		return groups, nil
	})
}

// submitted returns the ad of a job of an owner as submit makes it.
func submitted(t *testing.T, owner, text string) *classad.Ad {
	t.Helper()
	ad := parsedAd(t, text)
	ad.SetString("Owner", owner)
	if owner == "carol" && !ad.Has("UnixGroup") {
		ad.SetString("UnixGroup", "hpc")
	}
	return ad
}

func parsedAd(t *testing.T, text string) *classad.Ad {
	t.Helper()
	ad, err := classad.ParseAd("[" + text + "]")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ad
}

func TestSGERights(t *testing.T) {
	const lower = ": only administrators may raise a priority; yours can be lowered"
	const deadline = "Deadline: only administrators and the users of the userset deadlineusers may set one, and alice is not one of them"
	for _, c := range []struct{ owner, ad, want, admin string }{ // want is for the owner, admin for an administrator
		{"alice", "", "", ""}, {"alice", "JobPrio = 0", "", ""}, {"alice", "JobPrio = -1023", "", ""}, {"alice", "JobPrio = undefined", "", ""},
		{"alice", "JobPrio = 1", "JobPrio: 1 is above 0" + lower, ""}, {"alice", "JobPrio = 1024", "JobPrio: 1024 is above 0" + lower, ""},
		{"alice", "JobPrio = 1025", "JobPrio: 1025: want a whole number from -1023 to 1024", "="}, {"alice", "JobPrio = -1024", "JobPrio: -1024: want a whole number from -1023 to 1024", "="},
		{"alice", "JobPrio = -ProcId", "JobPrio: -ProcId: want a whole number from -1023 to 1024", "="}, {"alice", `JobPrio = "5"`, `JobPrio: "5": want a whole number from -1023 to 1024`, "="},
		{"alice", "JobPrio = true", "JobPrio: true: want a whole number from -1023 to 1024", "="}, {"alice", "jobprio = 2.5", "JobPrio: 2.5: want a whole number from -1023 to 1024", "="},

		{"alice", "Deadline = 1800000000", deadline, ""}, {"carol", "Deadline = 1800000000", "", ""}, {"alice", "Deadline = undefined", "", ""}, {"alice", "Deadline = 0", "", ""},
		{"carol", "Deadline = QDate", "Deadline: QDate: want a whole number from 0 to 253402300799", "="}, {"carol", "Deadline = -1", "Deadline: -1: want a whole number from 0 to 253402300799", "="},
		{"carol", "Deadline = 253402300799", "", ""}, {"carol", "Deadline = 253402300800", "Deadline: 253402300800: want a whole number from 0 to 253402300799", "="},

		{"alice", "JobShare = 4294967295", "", ""}, {"alice", "JobShare = 4294967296", "JobShare: 4294967296: want a whole number from 0 to 4294967295", "="},

		{"alice", `Project = "pa"`, "", ""}, {"alice", `Project = "pz"`, `Project: "pz": there is no such project; did you mean pa?`, "="},
		{"alice", `Project = "elsewhere"`, `Project: "elsewhere": there is no such project; administrators configure it as [sge.projects.elsewhere]`, "="},
		{"alice", `Project = "pb"`, `Project: "pb": alice has no access to this project, which is for staff, none: name another one`, "="}, {"carol", `Project = "pb"`, "", ""},
		{"carol", `Project = "pc"`, `Project: "pc": carol has no access to this project, which is not for staff: name another one`, "="}, {"alice", `Project = "pc"`, "", ""},
		{"bob", `Project = "pd"`, `Project: "pd": bob has no access to this project, which is for staff: name another one`, "="}, {"carol", `Project = "pd"`, "", ""},
		{"alice", `Project = Owner`, "Project: Owner: want a name in double quotes", "="}, {"alice", `Project = ""`, `Project: "": want a name in double quotes`, "="}, {"alice", "Project = undefined", "", ""},

		{"erin", "", `Project: "pb", the default project of erin: erin has no access to this project, which is for staff, none: name another one`, "="},
		{"erin", "Project = undefined", `Project: "pb", the default project of erin: erin has no access to this project, which is for staff, none: name another one`, "="},
		{"frank", "JobPrio = -1", `Project: "pz", the default project of frank: there is no such project; did you mean pa?`, "="},
		{"erin", `Project = "pa"`, "", ""}, {"carol", "", "", ""},

		{"alice", `Department = "d1"`, "", ""}, {"alice", `Department = "d2"`, `Department: "d2": alice belongs to d1: leave the department out, or ask an administrator`, ""},
		{"carol", `Department = "d2"`, "", ""}, {"alice", `Department = "defaultdepartment"`, `Department: "defaultdepartment": alice belongs to d1: leave the department out, or ask an administrator`, ""},
		{"dave", `Department = "defaultdepartment"`, "", ""}, {"dave", `Department = "d3"`, `Department: "d3": dave belongs to defaultdepartment: leave the department out, or ask an administrator`, ""},
		{"dave", `Department = "d9"`, `Department: "d9": there is no such department; did you mean d1?`, "="},

		{"carol", `UnixGroup = "hpc"`, "", ""}, {"alice", `UnixGroup = "hpc"`, `UnixGroup: "hpc": alice does not belong to this Unix group: leave it out, or ask an administrator`, ""},

		{"alice", "ParallelSlots = 4", "", ""}, {"alice", `ParallelSlots = "2-8"`, "", ""}, {"alice", "ParallelSlots = 0", `ParallelSlots: "0": a number of slots must be greater than zero`, "="},
		{"alice", "ParallelSlots = ProcId", "ParallelSlots: ProcId: want a number of slots, or ranges in double quotes", "="},
		{"alice", `ParallelEnvironment = "mpi"; ParallelSlots = "2-8"`, "", ""}, {"alice", `ParallelEnvironment = "mpi*"; ParallelSlots = 4`, "", ""}, {"alice", `ParallelEnvironment = "mpi"`, "", ""},
		{"alice", `ParallelEnvironment = "mpj"; ParallelSlots = 4`, `ParallelEnvironment: parallel environment "mpj" does not exist; did you mean mpi?`, "="},
		{"alice", `ParallelEnvironment = "mpi*"; ParallelSlots = "2-8"`, `ParallelEnvironment: parallel environments that match "mpi*" assume different numbers of slots of 2-8 (mpi 2, mpich 8): name one of them, or ask for a fixed number`, "="},

		{"alice", "RequestLic = 2", "", ""}, {"alice", "RequestSlots = 4", "RequestSlots: slots cannot be requested like that: use parallel_slots", "="},
		{"alice", "RequestLic = 0.5", "RequestLic: 0.5: the complex lic wants a whole number: its type is INT", "="}, {"alice", "RequestL = 2.0", "", ""}, {"alice", `RequestLic = "2"`, "", ""},
		{"alice", "RequestL = true", "RequestL: true: the complex lic wants a whole number: its type is INT", "="}, {"alice", "RequestLic = undefined", "", ""}, {"alice", "RequestLic = ProcId", "", ""},
		{"alice", "RequestLic = 1e400", `RequestLic: real("INF"): the complex lic wants a whole number: its type is INT`, "="},
		{"alice", "RequestFlag = 2", "RequestFlag: 2: the complex flag wants true or false: its type is BOOL", "="}, {"alice", "RequestFlag = false", "", ""}, {"alice", "RequestFlag = 1", "", ""},
		{"alice", `RequestWall = "1:0:0"`, "", ""}, {"alice", `RequestWall = "1h"`, `RequestWall: "1h": the complex wall wants seconds, or h:m:s in double quotes: its type is TIME`, "="},
		{"alice", `RequestSite = "x"`, "", ""}, {"alice", "RequestIdle = 0.5", "", ""},
		{"alice", "requests = 4", "RequestS: slots cannot be requested like that: use parallel_slots", "="},
	} {
		if c.admin == "=" {
			c.admin = c.want
		}
		for _, admin := range []bool{false, true} {
			r, want, got := sgeRights(c.owner, admin), c.want, ""
			if admin {
				want = c.admin
			}
			if err := r.Submit(submitted(t, c.owner, c.ad)); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("Submit(%s) by %s, administrator: %v = %s, want %s", c.ad, c.owner, admin, got, want)
			}
		}
	}
}

// TestSGEChanges: only what changes is looked at, and what it goes with.
func TestSGEChanges(t *testing.T) {
	r := sgeRights("alice", false)
	for _, c := range []struct {
		before, after string
		attrs         []string
		want          string
	}{
		{"JobPrio = -5", "JobPrio = -6", []string{"jobprio"}, ""}, {"JobPrio = 5", "JobPrio = 5", []string{"JobPrio"}, ""}, {"JobPrio = 5", "JobPrio = 0", []string{"JobPrio"}, ""},
		{"JobPrio = -5", "JobPrio = -4", []string{"JobPrio"}, "JobPrio: -4 is above -5: only administrators may raise a priority; yours can be lowered"},
		{"JobPrio = 5000", "JobPrio = 1024", []string{"JobPrio"}, ""}, {"JobPrio = -5000", "JobPrio = -1022", []string{"JobPrio"}, "JobPrio: -1022 is above -1023: only administrators may raise a priority; yours can be lowered"},
		{"JobPrio = ProcId", "JobPrio = 1", []string{"JobPrio"}, "JobPrio: 1 is above 0: only administrators may raise a priority; yours can be lowered"},
		{"JobPrio = 5", `JobPrio = 9; Project = "pz"; JobShare = 3`, []string{"JobShare"}, ""},
		{`ParallelEnvironment = "mpi*"`, `ParallelEnvironment = "mpi*"; ParallelSlots = "2-8"`, []string{"ParallelSlots"},
			`ParallelEnvironment: parallel environments that match "mpi*" assume different numbers of slots of 2-8 (mpi 2, mpich 8): name one of them, or ask for a fixed number`},
		{`Project = "pb"`, "Project = undefined", []string{"Project"}, ""},
		{"", "Deadline = undefined", []string{"Deadline"}, ""}, {"", "Note = 7", []string{"Note"}, ""}, {"", "JobPrio = 7", []string{}, ""},
	} {
		got := ""
		if err := r.Change(parsedAd(t, c.before), parsedAd(t, c.after), c.attrs); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Change from %s to %s of %q = %s, want %s", c.before, c.after, c.attrs, got, c.want)
		}
	}
}

// TestSGEDefaultProject: who takes a job's project back puts it into the owner's default one;
// other changes of a job that is there already have nothing to do with that.
func TestSGEDefaultProject(t *testing.T) {
	r := sgeRights("erin", true)
	const want = `Project: "pb", the default project of erin: erin has no access to this project, which is for staff, none: name another one`
	if err := r.Change(parsedAd(t, `Project = "pa"`), parsedAd(t, "Project = undefined"), []string{"Project"}); err == nil || err.Error() != want {
		t.Errorf("Change to no project by an administrator = %v, want %s", err, want)
	}
	if err := r.Change(classad.New(), parsedAd(t, "JobPrio = -3"), []string{"JobPrio"}); err != nil {
		t.Errorf("Change of the priority = %v, want nil", err)
	}
}

// TestSGERightsUntold: if the groups of a user cannot be found, no right is granted by a
// group, and none refused to a user whom the list names.
func TestSGERightsUntold(t *testing.T) {
	gone := errors.New("no answer")
	r := sgeRights("bob", false)
	r.Groups = func() ([]string, error) { return nil, gone }
	for ad, untold := range map[string]bool{"Deadline = 5": true, `Project = "pc"`: true, `Project = "pa"`: false, `UnixGroup = "hpc"`: true, `Department = "d1"`: false, "JobPrio = -1": false} {
		err := r.Submit(submitted(t, "bob", ad))
		if errors.Is(err, gone) != untold {
			t.Errorf("Submit(%s) without groups = %v, want it to fail: %v", ad, err, untold)
		}
	}
}

// TestRuled holds which attributes have rules, and which jobs that come late have in common.
func TestRuled(t *testing.T) {
	for policy, want := range map[string][2]string{
		"condor": {"Owner AccountingGroup", "AccountingGroup accounting_group_user nice_user"},
		"maui":   {"Owner AccountingGroup UnixGroup AcctGroup Class QOS", "UnixGroup AcctGroup Class QOS AccountingGroup accounting_group_user nice_user"},
		"sge": {"Owner AccountingGroup JobPrio Deadline JobShare Project Department UnixGroup ParallelSlots ParallelEnvironment RequestSlots RequestS" +
			" RequestSlots RequestS RequestLic RequestL RequestFlag RequestWall RequestSite RequestIdle",
			"JobPrio Deadline JobShare Project Department UnixGroup ParallelSlots ParallelEnvironment RequestSlots RequestS AccountingGroup accounting_group_user nice_user"},
	} {
		cfg := ruled(policy)
		rules := Of(cfg).Rules(cfg)
		if got := strings.Join(rules.Ruled(), " "); got != want[0] {
			t.Errorf("ruled under %s: %s, want %s", policy, got, want[0])
		}
		if got := strings.Join(rules.SettledFor(false), " "); got != want[1] {
			t.Errorf("settled under %s: %s, want %s", policy, got, want[1])
		}
	}
}
