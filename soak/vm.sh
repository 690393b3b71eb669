#!/bin/sh
# What needs another machine than this one: transparent checkpoints with criu(8), and
# memory limits by a cgroup. It starts a virtual machine with Debian's kernel in emulation,
# which takes some minutes, and runs soak/vm-init.sh there.
#
# It wants qemu-system-x86_64, busybox (static), cpio, criu and a kernel with its modules:
# those of this system, or below KERNEL, where a package was unpacked:
#   apt-get install qemu-system-x86 busybox-static cpio criu
#   apt-get download linux-image-6.1.0-N-amd64; dpkg-deb -x linux-image-*.deb DIR; KERNEL=DIR
# CRIU names another criu. Without any of them it says so and does nothing: status 0.
set -eu
cd "$(dirname "$0")/.."

skip() { echo "vm: skipped: $*"; exit 0; }
for program in qemu-system-x86_64 busybox cpio; do
  command -v $program >/dev/null || skip "$program is missing"
done
criu=${CRIU:-$(PATH=$PATH:/usr/sbin command -v criu || true)}
test -n "$criu" || skip "criu is missing"
image=$(ls "${KERNEL:-}"/boot/vmlinuz-*-amd64 2>/dev/null | tail -n 1)
test -n "$image" || skip "there is no kernel in ${KERNEL:-}/boot"
modules=${KERNEL:-}/lib/modules/${image##*/vmlinuz-}/kernel
ldd "$(command -v busybox)" >/dev/null 2>&1 && skip "busybox is not static"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
root=$work/root
mkdir -p "$root/bin" "$root/modules" "$root/tests"

# with FILE: a program, at its own path, and the libraries that it wants.
with() {
  mkdir -p "$root${1%/*}"
  cp -L "$1" "$root$1"
  ldd "$1" | sed -n 's/^[^/]*\(\/[^ ]*\) .*/\1/p' | while read -r library; do
    mkdir -p "$root${library%/*}"
    cp -L "$library" "$root$library"
  done
}
with "$criu"
test "$criu" = /usr/sbin/criu || { mkdir -p "$root/usr/sbin"; ln -s "$criu" "$root/usr/sbin/criu"; }
cp "$(command -v busybox)" "$root/bin/busybox"
# In the order in which they are loaded.
for module in crypto/crc32c_generic lib/libcrc32c net/netfilter/nfnetlink net/netfilter/nf_tables \
    drivers/net/veth drivers/net/tun net/unix/unix_diag net/packet/af_packet_diag \
    net/netlink/netlink_diag net/ipv4/inet_diag net/ipv4/tcp_diag net/ipv4/udp_diag net/ipv4/raw_diag; do
  if [ -e "$modules/$module.ko" ]; then # else the kernel has it built in
    cp "$modules/$module.ko" "$root/modules/"
    echo "${module##*/}" >>"$root/modules/order"
  fi
done
CGO_ENABLED=0 go build -trimpath -o "$root/bin/" ./cmd/...
for package in launch family; do
  CGO_ENABLED=0 go test -c -o "$root/tests/$package.test" "./lib/$package"
done
cp soak/vm-init.sh "$root/init"
chmod 755 "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) | gzip -1 >"$work/initrd"

echo "vm: ${image##*/} in $(qemu-system-x86_64 --version | head -n 1)"
timeout 900 qemu-system-x86_64 -accel tcg -machine q35 -cpu max -smp 2 -m 1500 -nographic -no-reboot -nodefaults -serial stdio \
  -kernel "$image" -initrd "$work/initrd" -append "console=ttyS0 panic=-1 quiet rdinit=/init" \
  </dev/null >"$work/log" 2>&1 || true
tr -d '\r' <"$work/log" | sed -n 's/^.*vm: /vm: /p'
if ! grep -q 'vm: that is all' "$work/log" || grep -q 'vm: FAILED' "$work/log"; then
  echo "vm: failed; what the machine said:" >&2
  tail -n 100 "$work/log" >&2
  exit 1
fi
