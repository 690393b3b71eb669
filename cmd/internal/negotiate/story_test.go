package negotiate

import (
	"testing"

	"fairspool/cmd/internal/cmdline"
	"fairspool/cmd/internal/cmdtest"
	"fairspool/cmd/internal/prio"
	"fairspool/cmd/internal/qdel"
	"fairspool/cmd/internal/qhold"
	"fairspool/cmd/internal/qrls"
	"fairspool/cmd/internal/qstat"
	"fairspool/cmd/internal/slots"
	"fairspool/cmd/internal/submit"
	"fairspool/cmd/internal/userprio"
)

// TestStories runs the stories in testdata/script.
func TestStories(t *testing.T) {
	cmdtest.Stories{Here: []cmdline.Command{
		Command(), prio.Command(), qdel.Command(), qhold.Command(), qrls.Command(),
		qstat.Command(), slots.Command(), submit.Command(), userprio.Command(),
	}}.Run(t)
}
