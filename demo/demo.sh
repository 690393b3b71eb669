#!/bin/sh
# A pool from beginning to end in a throwaway spool: three users share this
# machine's slots and a pool of 34 more, which exist on paper only. What is
# matched here really runs, and its output is checked. Policy time is played,
# ten minutes from one cycle to the next.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/../bin:$PATH
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fairspool-demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
results=$scratch/results
mkdir "$results"
export FAIRSPOOL_DIR=$scratch/spool FAIRSPOOL_CONFIG=$scratch/fairspool.toml
cat >"$FAIRSPOOL_CONFIG" <<TOML
UID_DOMAIN = "example.org"
PRIORITY_HALFLIFE = 7200
TOML
# Root runs jobs as their owners, and the machine need not know these three.
if [ "$(id -u)" = 0 ]; then
  echo 'NOBODY_SLOT_USER = "nobody"' >>"$FAIRSPOOL_CONFIG"
  chmod 711 "$scratch"
  chmod 1777 "$results"
fi
FAIRSPOOL_NOW=1900000000
export FAIRSPOOL_NOW

say() { printf '\n== %s\n' "$*"; }
run() {
  printf '$'
  for word; do
    case $word in *' '*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  echo
  "$@"
}
later() { FAIRSPOOL_NOW=$((FAIRSPOOL_NOW + $1)); }

say "The pool: this machine's slots, and 34 of other machines"
run slots detect
sh "$here/pool.sh" >"$scratch/pool.ads"
run slots advertise "$scratch/pool.ads"
run slots list | head -n 8

say "Three users; bob's priority factor is 2, carol's is 4 (lower is better)"
run userprio -create -setfactor bob@example.org 2
run userprio -create -setfactor carol@example.org 4
for user in alice bob carol; do
  (echo "results = $results"; cat "$here/$user.sub") | submit -owner $user -
done
run userprio -allusers
run qstat

say "One cycle: 36 slots are divided inversely to the effective priorities"
run negotiate
run qstat | head -n 8
run userprio

say "Why does carol's last job wait, and what would five more slots bring? Nothing is changed"
run negotiate -explain 3.19
run negotiate -what-if 'slots add 5 like slot1@big1'

say "The starter runs what was matched on this machine"
run starter -wait

say "Cycles and starter passes, ten minutes of policy time apart, until all has run"
mine=$(slots list -af Name | grep -c "@$(uname -n)\$")
passes=0
while [ -n "$(qstat -af ClusterId)" ]; do
  passes=$((passes + 1))
  later 600
  [ $passes != 3 ] || run userprio
  negotiate -q
  starter -q -wait
  [ $passes != 3 ] || run qstat | head -n 8
  others=$(slots list -af Name JobId | grep -v "@$(uname -n) " | sed -n 's/ undefined$//p')
  if [ $passes -ge 3 ] && [ -n "$others" ]; then
    say "No starter ever came on the other machines. Those whose matches were given up go."
    # Not quoted: each name is an argument.
    run slots withdraw $others
  fi
  if [ $passes -gt 400 ]; then
    echo "demo: the queue does not get empty" >&2
    qstat >&2
    exit 1
  fi
done
echo "$passes passes on $mine slots of this machine; the queue is empty."
run userprio -all

say "The output of every job"
bad=0
check() { [ "$(cat "$results/$1" 2>&1)" = "$2" ] || { echo "demo: $1: $(cat "$results/$1" 2>&1), want $2" >&2; bad=1; }; }
i=0
while [ $i -lt 60 ]; do check alice.$i "alice $i $((i * i))"; i=$((i + 1)); done
i=0
while [ $i -lt 40 ]; do check bob.$i "bob $i $((i + 1000))"; i=$((i + 1)); done
i=0
while [ $i -lt 20 ]; do check carol.$i "carol $i ok"; i=$((i + 1)); done
[ $bad = 0 ] || exit 1
echo "120 jobs of 3 users ran, and every one wrote what it should."
