package userprio

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairspool/cmd/internal/cmdtest"
	"fairspool/internal/testenv"
	"fairspool/lib/accountant"
	"fairspool/lib/negotiator"
	"fairspool/lib/report/accounts"
	"fairspool/spool"
)

// grouped makes a spool with two groups, one below the other, alice and bob in
// them and carol in none; with the report of a cycle if cycle is set.
func grouped(t *testing.T, cycle bool) {
	t.Helper()
	at := time.Unix(cmdtest.Now, 0)
	cmdtest.Spool(t, func(tx *spool.Tx) {
		for i, name := range []string{accountant.RootGroup, "group_a", "group_a.x", "group_a.alice@pool", "group_a.x.bob@pool", "carol@pool"} {
			u, err := accountant.UsageOf(float64(i+1) * 3600)
			testenv.OK(t, err)
			tx.PutSubmitter(accountant.Record{Name: name, Priority: float64(i + 1), At: at, HalfLife: 24 * time.Hour, Slots: u, Weighted: u,
				ResourcesUsed: 1, InUse: accountant.One, Begin: at.Add(-time.Duration(i+1) * time.Hour), Last: at})
		}
	})
	config := filepath.Join(t.TempDir(), "fairspool.toml")
	text := "GROUP_NAMES = [\"group_a\", \"group_a.x\"]\nGROUP_QUOTA_group_a = 6\n\"GROUP_QUOTA_DYNAMIC_group_a.x\" = 0.5\n"
	testenv.OK(t, os.WriteFile(config, []byte(text), 0o600))
	t.Setenv("FAIRSPOOL_CONFIG", config)
	if !cycle {
		return
	}
	report, err := json.Marshal(accounts.LastCycle{
		Submitters: []negotiator.Share{{Name: "carol@pool", PieSlice: 4, Limit: 3}},
		Groups: []negotiator.Group{
			{Name: accountant.RootGroup, EffectiveQuota: 4, SubtreeQuota: 10, SurplusPolicy: "byquota", GroupSortKey: 3.4e38, Requested: 9, Usage: 2, Surplus: 0.5},
			{Name: "group_a", ConfigQuota: 6, EffectiveQuota: 6, SubtreeQuota: 6, SurplusPolicy: "no", GroupSortKey: 0.5, Requested: 2},
			{Name: "group_a.x", ConfigQuota: 0.5, EffectiveQuota: 3, SubtreeQuota: 3, SurplusPolicy: "regroup", GroupSortKey: 0.25, Requested: 1},
		},
	})
	testenv.OK(t, err)
	s, err := spool.Open(os.Getenv("FAIRSPOOL_DIR"), spool.Options{Program: "test", UIDDomain: "pool", Now: at})
	testenv.OK(t, err)
	defer s.Close()
	if err := s.SetReport(bytes.NewReader(report)); err != nil {
		t.Fatal(err)
	}
}

// Trailing blanks do not count in these tables.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		args  string
		cycle bool
		want  string
	}{
		{"-quotas -groupid", false, `Last Priority Update: 11/20 23:34
Group                Group Effective  Config     Use    Subtree   Weighted
  User Name           Id     Quota     Quota   Surplus   Quota   Requested
-------------------- ----- --------- --------- ------- --------- ----------
<none>                           n/d      0.00 yes           n/d        n/d
  carol@pool
group_a                  1       n/d      6.00 n/d           n/d        n/d
  alice@pool             1
group_a.x                2       n/d      0.50 n/d           n/d        n/d
  bob@pool               2
-------------------- ----- --------- --------- ------- --------- ----------
Number of users: 3
`},
		{"-quotas -flat", true, `Last Priority Update: 11/20 23:34
                   Effective  Config     Use    Subtree   Weighted
Group Name           Quota     Quota   Surplus   Quota   Requested
------------------ --------- --------- ------- --------- ----------
<none>                  4.00      0.00 yes         10.00          9
group_a                 6.00      6.00 no           6.00          2
group_a.x               3.00      0.50 Regroup      3.00          1
------------------ --------- --------- ------- --------- ----------
Number of users: 3                     ByQuota
`},
		// Of its own, with what groups use of their quotas and want.
		{"-quotas -hierarchical", true, `Last Priority Update: 11/20 23:34
Group                Effective  Config     Use    Subtree   Weighted  Weighted   Surplus
Name                   Quota     Quota   Surplus   Quota   Requested   In Use    In Use    Demand
-------------------- --------- --------- ------- --------- ---------- --------- --------- ---------
<none>                    4.00      0.00 yes         10.00          9      1.00      0.50      7.00
group_a                   6.00      6.00 no           6.00          2      1.00      0.00      2.00
  group_a.x               3.00      0.50 Regroup      3.00          1      1.00      0.00      1.00
-------------------- --------- --------- ------- --------- ---------- --------- --------- ---------
Number of users: 3                       ByQuota
`},
		// The group that used least of its quota comes first, nobody's last.
		{"-priority -sortkey", true, `Last Priority Update: 11/20 23:34
Group                  Group    Effective     Real   Priority
  User Name          Sort Key    Priority   Priority  Factor
-------------------- --------- ------------ -------- ---------
group_a.x                 0.25                  3.00      1.00
  bob@pool                             5.00     5.00      1.00
group_a                   0.50                  2.00      1.00
  alice@pool                           4.00     4.00      1.00
<none>                 3.4e+38                  1.00      1.00
  carol@pool                           6.00     6.00      1.00
-------------------- --------- ------------ -------- ---------
Number of users: 3
`},
		{"-usage -grouprollup -grouporder", true, `Last Priority Update: 11/20 23:34
                   Wghted Total Usage       Usage             Last
User Name          In Use (wghted-hrs)    Start Time       Usage Time
------------------ ------ ------------ ---------------- ----------------
<none>                  3         6.00 11/20/2026 20:34 11/20/2026 23:34
group_a                 2         5.00 11/20/2026 20:34 11/20/2026 23:34
group_a.x               1         3.00 11/20/2026 20:34 11/20/2026 23:34
group_a.alice@pool      1         4.00 11/20/2026 19:34 11/20/2026 23:34
group_a.x.bob@pool      1         5.00 11/20/2026 18:34 11/20/2026 23:34
carol@pool              1         6.00 11/20/2026 17:34 11/20/2026 23:34
------------------ ------ ------------ ---------------- ----------------
Number of users: 3      3        15.00                  11/19/2026 23:34
`},
		{"-priority", true, `Last Priority Update: 11/20 23:34
                    Effective     Real   Priority
User Name            Priority   Priority  Factor
------------------ ------------ -------- ---------
group_a.alice@pool         4.00     4.00      1.00
group_a.x.bob@pool         5.00     5.00      1.00
carol@pool                 6.00     6.00      1.00
------------------ ------------ -------- ---------
Number of users: 3
`},
		{"-priority -hierarchical -order", true, `Last Priority Update: 11/20 23:34
Group                  Group    Effective     Real   Priority
  User Name            Order     Priority   Priority  Factor
-------------------- --------- ------------ -------- ---------
group_a.x                 0.25                  3.00      1.00
  bob@pool                0.25         5.00     5.00      1.00
group_a                   0.50                  2.00      1.00
  alice@pool              0.50         4.00     4.00      1.00
<none>                 3.4e+38                  1.00      1.00
  carol@pool           3.4e+38         6.00     6.00      1.00
-------------------- --------- ------------ -------- ---------
Number of users: 3
`},
		{"-priority -hierarchical group_a.alice", true, `Last Priority Update: 11/20 23:34
Group                 Effective     Real   Priority
  User Name            Priority   Priority  Factor
-------------------- ------------ -------- ---------
  alice@pool                 4.00     4.00      1.00
-------------------- ------------ -------- ---------
Number of users: 1
`},
		// What it is ordered by, when usage is shown, is usage in hours.
		{"-usage -order", true, `Last Priority Update: 11/20 23:34
Group                  Group   Wghted Total Usage       Usage             Last
  User Name            Order   In Use (wghted-hrs)    Start Time       Usage Time
-------------------- --------- ------ ------------ ---------------- ----------------
<none>                    1.00      1         1.00 11/20/2026 22:34 11/20/2026 23:34
  carol@pool              1.00      1         6.00 11/20/2026 17:34 11/20/2026 23:34
group_a                   2.00      1         2.00 11/20/2026 21:34 11/20/2026 23:34
  alice@pool              2.00      1         4.00 11/20/2026 19:34 11/20/2026 23:34
group_a.x                 3.00      1         3.00 11/20/2026 20:34 11/20/2026 23:34
  bob@pool                3.00      1         5.00 11/20/2026 18:34 11/20/2026 23:34
-------------------- --------- ------ ------------ ---------------- ----------------
Number of users: 3                  3        15.00                  11/19/2026 23:34
`},
		// No cycle has told what that group is ordered by.
		{"-priority -flat -order group_a.alice", false, `Last Priority Update: 11/20 23:34
                     Group    Effective     Real   Priority
User Name            Order     Priority   Priority  Factor
------------------ --------- ------------ -------- ---------
group_a.alice@pool                   4.00     4.00      1.00
------------------ --------- ------------ -------- ---------
Number of users: 1
`},
		// Without anybody in a group the columns about groups say nothing, and are
		// shown only if they were asked for by name.
		{"-most -sortkey carol", true, `Last Priority Update: 11/20 23:34
                     Group    Effective   Priority  Wghted Total Usage  Time Since Submitter Submitter
User Name          Sort Key    Priority    Factor   In Use (wghted-hrs) Last Usage   Floor    Ceiling
------------------ --------- ------------ --------- ------ ------------ ---------- --------- ---------
carol@pool                           6.00      1.00      1         6.00      <now>
------------------ --------- ------------ --------- ------ ------------ ---------- --------- ---------
Number of users: 1                                       1         6.00
`},
		{"-most carol", true, `Last Priority Update: 11/20 23:34
                    Effective   Priority  Wghted Total Usage  Time Since Submitter Submitter
User Name            Priority    Factor   In Use (wghted-hrs) Last Usage   Floor    Ceiling
------------------ ------------ --------- ------ ------------ ---------- --------- ---------
carol@pool                 6.00      1.00      1         6.00      <now>
------------------ ------------ --------- ------ ------------ ---------- --------- ---------
Number of users: 1                             1         6.00
`},
	} {
		grouped(t, c.cycle)
		status, out, bad := userprio(strings.Fields(c.args)...)
		if status != 0 || bad != "" || bare(out) != c.want {
			t.Errorf("userprio %s = %d, %q\n%swant\n%s", c.args, status, bad, out, c.want)
		}
	}
}

// bare leaves out the blanks that lines end in.
func bare(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func TestGroupsForPrograms(t *testing.T) {
	grouped(t, true)
	_, out, _ := userprio("-json")
	var got struct {
		Submitters []struct {
			Name, AccountingGroup          string
			SubmitterShare, SubmitterLimit float64
		}
		Groups []struct {
			Name                             string
			IsAccountingGroup                bool
			ConfigQuota, Requested, Priority float64
		}
	}
	testenv.OK(t, json.Unmarshal([]byte(out), &got))
	if len(got.Submitters) != 3 || len(got.Groups) != 3 || got.Submitters[2].SubmitterShare != 1 || got.Submitters[2].SubmitterLimit != 3 ||
		got.Submitters[1].AccountingGroup != "group_a.x" || !got.Groups[2].IsAccountingGroup || got.Groups[2].ConfigQuota != 0.5 || got.Groups[1].Requested != 2 || got.Groups[1].Priority != 2 {
		t.Errorf("userprio -json = %+v", got)
	}
	_, out, _ = userprio("-constraint", "IsAccountingGroup", "-autof:h", "Name", "SurplusPolicy")
	if want := "Name SurplusPolicy\n<none> byquota      \ngroup_a no           \ngroup_a.x regroup      \n"; out != want {
		t.Errorf("userprio -autof:h = %q, want %q", out, want)
	}
}
