package platform

import "testing"

func TestSystemOf(t *testing.T) {
	for _, c := range []struct {
		release, want string
		version       int
	}{
		{"PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_ID=\"12\"\nID=debian\n", "Debian12", 1200},
		{"ID=\"rhel\"\nVERSION_ID=\"9.4\"\n", "RedHat9", 904},
		{"ID=\"almalinux\"\nVERSION_ID='8.10'\n", "AlmaLinux8", 810},
		{"ID=alpine\nVERSION_ID=3.20.1\n", "Alpine3", 320},
		{"ID=arch\n", "Arch", 0},
		{"ID=ubuntu\nVERSION_ID=\"22.04\"", "Ubuntu22", 2204},
		{"ID=odd\nVERSION_ID=-5.x", "Odd", 0},
		{"", "", 0},
		{"NAME=x\n", "", 0},
	} {
		s := systemOf(c.release)
		if got := s.NameAndVersion(); got != c.want || s.Version() != c.version {
			t.Errorf("systemOf(%q) = %q, %d, want %q, %d", c.release, got, s.Version(), c.want, c.version)
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
