package machine

import (
	"fairspool/cmd/internal/platform"
	"fairspool/lib/classad"
)

// describe sets what a slot's ad says of the system.
func describe(ad *classad.Ad, s platform.System) {
	if s.Name == "" {
		return
	}
	ad.SetString("OpSysName", s.Name)
	ad.SetString("OpSysShortName", s.Name)
	ad.SetString("OpSysAndVer", s.NameAndVersion())
	if s.Long != "" {
		ad.SetString("OpSysLongName", s.Long)
	}
	if s.Major > 0 {
		ad.SetInt("OpSysMajorVer", int64(s.Major))
	}
}
