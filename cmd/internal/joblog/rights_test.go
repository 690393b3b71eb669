package joblog

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"fairspool/lib/classad"
	"fairspool/lib/pool"
	"fairspool/lib/userlog"
)

// What root writes on behalf of a user goes where the user may write, and nowhere
// else.
func TestRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write with the rights of others")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("no user to be: %v", err)
	}
	dir, err := os.MkdirTemp("", "joblog")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, mode := range map[string]fs.FileMode{"": 0o755, "roots": 0o755, "all": 0o777} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, name), mode), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	logOf := func(path, owner string) Log {
		ad := classad.New()
		ad.SetString(pool.AttrIwd, dir)
		ad.SetString(pool.AttrUserLog, path)
		ad.SetString(pool.AttrOwner, owner)
		return Of(ad)
	}
	event := userlog.Event{At: time.Unix(0, 0).UTC(), Body: userlog.Released{}}
	if err := logOf("roots/log", "nobody").Append("", event); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Append for nobody in a folder of root = %v, want permission denied", err)
	}
	if err := logOf("all/log", "nobody").Append("", event); err != nil {
		t.Errorf("Append for nobody in a folder for all = %v, want none", err)
	}
	info, err := os.Stat(filepath.Join(dir, "all", "log"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; strconv.Itoa(int(uid)) != nobody.Uid {
		t.Errorf("owner of the log = %d, want %s", uid, nobody.Uid)
	}
	if err := logOf("roots/log", "root").Append("", event); err != nil {
		t.Errorf("Append for root = %v, want none", err)
	}
}
