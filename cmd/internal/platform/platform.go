// Package platform says what HTCondor calls this machine's processor and
// operating system: for the ads of its slots, for the requirements of jobs that
// are submitted here, and for the macros ARCH and OPSYS of their descriptions.
package platform

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// OpSys is HTCondor's name for the only kind of system that fairspool runs on.
const OpSys = "LINUX"

// Arch returns HTCondor's name for this machine's processor.
func Arch() string { return archName(runtime.GOARCH) }

// archName returns HTCondor's name for a Go architecture. Those that it has
// no name of its own for keep the kernel's.
func archName(goarch string) string {
	switch goarch {
	case "amd64":
		return "X86_64"
	case "386":
		return "INTEL"
	case "arm64":
		return "aarch64"
	}
	return goarch
}

// System is a Linux distribution and its version.
type System struct {
	Name  string // as HTCondor spells it, for example Debian; empty: unknown
	Long  string // for example Debian GNU/Linux 12 (bookworm); empty: unknown
	Major int    // 0: the distribution has no versions
	Minor int
}

// Here returns the system of this machine. A system without a name is no fault.
func Here() System {
	release, _ := os.ReadFile("/etc/os-release")
	return systemOf(string(release))
}

// names are HTCondor's names for the IDs of /etc/os-release that differ in more than the
// first letter's case.
var names = map[string]string{
	"almalinux": "AlmaLinux", "centos": "CentOS", "rhel": "RedHat", "sles": "SLES", "ol": "OracleLinux",
	"opensuse-leap": "openSUSE", "opensuse-tumbleweed": "openSUSE", "amzn": "AmazonLinux",
}

// systemOf reads the text of /etc/os-release.
func systemOf(release string) System {
	values := map[string]string{}
	for line := range strings.Lines(release) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	id := values["ID"]
	if id == "" {
		return System{}
	}
	name, known := names[id]
	if !known {
		name = strings.ToUpper(id[:1]) + id[1:]
	}
	s := System{Name: name, Long: values["PRETTY_NAME"]}
	first, rest, _ := strings.Cut(values["VERSION_ID"], ".")
	second, _, _ := strings.Cut(rest, ".")
	s.Major, s.Minor = number(first), number(second)
	return s
}

// number reads a part of a version; 0 if it is no number.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1e6 {
		return 0
	}
	return n
}

// NameAndVersion returns for example Debian12.
func (s System) NameAndVersion() string {
	if s.Major == 0 {
		return s.Name
	}
	return s.Name + strconv.Itoa(s.Major)
}

// Version returns the version as one number, 2204 for 22.04; 0 for none.
func (s System) Version() int { return s.Major*100 + s.Minor }
