#!/bin/sh
# Prints the ads of a mixed pool of 34 slots, in long form: three sizes of
# PC, two ARM boards, and desktops that take short jobs while nobody types.
set -eu

# slot NAME MACHINE ARCH MEMORY KFLOPS START
slot() {
  cat <<AD
Name = "$1@$2"
Machine = "$2"
MyType = "Machine"
Arch = "$3"
OpSys = "LINUX"
Cpus = 1
Memory = $4
Disk = 20000000
KFlops = $5
State = "Unclaimed"
Activity = "Idle"
Start = $6
Requirements = START
Rank = 0.0

AD
}

for node in 1 2; do
  for s in 1 2 3 4 5 6 7 8; do slot slot$s big$node X86_64 8192 2000000 true; done
done
for node in 1 2 3; do
  for s in 1 2 3 4; do slot slot$s small$node X86_64 1024 900000 'TARGET.RequestMemory <= MY.Memory'; done
done
for node in 1 2; do slot slot1 board$node AARCH64 512 300000 true; done
for node in 1 2 3 4; do slot slot1 desk$node X86_64 4096 1500000 'KeyboardIdle > 15 * 60 && TARGET.JobPrio >= 0
KeyboardIdle = 3600'; done
