package main

import (
	"strconv"
	"strings"
)

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

// system is a Linux distribution and its major version.
type system struct {
	name  string // as HTCondor spells it, for example Debian; empty: unknown
	major int    // 0: the distribution has no versions
}

// systemNames are HTCondor's names for the IDs of /etc/os-release whose
// spelling differs in more than the first letter's case.
var systemNames = map[string]string{
	"almalinux": "AlmaLinux", "centos": "CentOS", "rhel": "RedHat", "sles": "SLES", "ol": "OracleLinux",
	"opensuse-leap": "openSUSE", "opensuse-tumbleweed": "openSUSE", "amzn": "AmazonLinux",
}

// systemOf reads the text of /etc/os-release.
func systemOf(release string) system {
	values := map[string]string{}
	for line := range strings.Lines(release) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	id := values["ID"]
	if id == "" {
		return system{}
	}
	name, known := systemNames[id]
	if !known {
		name = strings.ToUpper(id[:1]) + id[1:]
	}
	first, _, _ := strings.Cut(values["VERSION_ID"], ".")
	major, err := strconv.Atoi(first)
	if err != nil {
		major = 0
	}
	return system{name, major}
}

// nameAndVersion returns for example Debian12.
func (s system) nameAndVersion() string {
	if s.major == 0 {
		return s.name
	}
	return s.name + strconv.Itoa(s.major)
}
