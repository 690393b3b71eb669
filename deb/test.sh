#!/bin/sh
# Installs the package in a chroot of Debian, runs a job as an ordinary user, upgrades, removes, installs again and purges.
# usage, as root: deb/test.sh OLD.deb NEW.deb [FOLDER that debootstrap has filled]
set -eu

case ${1-} in
  --inside) ;;
  *)
    old=$(realpath "$1") new=$(realpath "$2") base=${3-}
    dir=$(mktemp -d)
    trap 'rm -rf --one-file-system "$dir"' EXIT
    if [ -n "$base" ]; then
      cp -a "$base" "$dir/root"
    else
      debootstrap --variant=minbase bookworm "$dir/root" >"$dir/log" || { tail "$dir/log" >&2; exit 1; }
    fi
    cp "$old" "$dir/root/old.deb"
    cp "$new" "$dir/root/new.deb"
    cp "$0" "$dir/root/test.sh"
    # Whatever the test starts ends with it, and what it mounts goes.
    unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" sh /test.sh --inside' sh "$dir/root"
    exit ;;
esac

export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
fail() { echo "test: $*" >&2; exit 1; }
files() {
  find / -xdev \( -path /proc -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/log -o -path /var/cache -o -path /tmp -o -path /run -o -path /home \) -prune -o -print |
    grep -v -e '^/etc/\(passwd\|group\|shadow\|gshadow\|sub[ug]id\)-$' | sort
}
# await COMMAND...: waits until it succeeds, for a minute at most.
await() {
  n=0
  until "$@"; do
    n=$((n + 1))
    [ $n -lt 300 ] || fail "waited in vain for: $*"
    sleep 0.2
  done
}
runs() { qstat -s r -af ClusterId | grep -qx "$1"; }
left() { [ "$(qstat -history -af ClusterId | wc -l)" -eq "$1" ]; }
[ -c /dev/null ] || fail "/dev is empty"
useradd -m ann
files >/tmp/before

echo "== install"
apt-get install -y --no-install-recommends /old.deb >/tmp/log 2>&1 || { cat /tmp/log; fail "the package does not install"; }
grep -q 'pool in /var/spool/fairspool: made' /tmp/log || fail "fairspool-setup has made no pool"
slots detect -count 1
starter -watch -door -q 2>/tmp/starter.log &
starter=$!
await [ -S /var/spool/fairspool/door ]
su ann -c 'cd && submit -wait -- echo hi && cat echo.1.0.out' | tee /tmp/said
grep -qx hi /tmp/said || fail "the job of an ordinary user has not run"
su ann -c 'qstat -history; qtail 1; fs-qstat' >/dev/null || fail "qstat"
su ann -c 'cd && submit -- sh -c "until [ -e goon ]; do sleep 1; done; echo done"'
await runs 2

echo "== upgrade, while a job runs"
apt-get install -y --no-install-recommends /new.deb >/tmp/log 2>&1 || { cat /tmp/log; fail "the package does not upgrade"; }
[ "$(dpkg-query -W -f '${Version}' fairspool)" = "$(dpkg-deb -f /new.deb Version)" ] || fail "it is not the new one"
kill $starter
wait $starter || true
starter -watch -door -q 2>>/tmp/starter.log &
starter=$!
touch /home/ann/goon
await left 2
grep -qx done /home/ann/sh.2.0.out || fail "the job did not outlive the upgrade"

echo "== remove"
kill $starter
wait $starter || true
apt-get remove -y fairspool >/tmp/log 2>&1 || { cat /tmp/log; fail "the package cannot be removed"; }
[ -e /var/spool/fairspool/VERSION ] || fail "the spool is gone"
for c in qstat fs-qstat submit; do ! [ -L /usr/bin/$c ] || fail "$c is left"; done

echo "== install again"
apt-get install -y --no-install-recommends /new.deb >/tmp/log 2>&1 || { cat /tmp/log; fail "the package does not install again"; }
left 2 || fail "the history is gone"

echo "== purge, while a job runs"
starter -watch -door -q 2>>/tmp/starter.log &
starter=$!
await [ -S /var/spool/fairspool/door ]
su ann -c 'cd && submit -- sleep 600'
await runs 3
kill $starter
wait $starter || true
apt-get purge -y fairspool >/tmp/log 2>&1 || { cat /tmp/log; fail "the package cannot be purged"; }
! grep -lsx sleep /proc/[0-9]*/comm || fail "the job still runs"
! getent passwd fairspool && ! getent group fairspool || fail "the account is left"
files >/tmp/after
diff /tmp/before /tmp/after || fail "files are left, or gone"
echo "== all is well"
