#!/bin/sh
# The long runs: randomised tests many times over, each fuzz target for a
# while, and thousands of killed writers. SOAK is the seconds for each target.
set -eu
cd "$(dirname "$0")/.."
seconds=${SOAK:-60}

echo "== properties"
go test ./lib/accountant ./lib/classad ./lib/negotiator ./lib/pool ./spool -run 'Test' -count 1 -rapid.checks 5000

echo "== fuzz targets, $seconds s each"
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "-- $package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s"
  done
done

echo "== killed writers and starters"
FAIRSPOOL_KILLS=3000 go test ./cmd -run TestKilledWriters -count 1 -v
go test ./cmd/starter -count 5
