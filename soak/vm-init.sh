#!/bin/busybox sh
# The first process of the virtual machine of vm.sh: tries what there is to be tried, says
# how each ended in lines that begin with "vm: ", and turns the machine off.
/bin/busybox mkdir -p /proc /sys /dev /tmp /etc /root /run /usr/sbin /newroot
/bin/busybox --install -s /bin
export PATH=/bin:/usr/sbin HOME=/root
if [ "$1" != moved ]; then
  # criu does not know the file system that the kernel begins with.
  mount -t tmpfs -o size=1200m none /newroot
  for name in bin etc init lib lib64 modules root run sbin tests tmp usr work; do
    [ -e /$name ] && cp -a /$name /newroot/
  done
  mkdir -p /newroot/proc /newroot/sys /newroot/dev
  exec switch_root /newroot /init moved
fi
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
chmod 1777 /tmp
exec >/dev/console 2>&1 </dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up
hostname vm
while read -r module; do
  insmod "/modules/$module.ko"
done </modules/order
cat >/etc/passwd <<'EOF'
root:x:0:0:root:/root:/bin/sh
alice:x:1000:1000:alice:/home/alice:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/bin/sh
EOF
printf 'root:x:0:\nalice:x:1000:\nnogroup:x:65534:\n' >/etc/group
mkdir -p /home/alice && chown 1000:1000 /home/alice

say() { echo "vm: $*"; }
# try WHAT COMMAND...: tells how a command ended, and what it said if it failed.
try() {
  what=$1
  shift
  begun=$(cut -d ' ' -f 1 /proc/uptime)
  if "$@" >/tmp/said 2>&1; then
    ended=ok
  else
    ended=FAILED
  fi
  say "$ended: $what ($begun to $(cut -d ' ' -f 1 /proc/uptime) s)"
  grep -E '(dumped|restored) in|is dumped in line|SKIP|no transparent' /tmp/said | while read -r line; do say "    $line"; done
  [ $ended = ok ] || sed 's/^/    /' /tmp/said
}

say "Linux $(uname -r), $(criu --version | head -n 1), controllers: $(cat /sys/fs/cgroup/cgroup.controllers)"
try "criu check" criu check
try "lib/launch: images of jobs" /tests/launch.test -test.run 'Criu|Dump|Restore' -test.v
mkdir /sys/fs/cgroup/tests
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
# Times and sizes in emulation are not those that the tests of Usage expect.
try "lib/family" /tests/family.test -test.v -test.skip Usage

# pool CONFIGURATION: a spool of its own with this machine's slots.
pool() {
  rm -rf /tmp/pool
  mkdir -p /tmp/pool/iwd
  chmod 755 /tmp/pool
  chown alice /tmp/pool/iwd
  printf 'UID_DOMAIN = "example.org"\n%s\n' "$1" >/tmp/pool/fairspool.toml
  export FAIRSPOOL_CYCLE_ON_CHANGE=false FAIRSPOOL_DIR=/tmp/pool/spool FAIRSPOOL_CONFIG=/tmp/pool/fairspool.toml
  slots detect
}
# is WANT ATTRIBUTE...: what the only job's ad says.
is() {
  want=$1
  shift
  got=$(qstat -af "$@")
  [ "$got" = "$want" ] || { echo "$*: $got, want $want"; cat /tmp/pool/iwd/log /tmp/pool/spool/starter.log; return 1; }
}

hard() {
  pool 'CGROUP_MEMORY_LIMIT_POLICY = "hard"'
  cat >/tmp/pool/job.sub <<'EOF'
executable = /bin/dd
arguments = if=/dev/zero of=/dev/null bs=300M count=100000
request_memory = 64
log = log
initialdir = /tmp/pool/iwd
queue
EOF
  submit -owner alice /tmp/pool/job.sub && negotiate -q && starter -wait
  is "5 34 cgroup" JobStatus HoldReasonCode MemoryLimitedBy
}
try "a job that takes more memory than its cgroup may have is held" hard

transparent() {
  pool ""
  chown root /tmp/pool/iwd # checkpoints are for jobs that have starter's own rights
  cat >/tmp/pool/count.sh <<'EOF'
#!/bin/sh
n=0
while [ $n -lt 200 ]; do n=$((n+1)); echo $n; sleep 0.1; done
EOF
  chmod 755 /tmp/pool/count.sh
  cat >/tmp/pool/job.sub <<'EOF'
universe = standard
executable = /tmp/pool/count.sh
output = out
log = log
initialdir = /tmp/pool/iwd
queue
EOF
  submit /tmp/pool/job.sub && negotiate -q && starter
  tries=0
  until [ "$(wc -l </tmp/pool/iwd/out)" -gt 20 ] || [ $((tries += 1)) -gt 60 ]; do sleep 1; done
  qhold 1.0
  tries=0
  until [ "$(qstat -af CurrentHosts)" = 0 ] || [ $((tries += 1)) -gt 60 ]; do sleep 1; done
  is "5 1" JobStatus NumCkpts || return 1
  at=$(wc -l </tmp/pool/iwd/out)
  qrls 1.0 && negotiate -q && starter -wait
  seq 200 | cmp - /tmp/pool/iwd/out || { cat /tmp/pool/spool/starter.log; return 1; }
  # Begun anew its output would be whole as well.
  echo "a job is dumped in line $at of its output, and goes on behind it: $(grep -c 'begins anew' /tmp/pool/spool/starter.log) tries failed"
  ! grep 'begins anew' /tmp/pool/spool/starter.log
}
try "a job of the standard universe goes on in another attempt" transparent
say "that is all"
sync
poweroff -f
