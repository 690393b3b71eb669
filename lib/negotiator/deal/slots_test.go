package deal

import (
	"testing"
	"time"
)

func TestBackoffGrows(t *testing.T) {
	want := []time.Duration{4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour}
	for i, w := range want {
		if got := rest(i+1, 2*time.Minute); got != w {
			t.Errorf("rest(%d, 2m) = %v, want %v", i+1, got, w)
		}
	}
	if got := rest(1_000_000, time.Second); got != time.Hour {
		t.Errorf("rest(1000000, 1s) = %v, want 1h", got)
	}
}
