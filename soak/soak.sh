#!/bin/sh
# What is random by nature or long: kills and storms of real processes, laws with many draws,
# power cuts, fuzzing, and the virtual machine. SOAK is how long all of it goes on (10m; a
# number with s, m or h), SEED what it draws from (else the clock; it is printed first). The
# kernel's scheduling follows no seed, so a run that is repeated draws the same and may yet
# come out otherwise. Fuzzing draws from no seed: with SEED given it is left out. Tests that take
# minutes whatever they are given run from SOAK=1h on, and say before that they are skipped.
set -eu
cd "$(dirname "$0")/.."

fail() { echo "soak: $*" >&2; exit 2; }
soak=${SOAK:-10m}
case $soak in
*[0-9]s) unit=1 ;;
*[0-9]m) unit=60 ;;
*[0-9]h) unit=3600 ;;
*) fail "SOAK=$soak: want a number with s, m or h, as 10m" ;;
esac
number=${soak%[smh]}
case $number in *[!0-9]* | '') fail "SOAK=$soak: want a whole number with s, m or h, as 10m" ;; esac
seconds=$((number * unit))
[ $seconds -ge 60 ] || fail "SOAK=$soak: want at least a minute"
seed=${SEED:-$(date +%s)}
case $seed in *[!0-9]* | '' | 0*) fail "SEED=$seed: want a number above 0" ;; esac
echo "soak: seed $seed, $soak (again: make soak SOAK=$soak SEED=$seed)"

FAIRSPOOL_SEED=$seed
FAIRSPOOL_COMMANDS=$PWD/bin
export FAIRSPOOL_SEED FAIRSPOOL_COMMANDS

# begin PART PERCENT: what follows goes on until so much of the time has passed; left says
# how many seconds are left of that.
begin() {
  end=$(($(date +%s) + seconds * $2 / 100))
  echo "== $1"
}
left() { echo $((end - $(date +%s))); }

# packages PATTERN: those whose tests have it.
packages() { grep -rlE --include='*_test.go' --exclude-dir=powercut "$1" . | xargs -n 1 dirname | sort -u; }

# turned: the lines of standard input, sorted, from another one on for each seed.
turned() { sort -u | awk -v n="$seed" '{ line[NR] = $0 } END { for (i = 0; i < NR; i++) print line[(i + n) % NR + 1] }'; }

begin "kills and storms of processes" 45
tests=$(grep -rhoE --include='*_test.go' '^func TestSoak\w+' . | wc -l)
for package in $(packages '^func TestSoak'); do
  for test in $(sed -nE 's/^func (TestSoak[A-Za-z0-9_]*)\(.*/\1/p' "$package"/*_test.go); do
    echo "-- $package $test"
    share=$(($(left) / tests))
    FAIRSPOOL_SOAK=$((share > 2 ? share : 2))s go test "$package" -run "^$test\$" -count 1 -timeout 0
    tests=$((tests - 1))
  done
done

begin "laws" 30
round=0
draws=300
while [ "$(left)" -gt 0 ]; do
  for package in $(packages '^[[:space:]]+"pgregory.net/rapid"$' | turned); do
    [ "$(left)" -gt 0 ] || break
    echo "-- $package, seed $((seed + round)), $draws draws"
    go test "$package" -count 1 -timeout 0 -rapid.checks $draws -rapid.seed $((seed + round))
  done
  round=$((round + 1))
done

begin "power cuts on ext4 and ext2" 15
(cd soak/powercut && FAIRSPOOL_SOAK=$(left)s go test -count 1 -timeout 0 -v .)

# Inputs are counted, for go test -fuzz that ends by time may fail without a finding
# (golang/go#75804).
if [ -z "${SEED:-}" ]; then
  begin "fuzz targets" 10
  targets=$(packages '^func Fuzz' | while read -r package; do
    sed -nE "s|^func (Fuzz[A-Za-z0-9_]*)\(.*|$package \1|p" "$package"/*_test.go
  done | turned)
  inputs=20000
  while [ "$(left)" -gt 0 ]; do
    echo "$targets" | while read -r package target; do
      [ "$(left)" -gt 0 ] || break
      echo "-- $package $target, $inputs inputs"
      go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${inputs}x" </dev/null || exit 1
    done
    inputs=$((inputs * 4))
  done
fi

# It takes some minutes, however little it has to do.
if [ $seconds -ge 1800 ]; then
  echo "== a virtual machine: criu, cgroups"
  sh soak/vm.sh
else
  echo "== skipped: the virtual machine takes more than SOAK=$soak; it runs from SOAK=30m on"
fi
if [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ]; then
  echo "== systemd"
  sh soak/systemd.sh
else
  echo "== skipped: systemd does not run this machine, or this is not root"
fi
