package quotedtext

import (
	"os"
	"testing"

	"fairspool/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Run(m)) }
