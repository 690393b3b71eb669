package main

import "testing"

func TestSystemOf(t *testing.T) {
	for _, c := range []struct{ release, want string }{
		{"PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n", "Debian12"},
		{"ID=\"rhel\"\nVERSION_ID=\"9.4\"\n", "RedHat9"},
		{"ID=\"almalinux\"\nVERSION_ID='8.10'\n", "AlmaLinux8"},
		{"ID=arch\n", "Arch"},
		{"ID=ubuntu\nVERSION_ID=\"22.04\"", "Ubuntu22"},
		{"", ""},
		{"NAME=x\n", ""},
	} {
		if got := systemOf(c.release).nameAndVersion(); got != c.want {
			t.Errorf("systemOf(%q) = %q, want %q", c.release, got, c.want)
		}
	}
}

func TestArchName(t *testing.T) {
	for goarch, want := range map[string]string{"amd64": "X86_64", "arm64": "aarch64", "386": "INTEL", "riscv64": "riscv64"} {
		if got := archName(goarch); got != want {
			t.Errorf("archName(%q) = %q, want %q", goarch, got, want)
		}
	}
}

func TestMemTotal(t *testing.T) {
	if got, ok := memTotal("MemFree: 5 kB\nMemTotal:       24681972 kB\n"); !ok || got != 24681972 {
		t.Errorf("memTotal = %d, %v, want 24681972", got, ok)
	}
	for _, bad := range []string{"", "MemTotal:\n", "MemTotal: x kB\n"} {
		if got, ok := memTotal(bad); ok {
			t.Errorf("memTotal(%q) = %d, want none", bad, got)
		}
	}
}
