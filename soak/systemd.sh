#!/bin/sh
# What only a machine that systemd runs can show, for root there: a supervisor lives in a
# scope of its own and survives the service that started it, its job is in a cgroup below,
# the kernel keeps the job's memory limit, and nothing is left of the scope afterwards. A job whose
# scope is stopped is idle again.
# The commands are those in bin (make).
set -eu
PATH=$(cd "$(dirname "$0")/.." && pwd)/bin:$PATH
[ -d /run/systemd/system ] || { echo "systemd.sh: systemd does not run this machine" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "systemd.sh: want root" >&2; exit 1; }
scratch=$(mktemp -d /var/tmp/fairspool-systemd.XXXXXX)
caller=fairspool-test-$$.service
trap 'systemctl stop $caller 2>/dev/null || true; rm -rf "$scratch"' EXIT
export FAIRSPOOL_CYCLE_ON_CHANGE=false FAIRSPOOL_DIR=$scratch/spool FAIRSPOOL_CONFIG=$scratch/fairspool.toml
cd "$scratch"
cat >fairspool.toml <<'TOML'
UID_DOMAIN = "example.org"
NETWORK_HOSTNAME = "node1"
CGROUP_MEMORY_LIMIT_POLICY = "hard"
TOML
cat >slots.ads <<'AD'
Name = "slot1@node1"
Machine = "node1"
Memory = 1024
Disk = 1000000
Requirements = true
AD
cat >stay.sh <<'SH'
#!/bin/sh
(setsid sleep 1000 &)
echo $$ >main
until [ -e go ]; do sleep 0.1; done
SH
cat >fill.sh <<'SH'
#!/bin/sh
x=$(head -c 200M /dev/zero | tr '\0' a)
sleep 1000
SH
cat >wait.sh <<'SH'
#!/bin/sh
echo $$ >main
sleep 1000
SH
chmod 755 stay.sh fill.sh wait.sh
slots advertise slots.ads

fail() { echo "systemd.sh: $*" >&2; exit 1; }
until_true() {
  n=0
  until "$@"; do
    n=$((n + 1))
    [ $n -lt 300 ] || fail "after 30 s it is not so: $*"
    sleep 0.1
  done
}
group() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
no_scope() { [ -z "$(systemctl list-units --plain --no-legend 'fairspool-*.scope')" ]; }

echo "== a supervisor survives the service that started it"
printf 'executable = stay.sh\nrequest_memory = 100\nqueue\n' | submit -
negotiate -q
systemd-run --quiet --unit="$caller" --property=RemainAfterExit=yes --property=Type=oneshot \
  --setenv=FAIRSPOOL_DIR="$FAIRSPOOL_DIR" --setenv=FAIRSPOOL_CONFIG="$FAIRSPOOL_CONFIG" \
  --setenv=FAIRSPOOL_CYCLE_ON_CHANGE=false "$(command -v starter)" -q
until_true test -s main
main=$(cat main)
case $(group "$main") in
/fairspool.slice/fairspool-*.scope/fairspool/*-1.0.1) ;;
*) fail "the job is in $(group "$main")" ;;
esac
supervisor=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$main/status")
case $(group "$supervisor") in
/fairspool.slice/fairspool-*.scope/supervisor) ;;
*) fail "its supervisor is in $(group "$supervisor")" ;;
esac
[ "$(cat "/sys/fs/cgroup$(group "$main")/memory.max")" = 104857600 ] || fail "memory.max is not 100 MB"
systemctl stop "$caller"
kill -0 "$supervisor" || fail "the supervisor ended with the service"
kill -0 "$main" || fail "the job ended with the service"
qstat -long | grep -q '^MemoryLimitedBy = "cgroup"$' || fail "the ad does not say that a cgroup keeps the limit"
touch go
until_true no_scope

echo "== a supervisor that is killed leaves a cgroup to find the rest in"
rm -f go main
printf 'executable = stay.sh\nqueue\n' | submit -
negotiate -q
starter -q
until_true test -s main
main=$(cat main)
supervisor=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$main/status")
kill -9 "$supervisor"
starter -q || true
until_true no_scope
touch go
negotiate -q
starter -q -wait

echo "== the stop of a scope sends jobs back to the queue"
n=0
while [ $n -lt 20 ]; do
  n=$((n + 1))
  rm -f main
  [ $n -gt 1 ] || printf 'executable = wait.sh\nqueue\n' | submit -
  negotiate -q
  starter -q
  until_true test -s main
  scope=$(group "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$(cat main)/status")")
  systemctl stop "$(basename "$(dirname "$scope")")"
  until_true no_scope
  qstat -long | grep -q '^JobStatus = 1$' || fail "round $n: the job is not idle"
  qstat -long | grep -q '^VacateReasonCode = 1013$' || fail "round $n: the job says another reason"
done
qdel -all

echo "== the kernel keeps the memory limit"
printf 'executable = fill.sh\nrequest_memory = 50\nqueue\n' | submit -
negotiate -q
starter -q -wait
qstat -long | grep '^HoldReasonCode = 34$' || fail "the job is not held"
qstat -long | grep '^HoldReasonSubCode = 102$' || fail "the job is not held for its memory"
qstat -long | grep '^HoldReason = "memory usage exceeded request_memory: used '
until_true no_scope
echo "all is as it should be"
