package testenv

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Soak returns how long a test of make soak is to go on, and the seed from which all follows
// that it draws. It skips the test but where make soak runs it.
func Soak(t testing.TB) (length time.Duration, seed uint64) {
	t.Helper()
	text := os.Getenv("FAIRSPOOL_SOAK")
	if text == "" {
		t.Skip("long, or random by nature: make soak runs it")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FAIRSPOOL_SOAK: %v", err)
	}
	if seed, err = strconv.ParseUint(os.Getenv("FAIRSPOOL_SEED"), 10, 64); err != nil {
		t.Fatalf("FAIRSPOOL_SEED: %v", err)
	}
	return length, seed
}
