package pipeline

import (
	"testing"
	"time"
)

// A recogniser that is given minutes at once may take longer over them than over a sentence.
func TestPatience(t *testing.T) {
	m := &mind{Session: &Session{}, limits: Limits{}.withDefaults()}
	for voiced, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 30 * time.Second: 5 * time.Second, 2 * time.Minute: 5*time.Second + 22500*time.Millisecond,
	} {
		if got := m.patience(&turn{voiced: voiced}); got != want {
			t.Errorf("%v of speech: %v, want %v", voiced, got, want)
		}
	}
}
