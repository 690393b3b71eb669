#!/bin/sh
# The long runs: randomised tests many times over, each fuzz target with many
# inputs, thousands of killed writers, and power cuts. SOAK is how many inputs each target
# gets: a count and not a time, since go test -fuzz that ends by time may fail
# without a finding (golang/go#75804). STORM is how long starters are killed (5m),
# CUTS how often the power is cut on each file system (200).
set -eu
cd "$(dirname "$0")/.."
inputs=${SOAK:-500000}

# Those of packages that know the flag, with all of their other tests.
echo "== properties"
go test $(grep -rl --include='*_test.go' '"pgregory.net/rapid"' . | xargs -n 1 dirname | sort -u) \
  -count 1 -timeout 120m -rapid.checks 5000

echo "== fuzz targets, $inputs inputs each"
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "-- $package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${inputs}x"
  done
done

echo "== crowds, killed writers and starters"
go test ./cmd -run 'TestManyCommands|TestStoppedWriter|TestCycleBetween|TestFullFileSystem' -count 10 -timeout 120m
FAIRSPOOL_KILLS=5000 go test ./cmd -run TestKilledWriters -count 1 -timeout 60m -v
FAIRSPOOL_LOG_KILLS=2000 go test ./cmd -run TestKilledLogs -count 1 -timeout 60m -v
go test ./cmd/starter -count 5 -timeout 60m
FAIRSPOOL_STORM=${STORM:-5m} go test ./cmd/starter -run '^TestStorm$' -count 1 -timeout 60m -v

echo "== power cuts on ext4 and ext2"
(cd soak/powercut && FAIRSPOOL_CUTS=${CUTS:-200} go test -count 1 -timeout 120m -v .)

echo "== a virtual machine: criu, cgroups"
sh soak/vm.sh
